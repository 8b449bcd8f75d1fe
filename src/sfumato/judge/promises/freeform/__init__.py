"""FF-anonymity, judged a second time."""
