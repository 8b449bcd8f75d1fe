"""Words that columns and cells of tables about people are recognized by."""
