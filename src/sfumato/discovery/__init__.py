"""Discovery: which columns single people out, and which people."""
