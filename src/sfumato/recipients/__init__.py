"""Versions for recipients, and whose copy leaked."""
