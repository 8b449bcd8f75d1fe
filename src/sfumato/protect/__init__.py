"""Protect: generalize and suppress just enough."""
