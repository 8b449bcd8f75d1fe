"""Compiled loops over sets of terms."""
