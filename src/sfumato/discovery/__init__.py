"""Identifiers, quasi-identifiers and record risk."""
