"""Articles: a page of sections as data, without a word on how it is drawn.

A `Phrase` keeps the fixed words of the program apart from what was filled in. A plain text is filled in as a
whole. So a page can be searched for what it says beyond its fixed words (`system/presentation/pages.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sfumato.system.presentation.charts import Chart, PairedBars

Mood = Literal["good", "bad", "open", "plain"]
"""What a word comes to: kept, broken, not decided, or none of these. It always stands beside the word."""

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, eq=False)
class Phrase:
    """Fixed words with places in braces, and what fills them.

    >>> Phrase("{n} rows", {"n": "12"}).pieces
    (('12', True), (' rows', False))
    """

    template: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """The text in parts, each with whether it was filled in."""
        parts = _PLACE.split(self.template)
        pieces = [(self.values[part], True) if i % 2 else (part, False) for i, part in enumerate(parts)]
        return tuple((text, filled) for text, filled in pieces if text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrase) and self.pieces == other.pieces

    def __hash__(self) -> int:
        return hash(self.pieces)

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)


Text = Phrase | str
"""Fixed words with values in them, or a value."""


def pieces_of(text: Text) -> tuple[tuple[str, bool], ...]:
    """Returns a text in parts, each with whether it is a value."""
    return text.pieces if isinstance(text, Phrase) else ((text, True),) if text else ()


def fragments(templates: Sequence[str]) -> Iterator[str]:
    """Yields the fixed words of templates, as they stand between values."""
    for template in templates:
        yield from (part for i, part in enumerate(_PLACE.split(template)) if i % 2 == 0 and part)


@dataclass(frozen=True)
class Cell:
    """A text in a table, with its mood."""

    text: Text
    mood: Mood = "plain"


@dataclass(frozen=True)
class Heading:
    """What the next blocks of a section are about."""

    text: Text


@dataclass(frozen=True)
class Paragraph:
    """A few sentences; `small` ones are remarks."""

    text: Text
    small: bool = False


@dataclass(frozen=True)
class Callout:
    """A sentence that nobody should miss."""

    text: Text
    mood: Mood = "open"


@dataclass(frozen=True)
class ValuePairs:
    """Names with their values, below each other."""

    pairs: Sequence[tuple[Text, Text]]


@dataclass(frozen=True)
class Listing:
    """A table of cells below heads."""

    heads: Sequence[Text]
    lines: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class BarFigure:
    """A chart of shares, drawn as bars beside their numbers; `heading` replaces its title."""

    chart: Chart | PairedBars
    heading: Text


@dataclass(frozen=True)
class Verbatim:
    """Text as a file holds it, line by line."""

    text: str


@dataclass(frozen=True)
class Signatures:
    """Places to sign, each below its words."""

    places: Sequence[Text]


Block = Heading | Paragraph | Callout | ValuePairs | Listing | BarFigure | Verbatim | Signatures


@dataclass(frozen=True)
class Section:
    """A heading, what it is about in one line, and what stands below."""

    title: Text
    blocks: Sequence[Block]
    lead: Text = ""


@dataclass(frozen=True)
class Article:
    """A page: the verdict first, then sections in their order.

    `name` is what a window or a bookmark calls it: fixed words, without a value.
    """

    name: str
    title: Text
    mood: Mood
    verdict: Text
    summary: Sequence[Text]
    sections: Sequence[Section]
    kicker: Text = ""
    footer: Text = ""
