"""What several tables about the same people say together."""
