"""A version for every recipient: equally good, distinguishable, safe when put together."""
