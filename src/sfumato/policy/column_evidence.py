"""What a look at the data has to offer: the part of an engine's survey that declaring needs."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.taxonomy import Label


class ColumnEvidence(Protocol):
    """What one column holds; `values` is empty where `complete` is False."""

    @property
    def kind(self) -> str: ...
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


class TableEvidence(Protocol):
    """What a table holds."""

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> Mapping[str, ColumnEvidence]: ...


NEARLY_ALL = 0.9
"""A column in which so large a share of the values differ tells nearly everybody apart."""
ENOUGH = 50
"""So many cells make a share worth something."""


def texts(column: ColumnEvidence) -> list[str]:
    """The values that occur, empty cells left out."""
    return [value for value in column.values if value is not None]


def nearly_unique(column: ColumnEvidence, rows: int) -> bool:
    """Whether the column tells nearly everybody apart."""
    present = rows - column.missing
    return present >= ENOUGH and column.distinct >= NEARLY_ALL * present


def folded(text: str) -> str:
    """The same for texts that look alike: composed, without case and idle blanks.

    >>> folded(" Zu\u0308rich") == folded("ZÜRICH")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def twins(values: Sequence[str]) -> list[list[str]]:
    """Groups of different texts that look alike."""
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(folded(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]
