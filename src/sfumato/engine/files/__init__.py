"""Table files: read as sources, and written complete or not at all."""
