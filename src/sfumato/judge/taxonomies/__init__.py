"""Taxonomies, built a second time from what the policy writes: nothing is shared with those of the search."""
