"""Second judges, one file per definition: plain numpy and fractions, written from the definitions alone."""
