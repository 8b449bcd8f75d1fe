"""Compatibility: what the parts of a policy cannot go with, and the reason for every no."""
