"""Data dictionaries: what the columns and values of a published table mean, for whoever receives it."""
