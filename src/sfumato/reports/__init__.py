"""Reports and usefulness."""
