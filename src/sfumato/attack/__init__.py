"""Attack: try to break what would be published, as each adversary would. Imports nothing of `protect`."""
