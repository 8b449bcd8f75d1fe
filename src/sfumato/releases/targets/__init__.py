"""Where a release becomes visible: a new folder, or an address in an object store."""
