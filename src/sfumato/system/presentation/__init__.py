"""Cards, charts and pages."""
