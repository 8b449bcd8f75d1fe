"""The ledger of releases."""
