"""The promises, one definition per file."""
