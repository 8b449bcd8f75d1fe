"""The studio: the six verbs as pages in a browser, on this computer alone."""
