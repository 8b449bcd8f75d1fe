"""Adversaries who hold several releases about the same people."""
