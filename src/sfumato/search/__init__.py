"""Searches for a recoding that keeps every promise."""
