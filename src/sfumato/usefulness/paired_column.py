"""One column of both tables: the values it had, and what each published text of it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Role
from sfumato.core.taxonomy import Label
from sfumato.usefulness.published_texts import PublishedTexts, Reals, leaf_numbers, numbers_of

MOST_GROUPS = 10
"""Groups of values that a column is looked at in, together with another one."""

Ranks = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairedColumn:
    """A column of the original and of the safe table, read by the same leaves.

    `raw_leaf` is the leaf of each original value, `raw_rows` how many rows have it. Published text i stands
    for the leaves `low[i] .. high[i]-1`, each with the same chance; `safe_rows` counts its rows. `unread`
    says which texts cannot be read: they stand for every leaf. `numbers` holds a number for each original
    value and each leaf, where the column is numeric.
    """

    name: str
    role: Role | None
    leaves: int
    ordered: bool
    raw_leaf: Ranks
    raw_rows: Ranks
    low: Ranks
    high: Ranks
    safe_rows: Ranks
    unread: NDArray[np.bool_]
    numbers: tuple[Reals, Reals] | None

    @property
    def is_key(self) -> bool:
        """Whether the policy generalizes it or, where there is none, whether its texts changed."""
        if self.role is not None:
            return self.role.is_key
        return bool((self.unread | (self.high - self.low > 1)).any())

    @property
    def values(self) -> int:
        """How many values the original has."""
        return len(self.raw_leaf)

    @property
    def groups(self) -> int:
        """How many texts the safe table has."""
        return len(self.low)

    @property
    def is_lost(self) -> bool:
        """Whether a column with several values became one group for everybody."""
        return self.values > 1 and self.groups <= 1

    @cached_property
    def lost_rows(self) -> int:
        """Published rows whose cell tells nothing: any value of the column, or the same as everybody's."""
        if self.values <= 1:
            return 0
        everything = (self.high - self.low == self.leaves) & (self.leaves > 1)
        return int(self.safe_rows.sum() if self.is_lost else self.safe_rows[everything].sum())

    @cached_property
    def raw_shares(self) -> Reals:
        """The share of the original rows at each leaf."""
        return _shares(self.raw_leaf, self.raw_rows, self.leaves)

    @cached_property
    def safe_shares(self) -> Reals:
        """The share of the published rows at each leaf, a text spread evenly over its leaves."""
        each = self.safe_rows / (self.high - self.low)
        steps = np.zeros(self.leaves + 1)
        np.add.at(steps, self.low, each)
        np.subtract.at(steps, self.high, each)
        total = max(1, int(self.safe_rows.sum()))
        return np.asarray(np.maximum(np.cumsum(steps)[:-1], 0.0) / total)

    @cached_property
    def group_of_leaf(self) -> Ranks:
        """A group for each leaf, at most `MOST_GROUPS`: of equal shares if ordered, else the most common."""
        if self.leaves <= MOST_GROUPS:
            return np.arange(self.leaves)
        if self.ordered:
            before = np.cumsum(self.raw_shares) - self.raw_shares
            return np.minimum((before * MOST_GROUPS).astype(np.int64), MOST_GROUPS - 1)
        groups = np.full(self.leaves, MOST_GROUPS - 1, np.int64)
        often = np.argsort(-self.raw_shares, kind="stable")[: MOST_GROUPS - 1]
        groups[often] = np.arange(MOST_GROUPS - 1)
        return groups

    @cached_property
    def raw_group(self) -> Ranks:
        """The group of each original value."""
        return self.group_of_leaf[self.raw_leaf]

    @cached_property
    def group_shares(self) -> Reals:
        """For each published text, the chance of each group."""
        before = np.zeros((self.leaves + 1, MOST_GROUPS))
        np.cumsum(np.eye(MOST_GROUPS)[self.group_of_leaf], axis=0, out=before[1:])
        return np.asarray((before[self.high] - before[self.low]) / (self.high - self.low)[:, None])

    @cached_property
    def raw_numbers(self) -> Reals | None:
        """The number of each original value."""
        return None if self.numbers is None else self.numbers[0]

    @cached_property
    def safe_numbers(self) -> Reals | None:
        """The mean number of the leaves that each published text stands for; NaN where none has a number."""
        if self.numbers is None:
            return None
        known = np.isfinite(self.numbers[1])
        sums = np.concatenate(([0.0], np.cumsum(np.where(known, self.numbers[1], 0.0))))
        counts = np.concatenate(([0], np.cumsum(known)))
        among = counts[self.high] - counts[self.low]
        mean = (sums[self.high] - sums[self.low]) / np.maximum(among, 1)
        return np.where(among > 0, mean, np.nan)


def pair_column(
    name: str,
    role: Role | None,
    texts: PublishedTexts,
    raw: tuple[Sequence[Label], Ranks],
    safe: tuple[Sequence[Label], Ranks],
) -> PairedColumn:
    """Returns a column whose values and published texts stand beside their rows."""
    leaf = [texts.leaf(value) for value in raw[0]]
    spans = [texts.span(text) for text in safe[0]]
    whole = (0, len(texts.leaves))
    ends = np.array([span or whole for span in spans], np.int64).reshape(-1, 2)
    raw_numbers = numbers_of(raw[0])
    return PairedColumn(
        name,
        role,
        len(texts.leaves),
        texts.ordered,
        np.array([place or 0 for place in leaf], np.int64),
        raw[1],
        ends[:, 0],
        ends[:, 1],
        safe[1],
        np.array([span is None for span in spans], bool),
        None if raw_numbers is None else (raw_numbers, leaf_numbers(texts.leaves)),
    )


def _shares(places: Ranks, rows: Ranks, length: int) -> Reals:
    sums = np.zeros(length, np.int64)
    np.add.at(sums, places, rows)
    return np.asarray(sums / max(1, int(rows.sum())))
