"""The verbs, one file each: the only place that knows what comes after what."""
