"""Freeform generalization against inference."""
