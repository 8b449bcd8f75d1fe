"""Quasi-sensitive attributes."""
