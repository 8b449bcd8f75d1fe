"""Confidence bounding and (alpha, k)-anonymity."""
