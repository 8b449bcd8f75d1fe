"""t-closeness: no class tells much more about a sensitive column than the whole table."""
