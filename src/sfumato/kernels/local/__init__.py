"""Compiled loops of local recoding: boxes of tree nodes, classes of key groups, moves between them."""
