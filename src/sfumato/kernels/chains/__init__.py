"""Compiled loops over releases of a chain."""
