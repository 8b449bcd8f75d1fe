"""The original and the safe table side by side: both counted, every column read by the same leaves."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.policy.columns import forms_of
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData
from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Codes, Coding, Counts, Microdata, Role
from sfumato.table.published_texts import PLAIN_NUMBER, RANGE, numeric_ends
from sfumato.table.source import Source
from sfumato.table.taxonomy import ANY, Label, Taxonomy

# Published texts as leaves: which values of the original column a cell of the safe table may stand for.

Reals = NDArray[np.float64]

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")


class PublishedTexts(Protocol):
    """The values of a column in order, and what a published text stands for: neighbours in that order."""

    @property
    def leaves(self) -> Sequence[Label]:
        """The values, in order."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the order means something."""
        ...

    def leaf(self, value: Label) -> int | None:
        """Returns the place of a value of the original table; `None` where it has none."""
        ...

    def span(self, text: Label) -> tuple[int, int] | None:
        """Returns the places `low .. high-1` that a published text stands for; `None` if unknown."""
        ...


class TreeTexts:
    """Texts that are read through the taxonomy of a policy; `start` is its finest published level.

    Where several nodes carry a text it stands for the leaves of all of them: nobody is taken to learn more
    than the text shows.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> TreeTexts(tree).span("Viral"), TreeTexts(tree).span("Virus")
    ((0, 2), None)
    """

    def __init__(self, tree: Taxonomy, start: int = 0) -> None:
        self._tree, self._start = tree, min(start, tree.height)
        self.ordered = tree.ordered

    @property
    def leaves(self) -> Sequence[Label]:
        return self._tree.leaf_labels

    def leaf(self, value: Label) -> int | None:
        return self._tree.rank(value)

    def span(self, text: Label) -> tuple[int, int] | None:
        if text in self._nodes:
            return self._nodes[text]
        between = self._above.span(text)
        if between is not None:
            low, high = self._bottom[between[0]], self._bottom[between[1] - 1]
            return int(self._tree.low[low]), int(self._tree.high[high])
        rank = self._tree.rank(text)
        return None if rank is None else (rank, rank + 1)

    @cached_property
    def _nodes(self) -> dict[Label, tuple[int, int]]:
        spans: dict[Label, tuple[int, int]] = {}
        tree = self._tree
        for node, (low, high) in enumerate(zip(tree.low.tolist(), tree.high.tolist(), strict=True)):
            label = tree.labels[node]
            first, last = spans.get(label, (low, high))
            spans[label] = min(first, low), max(last, high)
        return spans

    @cached_property
    def _above(self) -> Taxonomy:
        return self._tree.from_level(self._start)

    @cached_property
    def _bottom(self) -> NDArray[np.int32]:
        return np.unique(self._tree.levels[self._start])


class BareTexts:
    """Texts read without a policy: a value, `*`, a prefix such as `021**`, an interval, a span of dates.

    Values stand in the order of their numbers if all are numbers, else in that of their texts.

    >>> texts = BareTexts(["5", "23", "20", "31"])
    >>> texts.leaves, texts.span("20-29"), texts.span("[5, 31)"), texts.span("*"), texts.span("young")
    (('5', '20', '23', '31'), (1, 3), (0, 3), (0, 4), None)
    """

    def __init__(self, values: Sequence[Label]) -> None:
        texts = [value for value in values if value is not None]
        self._numeric = bool(texts) and all(PLAIN_NUMBER.fullmatch(value) for value in texts)
        texts.sort(key=lambda value: (float(value) if self._numeric else 0.0, value))
        self._known = texts
        self._numbers = [float(value) for value in texts] if self._numeric else []
        self.ordered = self._numeric or (bool(texts) and all(_DATE.fullmatch(value) for value in texts))
        self.leaves: Sequence[Label] = (*texts, None) if len(texts) < len(values) else tuple(texts)
        self._place = {value: place for place, value in enumerate(self.leaves)}

    def leaf(self, value: Label) -> int | None:
        return self._place.get(value)

    def span(self, text: Label) -> tuple[int, int] | None:
        if text in self._place:
            return self._place[text], self._place[text] + 1
        if text is None:
            return None
        if not text.strip(ANY):
            return 0, len(self.leaves)
        low, high = self._between(text) if self._numeric else self._beginning(text)
        return (low, high) if low < high else None

    def _between(self, text: str) -> tuple[int, int]:
        """Returns the places of the numbers in an interval; an empty span where the text is none."""
        ends = numeric_ends(text)
        if ends is None:
            return 0, 0
        first, last, closed = ends
        upper = bisect_right if closed else bisect_left
        return bisect_left(self._numbers, first), upper(self._numbers, last)

    def _beginning(self, text: str) -> tuple[int, int]:
        """Returns the places of the values between two beginnings: of a prefix, of a span of dates."""
        begin, _, end = text.partition(RANGE)
        years = re.fullmatch(r"([0-9]{4})-([0-9]{4})", text)
        if years:
            begin, end = years[1], years[2]
        masked = begin.endswith(ANY) and not end
        if not masked and not (self.ordered and _DATE.fullmatch(begin)):
            return 0, 0
        first, last = begin.rstrip(ANY), (end or begin).rstrip(ANY)
        low = bisect_left(self._known, first)
        return low, bisect_right(self._known, last, key=lambda value: value[: len(last)])


