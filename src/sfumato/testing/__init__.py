"""Conformance suites for new promises, attacks and engines."""
