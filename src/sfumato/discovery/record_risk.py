"""The risk of records: minimal sample uniques, and the SUDA scores made of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import NULL_RULE, Coded
from sfumato.discovery.quasi_identifiers.limits import Limits
from sfumato.kernels.sets.sample_uniques import count_minimal_uniques
from sfumato.system.memory import Memory

MOST_BYTES = 1 << 32
"""Bytes that the sets of unique rows may take."""


@dataclass(frozen=True, eq=False)
class RecordRisk:
    """Minimal sample uniques of every record: sets of columns that make it unique, no subset of which does.

    `uniques[i, s-1]` counts those of s columns of record i, `by_column[c, s-1]` over all records those
    that column c is in. A record that another one equals in every column has none.

    The **SUDA score** of a record adds up (m - s)! over its minimal sample uniques of s columns, m being
    the number of columns (Elliot, Manning and Ford 2002): the fewer values suffice, the more it counts.
    It is often printed as the product of m - i for i from s to m - 1.
    """

    names: tuple[str, ...]
    max_size: int
    uniques: NDArray[np.int32]
    by_column: NDArray[np.int64]
    nulls: str = NULL_RULE

    @property
    def weights(self) -> tuple[int, ...]:
        """What a minimal sample unique of 1, 2, ... columns counts."""
        columns = len(self.names)
        return tuple(factorial(columns - s) for s in range(1, self.max_size + 1))

    @property
    def scores(self) -> NDArray[np.float64]:
        """The SUDA score of every record."""
        scores: NDArray[np.float64] = self.uniques.astype(np.float64) @ np.array(self.weights, np.float64)
        return scores

    def score(self, record: int) -> int:
        """The SUDA score of one record, exactly."""
        return sum(w * int(c) for w, c in zip(self.weights, self.uniques[record], strict=True))

    @property
    def at_risk(self) -> int:
        """How many records have a minimal sample unique."""
        return int(np.count_nonzero(self.uniques.any(axis=1)))

    @property
    def smallest(self) -> NDArray[np.int32]:
        """The size of each record's smallest unique combination, 0 if it has none."""
        has = self.uniques > 0
        return np.where(has.any(axis=1), has.argmax(axis=1) + 1, 0).astype(np.int32)

    @property
    def contribution(self) -> dict[str, Fraction]:
        """For every column, the share of the total score that comes from combinations it is in."""
        weights = self.weights
        sums = [sum(w * int(c) for w, c in zip(weights, row, strict=True)) for row in self.by_column]
        counts = self.uniques.sum(axis=0, dtype=np.int64)
        total = sum(w * int(c) for w, c in zip(weights, counts, strict=True))
        return {
            name: Fraction(part, total) if total else Fraction(0)
            for name, part in zip(self.names, sums, strict=True)
        }


def record_risk(
    table: Coded,
    *,
    max_size: int,
    memory: Memory | None = None,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> RecordRisk:
    """Count the minimal sample uniques of every record, up to `max_size` columns, within some memory.

    Half of the counts would mean nothing: where the time of `limits` is up first, OutOfTime is raised.

    >>> risk = record_risk(Coded.of_columns({"sex": "ffm", "zip": "112"}), max_size=2)
    >>> risk.uniques.tolist(), risk.scores.tolist()
    ([[0, 0], [0, 0], [2, 0]], [0.0, 0.0, 2.0])
    """
    columns, rows = len(table.names), table.rows
    if max_size < 1:
        raise WrongCall("max_size must be at least 1")
    size = min(max_size, columns)
    if memory is not None:
        sets = sum(comb(columns, s) for s in range(1, size))
        memory.check(
            sets * rows // 8 + 4 * rows * (columns + 3 * size + 4),
            f"the risk of {rows:,} records by up to {size} of {columns} columns",
            "ask for a smaller --record-risk, or leave columns out with --without.",
        )
    per_row = np.zeros((rows, size), np.int32)
    per_column = np.zeros((columns, size), np.int64)
    if size and rows:
        choose, first = _ranks(columns, size)
        unique = _bitsets(int(first[size]), rows)
        stack = np.empty((size + 1) * rows, np.int32)
        stack[:rows] = np.arange(rows, dtype=np.int32)
        bounds = np.empty(2 + (size + 1) * (rows // 2 + 2), np.int32)
        bounds[:2] = 0, rows
        count = np.zeros(4 * max(table.sizes), np.int32)
        local = np.empty(max(rows, 32), np.int32)
        order = sorted(range(columns), key=lambda j: -table.sizes[j])
        codes, sizes = table.codes[order], np.array(table.sizes, np.int64)[order]
        counted = np.zeros_like(per_column)
        for top in range(columns):
            if limits is not None:
                limits.check()
            count_minimal_uniques(
                codes,
                sizes,
                top,
                size,
                choose,
                first,
                unique,
                per_row,
                counted,
                stack,
                bounds,
                count,
                local,
            )
            progress("columns combined", top + 1, columns)
        per_column[order] = counted
    return RecordRisk(table.names, size, per_row, per_column)


def _ranks(columns: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Binomial coefficients, and where the sets of each size begin; `first[size]` is one past the last."""
    choose = np.array([[comb(c, s) for s in range(size + 1)] for c in range(columns)], np.int64)
    first = np.zeros(size + 1, np.int64)
    first[1:] = np.cumsum([0, *(comb(columns, s) for s in range(1, size))])
    return choose, first


def _bitsets(sets: int, rows: int) -> NDArray[np.uint64]:
    words = (rows + 63) // 64
    if 8 * sets * words > MOST_BYTES:
        raise WrongCall(
            f"{sets} sets of columns over {rows} rows need more than {MOST_BYTES >> 30} GiB",
            remedy="Lower max_size, or choose fewer columns.",
        )
    return np.zeros((max(sets, 1), words), np.uint64)
