"""Adversaries that belong to no model, one file for those that look alike."""
