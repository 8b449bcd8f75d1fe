"""Which columns single people out, and which people."""
