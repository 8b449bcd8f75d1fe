"""The search for freeform inferences: one compiled sweep, and the questions that are put to it."""
