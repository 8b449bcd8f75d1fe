"""Readers, one file for formats that are read alike."""
