"""Releases: staged, judged from their bytes, entered in a ledger, made visible all at once or not at all."""
