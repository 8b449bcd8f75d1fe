"""Mutants: small wrong changes of the program, each of which some test has to notice."""
