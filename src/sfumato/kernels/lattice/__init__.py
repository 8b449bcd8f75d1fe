"""Compiled loops over lattices of levels."""
