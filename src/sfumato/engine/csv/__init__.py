"""CSV files: bytes checked while they stream, cells read as text."""
