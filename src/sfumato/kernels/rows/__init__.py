"""Compiled loops over packed rows."""
