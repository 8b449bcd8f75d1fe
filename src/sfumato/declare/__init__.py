"""Declare: the policy, its taxonomies and its promises."""
