"""How strongly a set of columns singles records out, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.discovery.quasi_identifiers.coded import (
    NULL_RULE,
    Coded,
    Codes,
    ColumnSets,
    Reading,
    Terms,
    Words,
)
from sfumato.kernels.partitions import DROPPED, join_alike, mark_rare, refine
from sfumato.system.errors import UsageError

# Partitions of the rows by some columns, without the groups of fewer than k rows.

Int32s = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Partition:
    """The groups of at least k rows: group i is `rows[bounds[i]:bounds[i + 1]]`."""

    total: int
    k: int
    rows: Int32s
    bounds: Int32s

    @classmethod
    def whole(cls, total: int, k: int) -> Partition:
        """All rows in one group, as no column at all leaves them."""
        if total < max(k, 1):
            return cls(total, k, np.zeros(0, np.int32), np.zeros(1, np.int32))
        return cls(total, k, np.arange(total, dtype=np.int32), np.array([0, total], np.int32))

    @property
    def exposed(self) -> int:
        """How many rows lie in groups of fewer than k."""
        return self.total - len(self.rows)

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.bounds).astype(np.int64)

    def refined(self, codes: Int32s, size: int, *, enough: int | None = None) -> Partition | None:
        """Groups split by one more column; `None` as soon as `enough` rows are exposed."""
        remaining = len(self.rows)
        limit = remaining + 1 if enough is None else enough - self.exposed
        if limit <= 0:
            return None
        out = np.empty(remaining, np.int32)
        bounds = np.empty(remaining // self.k + 2, np.int32)
        clusters, stayed, why = refine(
            self.rows,
            0,
            self.bounds,
            0,
            len(self.bounds) - 1,
            codes,
            self.k,
            limit,
            remaining + 1,
            np.zeros(max(size, 1), np.int32),
            np.empty(max(remaining, 32), np.int32),
            out,
            0,
            bounds,
            0,
        )
        if why == DROPPED:
            return None
        return Partition(self.total, self.k, out[:stayed].copy(), bounds[: clusters + 1].copy())


def partition(table: Coded, columns: Iterable[int], k: int, *, enough: int | None = None) -> Partition | None:
    """The groups of at least k rows under these columns; `None` as soon as `enough` rows are exposed.

    Columns with many values go first: they leave little for the others to split.
    """
    current: Partition | None = Partition.whole(table.rows, k)
    if enough is not None and current is not None and current.exposed >= enough:
        return None
    for codes, size in _joined(table, sorted(columns, key=table.sizes.__getitem__, reverse=True)):
        if current is None or len(current.rows) == 0:
            break
        current = current.refined(codes, size, enough=enough)
    return current


def _joined(table: Coded, columns: Iterable[int]) -> Iterator[tuple[Int32s, int]]:
    """Codes of the columns; several with few values become one column, as long as rows outnumber codes."""
    most = max(table.rows, 1 << 12)
    codes, size = np.zeros(0, np.int32), 1
    for j in columns:
        if table.sizes[j] <= 1:
            continue
        if size > 1 and size * table.sizes[j] <= most:
            codes, size = codes * np.int32(table.sizes[j]) + table.codes[j], size * table.sizes[j]
            continue
        if size > 1:
            yield codes, size
        codes, size = table.codes[j], table.sizes[j]
    if size > 1:
        yield codes, size


@dataclass(frozen=True)
class Measures:
    """What a table looks like under some columns.

    `exposed` records share their values with fewer than k (themselves included). `distinct_ratio` is the
    number of groups per record, `separation` the share of pairs of records that the columns tell apart
    (Motwani and Xu); both are `None` where there is no record, or no pair, to count.
    """

    columns: tuple[str, ...]
    k: int
    rows: int
    exposed: int
    groups: int
    smallest: int
    largest: int
    unseparated: int
    nulls: str = NULL_RULE

    @property
    def share(self) -> Fraction:
        """The exposed share of all records."""
        return Fraction(self.exposed, self.rows) if self.rows else Fraction(0)

    @property
    def distinct_ratio(self) -> Fraction | None:
        return Fraction(self.groups, self.rows) if self.rows else None

    @property
    def separation(self) -> Fraction | None:
        pairs = self.rows * (self.rows - 1) // 2
        return 1 - Fraction(self.unseparated, pairs) if pairs else None

    @property
    def k_anonymous(self) -> bool:
        """Whether no record is exposed."""
        return self.exposed == 0


def measure(table: Coded, columns: Sequence[str], *, k: int) -> Measures:
    """Group the rows by some columns and count.

    >>> table = Coded.of_columns({"sex": "ffmm", "zip": ["1", "2", "1", "1"]})
    >>> m = measure(table, ["sex", "zip"], k=2)
    >>> m.exposed, m.groups, m.distinct_ratio, m.separation
    (2, 3, Fraction(3, 4), Fraction(5, 6))
    """
    if k < 1:
        raise UsageError("k must be at least 1")
    groups = partition(table, table.index(columns), 2)
    assert groups is not None  # noqa: S101  (nothing was asked to stop it)
    sizes = groups.sizes
    alone = groups.exposed
    exposed = int(sizes[sizes < k].sum()) + (alone if k > 1 else 0)
    return Measures(
        columns=tuple(columns),
        k=k,
        rows=table.rows,
        exposed=exposed,
        groups=len(sizes) + alone,
        smallest=1 if alone else int(sizes.min(initial=table.rows)),
        largest=int(sizes.max(initial=1 if alone else 0)),
        unseparated=int((sizes * (sizes - 1) // 2).sum()),
    )


def k_test(table: Coded, *, k: int) -> Measures:
    """Is the table k-anonymous on all its columns, and hence on any of them?

    One grouping answers it: leaving columns out never makes a group smaller (Lemma 1 of the paper).
    """
    return measure(table, table.names, k=k)


# The reduced table that searches work on: no constants, look-alike columns joined, rare values marked.


@dataclass(frozen=True, eq=False)
class ReducedTable:
    """Columns that differ in how they group rows, for one k; those that group most weakly come first.

    Codes of values held by fewer than k rows are -1: whoever has one is exposed already. `members[j]`
    lists the columns of the table that column j stands for. Constant columns stand for nothing: they are
    in no minimal set.
    """

    codes: Codes
    size: int
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: Coded, k: int) -> ReducedTable:
        """Reduce a table; its columns stand for `members`."""
        codes = np.ascontiguousarray(table.codes)
        marked = np.empty(codes.shape, np.int32)
        shapes = mark_rare(codes, np.array(table.sizes, np.int64), k, marked)
        order = np.argsort(-shapes[:, 3], kind="stable")
        places, columns, size = join_alike(marked, shapes, order)
        members: list[list[int]] = [[] for _ in range(columns)]
        for j, place in enumerate(places.tolist()):
            if place >= 0:
                members[place].append(j)
        return cls(marked[:columns], max(size, 1), tuple(map(tuple, members)))

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def columns(self) -> int:
        return int(self.codes.shape[0])


def without_duplicates(table: Coded) -> tuple[Coded, int]:
    """Equal rows once, and how many rows that leaves out."""
    alike = partition(table, range(len(table.names)), 2)
    if alike is None or len(alike.rows) == 0:
        return table, 0
    surplus = np.ones(len(alike.rows), bool)
    surplus[alike.bounds[:-1]] = False
    keep = np.ones(table.rows, bool)
    keep[alike.rows[surplus]] = False
    return table.take(np.flatnonzero(keep)), int(np.count_nonzero(surplus))


# A question about a table, with everything that one look at all its columns already settles.


@dataclass(frozen=True, eq=False)
class QuasiIdentifierQuestion:
    """Which sets of columns are quasi-identifiers of this table, under these terms?

    `table` holds the rows that count (equal rows once, for the reading `distinct`). `exposed` counts the
    records exposed under all columns, `duplicates` the rows that repeat another row in every column.
    """

    table: Coded
    terms: Terms
    exposed: int
    duplicates: int

    @classmethod
    def of(cls, table: Coded, reading: Reading) -> QuasiIdentifierQuestion:
        """Group by all columns once; by Lemma 1 of the paper no other set can expose more."""
        duplicates = 0
        if reading.name == "distinct":
            table, duplicates = without_duplicates(table)
        terms = reading.terms(table.rows)
        groups = partition(table, range(len(table.names)), terms.k)
        exposed = table.rows if groups is None else groups.exposed
        if reading.name == "all" and exposed < table.rows:
            pairs = groups if terms.k == 2 else partition(table, range(len(table.names)), 2)
            duplicates = 0 if pairs is None else len(pairs.rows) - (len(pairs.bounds) - 1)
        return cls(table, terms, exposed, duplicates)

    @property
    def settled(self) -> bool:
        """Whether the answer is known: no set at all, or the empty one."""
        return bool(self.reason)

    @property
    def empty_set(self) -> bool:
        """Whether even the empty set of columns is a quasi-identifier."""
        return bool(self.terms.trivial)

    @property
    def reason(self) -> str:
        """Why the answer is what it is, where no search was needed."""
        terms = self.terms
        if terms.impossible or terms.trivial:
            return terms.impossible or terms.trivial
        if self.exposed >= terms.t:
            return ""
        if terms.reading == "all":
            return (
                f"all columns together leave {terms.rows - self.exposed} of {terms.rows} records in groups "
                f"of at least {terms.k}; {self.duplicates} rows repeat another row"
            )
        return f"all columns together expose {self.exposed} records, {terms.t} are asked for"

    def named(self, words: Words, reduced: ReducedTable, *, most: int | None = None) -> ColumnSets:
        """Returns found sets by name, every choice among look-alikes; no more than `most` of them."""
        return ColumnSets(words, reduced.members, self.table.names, most=most)
