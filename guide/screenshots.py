"""Screenshots in the docs: kept beside a digest of the page that each was taken of, so that none gets stale.

A folder of screenshots has a list, `screenshots.json`: the name of each picture, the digest of its own bytes,
and that of what the page said and looked like. Whoever takes a picture calls `keep`; a test that makes the
page again calls `stale`, which needs no browser. Times, digests and versions differ from run to run and do
not count; nor does the geometry of charts, whose texts and figures do.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import TypedDict

LIST = "screenshots.json"
CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?([+-]\d\d:\d\d|Z| UTC)?"), "(time)"),
    (re.compile(r"\b[0-9a-f]{16,}\b"), "(digest)"),
    (re.compile(r"\b\d+\.\d+\.\d+[\w.+-]*"), "(version)"),
)
SEEN = ("class", "style", "aria-label", "alt", "title", "placeholder", "value", "type", "disabled", "checked")
"""Attributes that change what a reader sees."""


class Taken(TypedDict):
    """What is kept of a screenshot: the digest of the picture, and of the page that it shows."""

    picture: str
    page: str


class _Page(HTMLParser):
    """What a page says and looks like, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._charts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._charts += tag == "svg"
        names = ("aria-label",) if self._charts else SEEN
        told = [f"{name}={value}" for name, value in attrs if name in names]
        self.pieces += told if self._charts else [f"<{tag}>", *told]

    def handle_endtag(self, tag: str) -> None:
        self._charts -= tag == "svg"

    def handle_data(self, data: str) -> None:
        if text := " ".join(data.split()):
            self.pieces.append(text)


def page_digest(html: str) -> str:
    """Returns a fingerprint of what a page says and looks like.

    >>> page_digest("<p>3 rows,  2026-01-01 10:00</p>") == page_digest("<p>3 rows, 2027-05-05 09:30</p>")
    True
    >>> page_digest("<p>3 rows</p>") == page_digest("<p>4 rows</p>")
    False
    """
    page = _Page()
    page.feed(html)
    text = "\n".join(page.pieces)
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    return sha256(text.encode()).hexdigest()


def listed(folder: Path) -> dict[str, Taken]:
    """Returns what is kept of the screenshots in a folder."""
    path = folder / LIST
    found: dict[str, Taken] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def keep(picture: Path, html: str) -> None:
    """Enters a screenshot that was just taken, and written, of this page."""
    entry = Taken(picture=sha256(picture.read_bytes()).hexdigest(), page=page_digest(html))
    entries = {**listed(picture.parent), picture.name: entry}
    text = json.dumps(dict(sorted(entries.items())), indent=1)
    (picture.parent / LIST).write_text(text + "\n", encoding="utf-8")


def stale(picture: Path, html: str) -> bool:
    """Whether a screenshot was taken of a page that said something else, or looked otherwise."""
    entry = listed(picture.parent).get(picture.name)
    return entry is None or entry["page"] != page_digest(html)


def faults(docs: Path) -> list[str]:
    """Returns what is wrong with the screenshots below a folder, whatever pages say today.

    Every PNG is listed, every listed one is there, and none was exchanged without being entered.
    """
    found = []
    for folder in sorted({path.parent for path in (*docs.rglob("*.png"), *docs.rglob(LIST))}):
        there, entries = {path.name for path in folder.glob("*.png")}, listed(folder)
        found += [f"{name} is in no list of {folder.name}" for name in sorted(there - set(entries))]
        found += [f"{name} of {folder.name} is listed and not there" for name in sorted(set(entries) - there)]
        for name in sorted(there & set(entries)):
            if sha256((folder / name).read_bytes()).hexdigest() != entries[name]["picture"]:
                found.append(f"{name} of {folder.name} is another picture than the one that was entered")
    return found
