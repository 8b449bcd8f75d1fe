"""Rows and what they are counted as: taxonomies, cuts, classes, reading and writing."""
