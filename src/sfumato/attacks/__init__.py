"""The audit of a table, and adversaries that belong to no model."""
