"""Adversaries who know the search: what it would have published in every other world rules worlds out."""
