"""Privacy models: a folder each, with its definition, its judge and its attack."""
