"""Telling columns: cells that are published unchanged and say, row by row, what a key is that is not.

Who sees a survey weight that only one province has knows the province, however coarsely it is published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.core.taxonomy import Label
from sfumato.policy.column_evidence import NO_FINDING, TableEvidence
from sfumato.policy.column_profile import ColumnProfile
from sfumato.policy.column_taxonomy import taxonomy_of
from sfumato.policy.content import ColumnRule

MOST_COLUMNS = 40
"""Of so many columns of either kind every pair is looked at."""
FEWEST_VALUES = 3
"""Keys of two values are not looked at: many columns tell a sex, and that is seen as a rule."""
FEWEST_TOLD = 20
"""Fewer rows beside those of the most frequent value are told by accident."""
TOLD_SHARE = (9, 10)
"""So many rows have to be told, of those that the most frequent value alone does not tell."""


@dataclass(frozen=True)
class Telling:
    """A column that tells a key: `told` of `rows` rows, from the other rows with the same cell."""

    column: str
    key: str
    told: int
    rows: int

    def __str__(self) -> str:
        return f"tells {short(self.key)} in {self.told:,} of {self.rows:,} rows"


@dataclass(frozen=True)
class ColumnsBesideKeys:
    """The columns that are published unchanged, and the keys that they may tell."""

    unchanged: tuple[str, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, columns: Mapping[str, ColumnRule], here: Iterable[str] | None = None) -> ColumnsBesideKeys:
        """Returns the columns to look at, row by row; none where there is nothing to tell.

        `here` are the columns of the table, if it may lack some, or have some twice.
        """
        times = Counter(list(columns) if here is None else here)
        own = {name: rule for name, rule in columns.items() if times[name] == 1}
        unchanged = [name for name, rule in own.items() if rule.role is Role.INSENSITIVE][:MOST_COLUMNS]
        keys = [name for name, rule in own.items() if rule.role is Role.QUASI][:MOST_COLUMNS]
        return cls(tuple(unchanged), tuple(keys)) if unchanged and keys else cls((), ())

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.unchanged, *self.keys)

    def telling(self, rows: Mapping[str, Sequence[Label]]) -> Iterator[Telling]:
        """Yields the columns that tell a key, each with the one that it tells best.

        `rows` are the texts of some rows, column by column.
        """
        numbers = {name: _numbered(rows[name]) for name in self.names}
        for column in self.unchanged:
            found = [_telling(column, key, numbers) for key in self.keys]
            yield from sorted(filter(None, found), key=lambda t: -t.told / t.rows)[:1]


def telling_columns(
    columns: ColumnsBesideKeys, survey: TableEvidence, rows: Mapping[str, Sequence[Label]]
) -> dict[str, ColumnRule]:
    """Returns quasi-identifiers for columns that would be published unchanged and tell one."""
    found = {}
    for telling in columns.telling(rows):
        profile = ColumnProfile.of(telling.column, survey.columns[telling.column], survey.rows, NO_FINDING)
        taxonomy, shape = taxonomy_of(profile)
        found[telling.column] = ColumnRule(
            Role.QUASI, taxonomy, f"{telling}, and would give it away; {shape}"
        )
    return found


def told_rows(cells: NDArray[np.int64], keys: NDArray[np.int64]) -> int:
    """Returns how many rows are told by the others with the same cell.

    A row is told where its key is the most frequent one among the other rows that have its cell.

    >>> told_rows(np.array([1, 1, 2, 2, 2]), np.array([7, 7, 8, 8, 9]))
    2
    """
    width = int(keys.max(initial=0)) + 1
    pairs, own = np.unique(cells * width + keys, return_counts=True)
    starts = np.diff(pairs // width, prepend=-1) != 0
    cell, first = np.cumsum(starts) - 1, np.flatnonzero(starts)
    most = np.maximum.reduceat(own, first)
    is_most = own == most[cell]
    alone = np.add.reduceat(is_most, first, dtype=np.int64) == 1
    next_most = np.maximum.reduceat(np.where(is_most, 0, own), first)
    others = np.where(is_most & alone[cell], next_most[cell], most[cell])
    return int(own[own - 1 > others].sum())


def is_telling(told: int, usual: int, rows: int) -> bool:
    """Whether so many rows are told, where `usual` of all rows have the most frequent value of the key.

    >>> is_telling(told=93, usual=40, rows=100), is_telling(told=95, usual=40, rows=100)
    (False, True)
    """
    share, whole = TOLD_SHARE
    return rows - usual >= FEWEST_TOLD and whole * (told - usual) >= share * (rows - usual)


def _telling(column: str, key: str, numbers: Mapping[str, NDArray[np.int64]]) -> Telling | None:
    """Returns how a column tells a key, of which missing cells say nothing; `None` where it does not."""
    known = numbers[key] > 0
    times = np.bincount(numbers[key][known])
    rows, usual = int(times.sum()), int(times.max(initial=0))
    if rows - usual < FEWEST_TOLD or np.count_nonzero(times) < FEWEST_VALUES:
        return None
    told = told_rows(numbers[column][known], numbers[key][known])
    return Telling(column, key, told, rows) if is_telling(told, usual, rows) else None


def _numbered(texts: Sequence[Label]) -> NDArray[np.int64]:
    """Returns a number from 1 for every text; 0 for missing cells."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys((None, *texts)))}
    return np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))
