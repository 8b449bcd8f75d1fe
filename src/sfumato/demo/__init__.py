"""Demo: made-up people to try everything on."""
