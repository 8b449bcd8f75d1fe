"""The doctor: problems of policies, hierarchies and knowledge tables, each with its remedy."""
