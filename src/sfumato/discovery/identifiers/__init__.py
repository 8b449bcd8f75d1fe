"""Direct identifiers: columns that name people, recognized by their names and the look of their cells."""
