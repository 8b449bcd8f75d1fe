"""Figures of single columns and of pairs: how far their distributions moved, and what ties them together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import fsum, sqrt

import numpy as np

from sfumato.core.microdata import Counts
from sfumato.usefulness.paired_column import MOST_GROUPS, PairedColumn
from sfumato.usefulness.paired_tables import PairedTables
from sfumato.usefulness.published_texts import Reals
from sfumato.usefulness.table_figures import column_granularity, column_penalty

MOST_COLUMNS = 40
"""Columns of which all pairs are looked at; key columns first."""

BLOCK_ROWS = 1 << 17


@dataclass(frozen=True)
class ColumnFigures:
    """One column: values before, texts after, and how far the distribution moved.

    `distance` is the total variation, from 0 (the same shares at every leaf) to 1, a published text counting
    as each of its leaves with the same chance. `moved` is the earth mover's distance of an ordered column, in
    shares of its whole length. `mean` and `deviation` are those of numbers, before and after. `unread` counts
    published rows whose text could not be read; they count as any value.
    """

    name: str
    key: bool
    values: int
    groups: int
    lost: bool
    distance: float
    moved: float | None
    granularity: float
    ncp: float
    mean: tuple[float, float] | None
    deviation: tuple[float, float] | None
    unread: int


@dataclass(frozen=True)
class PairFigures:
    """Two columns: what ties them together, before and after.

    `distance` is the total variation of their joint distribution over at most 10 x 10 groups of values;
    `information` their mutual information in bits over these groups; `correlation` that of Pearson, for two
    numeric columns, a published text counting as the mean of its leaves.
    """

    columns: tuple[str, str]
    distance: float
    information: tuple[float, float]
    correlation: tuple[float, float] | None


def column_figures(tables: PairedTables, column: PairedColumn) -> ColumnFigures:
    """Returns the figures of one column."""
    apart = column.raw_shares - column.safe_shares
    moved = None
    if column.ordered:
        moved = float(np.abs(np.cumsum(apart)).sum()) / max(1, column.leaves - 1)
    moments = _moments(column)
    return ColumnFigures(
        column.name,
        column.is_key,
        column.values,
        column.groups,
        column.is_lost,
        float(np.abs(apart).sum()) / 2,
        moved,
        column_granularity(column, tables.suppressed),
        column_penalty(column, tables.suppressed),
        None if moments is None else (moments[0][0], moments[1][0]),
        None if moments is None else (moments[0][1], moments[1][1]),
        int(column.safe_rows[column.unread].sum()),
    )


def pair_figures(tables: PairedTables) -> tuple[PairFigures, ...]:
    """Returns the figures of all pairs among `MOST_COLUMNS` columns that had two values, keys first."""
    several = [column for column in tables.columns if column.values > 1]
    chosen = sorted(several, key=lambda column: not column.is_key)[:MOST_COLUMNS]
    return tuple(_pair(tables, one, other) for one, other in combinations(chosen, 2))


def mutual_information(joint: Reals) -> float:
    """Returns the mutual information of a joint distribution, in bits.

    >>> mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])), mutual_information(np.full((2, 2), 0.25))
    (1.0, 0.0)
    """
    alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    some = joint > 0
    return max(0.0, round(float((joint[some] * np.log2(joint[some] / alone[some])).sum()), 12))


def correlation(first: Reals, second: Reals, rows: Counts) -> float:
    """Returns Pearson's correlation of the rows that have both numbers; 0 if one is constant.

    >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), np.array([1, 5, 1]))
    1.0
    """
    known = np.isfinite(first) & np.isfinite(second)
    weights = rows[known] / max(1, int(rows[known].sum()))
    x, y = first[known], second[known]
    x, y = x - weights @ x, y - weights @ y
    spread = float(np.sqrt((weights @ (x * x)) * (weights @ (y * y))))
    return round(float(weights @ (x * y)) / spread, 12) + 0.0 if spread > 0 else 0.0


def _pair(tables: PairedTables, one: PairedColumn, other: PairedColumn) -> PairFigures:
    before, after = _raw_joint(tables, one, other), _safe_joint(tables, one, other)
    figures = None
    if one.raw_numbers is not None and other.raw_numbers is not None:
        assert one.safe_numbers is not None and other.safe_numbers is not None  # noqa: S101  # like raw
        figures = (
            correlation(
                one.raw_numbers[tables.raw_codes(one)],
                other.raw_numbers[tables.raw_codes(other)],
                tables.raw.counts,
            ),
            correlation(
                one.safe_numbers[tables.safe_codes(one)],
                other.safe_numbers[tables.safe_codes(other)],
                tables.safe.counts,
            ),
        )
    apart = float(np.abs(before - after).sum()) / 2
    information = mutual_information(before), mutual_information(after)
    return PairFigures((one.name, other.name), apart, information, figures)


def _raw_joint(tables: PairedTables, one: PairedColumn, other: PairedColumn) -> Reals:
    places = one.raw_group[tables.raw_codes(one)] * MOST_GROUPS + other.raw_group[tables.raw_codes(other)]
    sums = np.zeros(MOST_GROUPS * MOST_GROUPS, np.int64)
    np.add.at(sums, places, tables.raw.counts)
    return sums.reshape(MOST_GROUPS, MOST_GROUPS) / max(1, tables.rows)


def _safe_joint(tables: PairedTables, one: PairedColumn, other: PairedColumn) -> Reals:
    """Returns the joint distribution of two columns of the safe table, each text spread over its groups."""
    first, second = tables.safe_codes(one), tables.safe_codes(other)
    joint = np.zeros((MOST_GROUPS, MOST_GROUPS))
    for start in range(0, len(first), BLOCK_ROWS):
        some = slice(start, start + BLOCK_ROWS)
        weighted = one.group_shares[first[some]] * tables.safe.counts[some, None]
        joint += weighted.T @ other.group_shares[second[some]]
    return np.asarray(joint / max(1, tables.safe.rows))


def _moments(column: PairedColumn) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Returns mean and standard deviation, before and after, of a numeric column."""
    if column.raw_numbers is None or column.safe_numbers is None:
        return None
    return _moment(column.raw_numbers, column.raw_rows), _moment(column.safe_numbers, column.safe_rows)


def _moment(numbers: Reals, rows: Counts) -> tuple[float, float]:
    """Returns mean and standard deviation, from sums that are rounded once: the same on every processor."""
    known = np.isfinite(numbers)
    counts, shown = rows[known], numbers[known]
    total = max(1, int(counts.sum()))
    mean = fsum(counts * shown) / total
    return mean, sqrt(fsum(counts * (shown - mean) ** 2) / total)
