"""Rows that memory has no room for: packed keys on disk, in a private folder."""
