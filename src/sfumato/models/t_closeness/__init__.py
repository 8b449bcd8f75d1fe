"""t-closeness."""
