"""The search for freeform inferences: one compiled search, and the questions that are put to it."""
