"""How results look on a terminal, in a notebook and on a page. Knows nothing of what it shows."""
