"""Freeform inferences: what is sensitive and what is observable, value by value, and what follows from it."""
