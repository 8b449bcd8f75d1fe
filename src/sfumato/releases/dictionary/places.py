"""Where the two files of a dictionary are: in the folder of a release, and beside a single file."""

from __future__ import annotations

from pathlib import Path

DOCUMENT, PAGE = "dictionary.json", "dictionary.html"
"""The names of both files in the folder of a release."""


def beside(file: Path) -> dict[str, Path]:
    """Returns where the dictionary of a single file is: `safe.csv` has `safe.dictionary.json` and `.html`."""
    return {name: file.with_name(f"{file.stem}.{name}") for name in (DOCUMENT, PAGE)}
