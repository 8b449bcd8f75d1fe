"""What the bytes of a file tell beyond its rows: read here as whoever holds the file can read them."""
