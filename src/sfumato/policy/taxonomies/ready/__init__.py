"""Taxonomies that are there already, each with its source, its date and its licence (`catalogue.toml`)."""
