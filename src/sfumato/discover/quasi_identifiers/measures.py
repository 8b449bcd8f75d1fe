"""How strongly a set of columns singles records out, in exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.errors import WrongCall
from sfumato.discovery.quasi_identifiers.coded import NULL_RULE, Coded
from sfumato.discovery.quasi_identifiers.partition import partition


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
        raise WrongCall("k must be at least 1")
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
