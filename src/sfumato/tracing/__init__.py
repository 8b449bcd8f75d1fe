"""Tracing: whose version of a table turned up where it should not be."""
