"""Adversaries who hold one published table."""
