"""Engines: how rows become counts, and counts become rows again."""
