"""Tables of knowledge that are about the same labels: which of them are judged together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from sfumato.core.joint_columns import JointColumn
from sfumato.core.knowledge import Knowledge, merged_rows

KnownColumn = tuple[str, Knowledge]
"""A column of term sets, and what outsiders know of its terms."""

MOST_TABLES = 4
"""More tables about the same labels are not judged together; a policy with more is refused."""

MOST_MERGED_ROWS = 100_000
"""So many rows what all of them say together may have; with more, too, a policy is refused."""


def joint_subsets(own: KnownColumn, all_tables: Iterable[KnownColumn]) -> Iterator[tuple[KnownColumn, ...]]:
    """Yields every set of two or more tables about the same labels that one table belongs to.

    What two tables say together may break a promise that each keeps, and three may keep what two of them
    break: none of these sets speaks for another.
    """
    labels = set(own[1].labels)
    alike = [table for table in dict.fromkeys(all_tables) if set(table[1].labels) == labels]
    if len(alike) > MOST_TABLES or merged_rows([known for _, known in alike]) > MOST_MERGED_ROWS:
        return
    for size in range(2, len(alike) + 1):
        yield from (some for some in combinations(alike, size) if own in some)


def joint_column(tables: Iterable[KnownColumn]) -> JointColumn:
    """Returns the column that stands for the columns of these tables."""
    return JointColumn(tuple(column for column, _ in tables))
