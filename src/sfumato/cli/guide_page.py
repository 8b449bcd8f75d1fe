"""The pages of the guide, so that whoever installed the package can open what an error names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKED = Path(__file__).parent / "guide_pages"
"""Where a wheel has the pages (`hatch_build.py` puts them there)."""
CLONE = Path(__file__).parents[3] / "docs"
"""Where they are written."""
PARTS = {
    "tutorials": "learn it, from zero",
    "how-to": "do one job",
    "reference": "look something up",
    "explanation": "understand it",
    "limitations.md": "know what it cannot do",
}
"""The folders of the guide, and a page beside them; each with what somebody wants who opens it."""
COMMENT = re.compile(r"^<!-- .* -->\n", re.MULTILINE)


@dataclass(frozen=True)
class GuidePage:
    """One page: its name, which is unique in the guide, and where it lies."""

    name: str
    path: Path
    place: str
    """The path of the page in the repository, which messages name."""

    @property
    def part(self) -> str:
        """What somebody wants who opens the page."""
        return PARTS[self.place.split("/")[1]]

    @property
    def text(self) -> str:
        """What the page says, in Markdown."""
        return COMMENT.sub("", self.path.read_text(encoding="utf-8"))

    @property
    def title(self) -> str:
        """The heading of the page."""
        return self.text.partition("\n")[0].removeprefix("# ")

    def lines_with(self, words: str) -> Iterator[tuple[str, str]]:
        """Yields the lines that hold some words in any case, each with the heading that it stands under."""
        heading = self.title
        for line in self.text.splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
            elif words.casefold() in line.casefold():
                yield heading, line.strip()


def guide_pages() -> dict[str, GuidePage]:
    """Returns the pages by name, part by part; none where neither place has them."""
    root = PACKED if PACKED.is_dir() else CLONE
    pages = {}
    for part in PARTS:
        for path in sorted(root.joinpath(part).rglob("*.md")) or [root / part]:
            if path.is_file():
                pages[path.stem] = GuidePage(path.stem, path, f"docs/{path.relative_to(root).as_posix()}")
    return pages


def page_name(asked: str) -> str:
    """Returns the name of a page, however it was asked for.

    >>> page_name("docs/how-to/files.md"), page_name("audit-a-file")
    ('files', 'audit_a_file')
    """
    return asked.rpartition("/")[2].removesuffix(".md").replace("-", "_")
