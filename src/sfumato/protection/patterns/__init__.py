"""Generalization patterns: all level combinations of a table, with their anonymity and quality."""
