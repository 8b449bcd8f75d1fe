"""Report: cards for the terminal and for notebooks."""
