"""The catalogue of SAS: a file of its own that holds the labels of codes, by the names of formats."""

from __future__ import annotations

from collections.abc import Mapping
from os import fspath
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadData
from sfumato.engine.files.extra_library import extra_library
from sfumato.system.disk import read_start

CATALOG_ENDING = ".sas7bcat"
LARGEST_CATALOG = 1 << 26
FIRST_BYTES = bytes.fromhex("000000000000000000000000c2ea8163b31411cfbd92080009c7318c181f1011")
"""How a catalogue begins; the library would also take a file of rows for one, and find nothing in it."""
MOST_NAMED = 3
_PLAIN = frozenset({"", "NULL", "$", "F", "BEST", "$F", "$CHAR", "CHAR"})
"""Formats that show a cell as it is."""


def format_name(shown: str) -> str:
    """Returns the name of a format without its width; no name ends in a digit, and capitals do not count.

    >>> format_name("$sex8."), format_name("REGION"), format_name("COMMA12.2")
    ('$SEX', 'REGION', 'COMMA')
    """
    return shown.rstrip("0123456789.").upper()


def is_plain(name: str) -> bool:
    """Whether a format has nothing to do with labels: it shows a cell as it is."""
    return name in _PLAIN


def catalogs_beside(data: Path) -> list[str]:
    """Returns the names of the catalogues in the folder of a file, in order; the first of them, if many."""
    try:
        names = [file.name for file in data.parent.iterdir() if file.suffix.lower() == CATALOG_ENDING]
    except OSError:
        return []
    return sorted(names)[:MOST_NAMED]


def labels_in(path: Path) -> dict[str, Mapping[Any, str]]:
    """Returns the labels of a catalogue: by the name of a format, what stands for each code.

    Raises `BadData` where there is no catalogue, or one that is damaged or too large.
    """
    if not path.exists():
        raise BadData("there is no such catalogue", where=str(path), remedy="Check the path.")
    if not path.is_file():
        raise BadData("the catalogue is no file", where=path.name, remedy="Name a .sas7bcat file.")
    if fspath(path) != fspath(path).encode("utf-8", "replace").decode():
        raise BadData(
            "the path is not written in UTF-8", where=path.name, remedy="Rename the file, or move it."
        )
    if path.stat().st_size > LARGEST_CATALOG:
        raise BadData(
            f"the catalogue has more than {LARGEST_CATALOG} bytes",
            where=path.name,
            remedy="Is it the right one? Copy the formats that are needed into one of their own.",
        )
    library = extra_library("pyreadstat", "a catalogue of SAS")
    refusal = BadData(
        "the file cannot be read as a catalogue of SAS",
        where=path.name,
        remedy="Name the .sas7bcat file that SAS wrote, or leave the catalogue out to keep codes.",
    )
    if read_start(path, len(FIRST_BYTES)) != FIRST_BYTES:
        raise refusal
    try:
        _, about = library.read_sas7bcat(str(path))
    except Exception:  # of the library, whose message may quote labels
        raise refusal from None
    found: dict[str, dict[Any, str]] = {}
    for name, labels in (about.value_labels or {}).items():
        found.setdefault(format_name(name), {}).update(labels)
    return dict(found)
