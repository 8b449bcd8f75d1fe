"""The adversaries: what an outsider can learn from a table as it stands. Knows nothing of how it was made."""
