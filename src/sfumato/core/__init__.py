"""The nouns that everything shares: tables, taxonomies, classes, promises, verdicts. numpy only."""
