"""l-diversity: distinct, entropy and recursive."""
