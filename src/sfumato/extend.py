"""The stable names for packages of others."""
