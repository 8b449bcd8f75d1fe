"""Quasi-sensitive values: terms do not tell a label that is not in the table."""
