"""Evidence about columns: the part of an engine's survey that declaring needs, and what else was found."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.taxonomy import Label


class ColumnEvidence(Protocol):
    """The values of one column; `values` is empty where `complete` is False."""

    @property
    def kind(self) -> str: ...
    @property
    def is_text(self) -> bool:
        """Whether its cells are texts, whatever these look like."""
        ...

    @property
    def distinct(self) -> int: ...
    @property
    def missing(self) -> int: ...
    @property
    def values(self) -> tuple[Label, ...]: ...
    @property
    def counts(self) -> NDArray[np.int64]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def repeats(self) -> bool:
        """Whether a value was seen twice, as far as values were told apart."""
        ...


class TableEvidence(Protocol):
    """The values of every column of a table."""

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> Mapping[str, ColumnEvidence]: ...


@dataclass(frozen=True)
class ColumnFinding:
    """What a closer look at the data found out about a column: reasons, for the draft to decide by.

    `identifies` says why the column names people by itself (empty: it does not), `remark` what else was
    found, `person` that equal values mean the same person.
    """

    identifies: str = ""
    remark: str = ""
    person: bool = False


NO_FINDING = ColumnFinding()

NEARLY_UNIQUE_SHARE = 0.9
"""A column in which this share of the values differ tells nearly everybody apart."""
LONG_TEXT = 40
"""Characters that cells of free text have on average, at least."""
SEVERAL_WORDS = 4
MANY_WORDS = 6
"""Words of long texts, and of any texts, that nobody would number people with."""
FEWEST_CELLS = 50
"""A share of fewer cells than this says nothing."""


def texts(column: ColumnEvidence) -> list[str]:
    """Returns the values that occur, without empty cells."""
    return [value for value in column.values if value is not None]


def nearly_unique(column: ColumnEvidence, rows: int) -> bool:
    """Whether the column tells nearly everybody apart."""
    present = rows - column.missing
    return present >= FEWEST_CELLS and column.distinct >= NEARLY_UNIQUE_SHARE * present


def is_free_text(values: Sequence[str]) -> bool:
    """Whether cells are sentences: many words on average, or several in long texts. Hash values are one word.

    >>> is_free_text(["Came late and was seen at once."] * 2), is_free_text(["Ada Lovelace", "f" * 64])
    (True, False)
    """
    cells = max(1, len(values))
    words = sum(len(value.split()) for value in values) / cells
    long = sum(map(len, values)) / cells > LONG_TEXT
    return words >= MANY_WORDS or (long and words >= SEVERAL_WORDS)


def folded(text: str) -> str:
    """Returns the same text for texts that look alike: composed, without case and idle blanks.

    >>> folded(" Zu\u0308rich") == folded("ZÜRICH")
    True
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def look_alikes(values: Sequence[str]) -> list[list[str]]:
    """Returns the groups of different texts that look alike."""
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(folded(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]
