"""Drafts of policies, and the doctor."""
