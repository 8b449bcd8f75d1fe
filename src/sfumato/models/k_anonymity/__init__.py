"""k-anonymity."""
