"""Releases: staging, certificates, the ledger, targets."""
