"""Reports: what the verbs return, written out for people who were not there."""
