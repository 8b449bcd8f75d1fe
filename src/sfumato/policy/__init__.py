"""Policies: what each column is, what is promised, and the taxonomies that values climb."""
