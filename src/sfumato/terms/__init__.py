"""The nouns: what a table, a taxonomy, a class, a promise and a verdict are. numpy only."""
