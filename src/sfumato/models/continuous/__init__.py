"""Continuous publishing: several releases of one table."""