def numbers_of(labels: Sequence[Label]) -> Reals | None:
    """Returns the number of each value, NaN where a cell is missing; `None` unless all are numbers."""
    texts = [label for label in labels if label is not None]
    if not texts or not all(PLAIN_NUMBER.fullmatch(label) for label in texts):
        return None
    return np.array([nan if label is None else float(label) for label in labels])


def leaf_numbers(labels: Sequence[Label]) -> Reals:
    """Returns a number for each leaf of a numeric column: its own, the middle, or the known end."""
    return np.array([nan if label is None else _middle(label) for label in labels])


def _middle(label: str) -> float:
    ends = numeric_ends(label)
    if ends is None:
        return nan
    finite = [end for end in ends[:2] if isfinite(end)]
    return sum(finite) / len(finite)


# One column of both tables: the values it had, and what each published text of it stands for.

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
        finite = np.isfinite(self.numbers[1])
        sums = np.concatenate(([0.0], np.cumsum(np.where(finite, self.numbers[1], 0.0))))
        counts = np.concatenate(([0], np.cumsum(finite)))
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


@dataclass(frozen=True, eq=False)
class PairedTables:
    """Both tables, counted: `raw.codes(name)` numbers values, `safe.codes(name)` published texts.

    `columns` are those that both have; `gone` are key columns that the safe table lacks; `k` is the least
    size of a class that the policy promises, or that the safe table has where there is no policy.
    """

    raw: Microdata
    safe: Microdata
    columns: tuple[PairedColumn, ...]
    gone: tuple[str, ...]
    promised: int

    @property
    def rows(self) -> int:
        """The rows of the original."""
        return self.raw.rows

    @property
    def suppressed(self) -> int:
        """The rows of the original that are not published."""
        return self.raw.rows - self.safe.rows

    @cached_property
    def keys(self) -> tuple[PairedColumn, ...]:
        """The columns that are generalized."""
        return tuple(column for column in self.columns if column.is_key)

    @cached_property
    def class_rows(self) -> Counts:
        """The published rows of every class: rows with the same texts in all key columns."""
        table = Microdata.of_codes(
            [self.safe.column(c.name) for c in self.keys],
            [self.safe.codes(c.name) for c in self.keys],
            counts=self.safe.counts,
        )
        return table.counts

    @property
    def k(self) -> int:
        """The size that classes are compared with."""
        return self.promised or int(self.class_rows.min(initial=self.safe.rows))

    def raw_codes(self, column: PairedColumn) -> Codes:
        """Returns the value of every distinct original row."""
        return self.raw.codes(column.name)

    def safe_codes(self, column: PairedColumn) -> Codes:
        """Returns the text of every distinct published row."""
        return self.safe.codes(column.name)


def read_tables(
    raw: Source, safe: Source, policy: Policy | None, *, progress: Progress = silent
) -> PairedTables:
    """Returns both tables, counted in one pass each, as the policy reads them; identifiers are left out.

    Raises `BadData` where the safe table has more rows than the original, or no column in common with it.
    """
    sets = set() if policy is None else {p for n, f in forms_of(policy).items() for p in (f.parts or (n,))}
    roles = {} if policy is None else {name: rule.role for name, rule in policy.columns.items()}
    wanted = [name for name in raw.columns if name not in sets and roles.get(name) is not Role.IDENTIFIER]
    both = [name for name in wanted if name in set(safe.columns)]
    if not both:
        raise BadData(
            "the two tables have no column in common", remedy="Hand in the original, then the safe one."
        )
    codings = [Coding(name, Role.INSENSITIVE, Taxonomy.flat_in_order) for name in both]
    before, after = (table.count(codings, progress=progress) for table in (raw, safe))
    if after.rows > before.rows:
        raise BadData(
            f"the safe table has {after.rows:,} rows and the original {before.rows:,}",
            remedy="Hand in the original first, then what was published of it.",
        )
    columns = tuple(_paired(name, roles.get(name), policy, before, after) for name in both)
    gone = tuple(name for name in wanted if name not in set(both) and _is_key(roles.get(name)))
    least = 0 if policy is None else max((p.least_people for p in policy.promises), default=0)
    return PairedTables(before, after, columns, gone, least)


def _is_key(role: Role | None) -> bool:
    return role is None or role.is_key


def _paired(
    name: str, role: Role | None, policy: Policy | None, before: Microdata, after: Microdata
) -> PairedColumn:
    raw, safe = _counted(before, name), _counted(after, name)
    return pair_column(name, role, _texts(name, policy, raw[0], safe[0]), raw, safe)


def _texts(
    name: str, policy: Policy | None, values: Sequence[Label], published: Sequence[Label]
) -> PublishedTexts:
    rule = None if policy is None else policy.columns.get(name)
    if rule is None:
        return BareTexts(values)
    if not rule.role.is_key:
        return BareTexts(list(dict.fromkeys([*values, *published])))
    bare = rule.taxonomy is None and not rule.one_spelling
    tree = Taxonomy.flat(values) if bare else rule.tree_of(values)
    return TreeTexts(tree, rule.start)


def _counted(table: Microdata, name: str) -> tuple[Sequence[Label], Ranks]:
    """Returns the texts of a column, and how many rows have each."""
    texts = table.column(name).taxonomy.leaf_labels
    rows = np.zeros(len(texts), np.int64)
    np.add.at(rows, table.codes(name), table.counts)
    return texts, rows
