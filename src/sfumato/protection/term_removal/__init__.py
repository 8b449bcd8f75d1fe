"""Phase two of quasi-sensitive promises: terms are removed from rows, class by class."""
