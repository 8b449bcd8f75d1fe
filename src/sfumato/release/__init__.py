"""Release: what is published is re-read from its final bytes and judged by a second implementation."""
