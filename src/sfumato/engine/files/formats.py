"""The formats of released tables."""

from __future__ import annotations

FORMATS = ("csv", "parquet", "xlsx", "sav", "dta", "arrow", "jsonl")
"""Each is also the ending of the file, `data` by name."""
