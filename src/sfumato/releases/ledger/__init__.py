"""The ledger: what was released, in order, so that the next release can be held against it."""
