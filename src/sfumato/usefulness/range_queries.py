"""Range queries: how many rows lie in a box, asked of both tables; the same boxes for the same seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.usefulness.paired_tables import PairedTables
from sfumato.usefulness.published_texts import Reals

QUERIES = 200
MOST_SIDES = 3
"""Columns that one query asks about, at most."""

LEAST_WIDTH, MOST_WIDTH = 0.05, 0.5
"""Shares of the leaves of a column that a side of a box may have."""

LEAST_ANSWER = 1000
"""The true answer counts as at least one row in so many, so that a box without rows does not decide all."""


@dataclass(frozen=True)
class QueryFigures:
    """How far answers of the safe table are from the true ones: |answer - truth| / max(truth, n/1000)."""

    queries: int
    seed: int
    median: float
    mean: float
    worst_tenth: float


def query_figures(tables: PairedTables, *, seed: int = 0, queries: int = QUERIES) -> QueryFigures | None:
    """Returns the errors of random counts over one to three columns; `None` where no column has two values.

    A side of a box is an interval of leaves around the value of a random original row. A published text
    counts with the share of its leaves that lie in the box; suppressed rows are in none.
    """
    columns = [column for column in tables.columns if column.values > 1]
    if not columns or not tables.rows:
        return None
    draw = np.random.default_rng(seed)
    chance = tables.raw.counts / tables.rows
    errors = np.empty(queries)
    for i in range(queries):
        sides = draw.choice(
            len(columns), size=min(len(columns), int(draw.integers(1, MOST_SIDES + 1))), replace=False
        )
        row = int(draw.choice(len(chance), p=chance))
        inside = np.ones(tables.raw.distinct, bool)
        share: Reals = np.ones(tables.safe.distinct)
        for j in sides.tolist():
            column = columns[j]
            width = max(1, round(column.leaves * float(draw.uniform(LEAST_WIDTH, MOST_WIDTH))))
            leaf = column.raw_leaf[tables.raw_codes(column)]
            low = max(0, int(leaf[row]) - int(draw.integers(0, width)))
            high = min(column.leaves, low + width)
            inside &= (leaf >= low) & (leaf < high)
            covered = np.minimum(column.high, high) - np.maximum(column.low, low)
            share *= (np.maximum(covered, 0) / (column.high - column.low))[tables.safe_codes(column)]
        truth = int(tables.raw.counts[inside].sum())
        errors[i] = abs(float(tables.safe.counts @ share) - truth) / max(truth, tables.rows / LEAST_ANSWER)
    tenth = float(np.quantile(errors, 0.9))
    return QueryFigures(queries, seed, float(np.median(errors)), float(errors.mean()), tenth)
