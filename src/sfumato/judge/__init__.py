"""The second judge: published bytes are read and judged again, by code of its own."""
