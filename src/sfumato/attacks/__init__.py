"""The adversaries: what outsiders learn from published tables. Knows nothing of how the tables were made."""
