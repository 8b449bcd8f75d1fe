"""The judge of several releases."""
