"""Protection: plans that generalize and suppress just enough."""
