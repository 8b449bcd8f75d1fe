"""Compiled loops over sets of columns and of recipients."""
