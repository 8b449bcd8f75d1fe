"""Quality of patterns: every loss of `protection.loss`, for all patterns at once; smaller is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Counts, Microdata
from sfumato.protection.loss import Reals, column_weights, leaves_of
from sfumato.protection.patterns.figures import Figures
from sfumato.protection.searches.node_cost import EntropyCost, MeanLoss

Numbers = NDArray[np.int64] | NDArray[np.float64]


class Bench:
    """What a metric is computed from: a table, weights, the level of every pattern in every key column.

    `s` counts the suppressed rows of each pattern, those left out beforehand included.
    """

    def __init__(
        self, table: Microdata, weights: Mapping[str, Fraction], levels: NDArray[np.integer], figures: Figures
    ) -> None:
        self.table, self.levels, self.figures = table, levels, figures
        self.exact_weights = [Fraction(weights.get(c.name, 1)) for c in table.keys]
        self.weights = column_weights(table.keys, weights)
        self.n = table.rows + table.dropped
        self.s: Counts = figures.gone + table.dropped

    @property
    def heights(self) -> list[int]:
        return [c.taxonomy.height for c in self.table.keys]

    def mean(self, columns: list[Reals]) -> Reals:
        """The weighted mean over the key columns."""
        total = np.zeros(len(self.s))
        for values, weight in zip(columns, self.weights.tolist(), strict=True):
            total += weight * values
        return total / float(self.weights.sum()) if columns else total

    def shares(self) -> list[Reals]:
        """x_j of `loss.column_losses`."""
        found, node_cost = [], MeanLoss(self.table, self.weights)
        for j, column in enumerate(self.table.keys):
            domain = leaves_of(column.taxonomy)
            base = np.array(node_cost.base[j], np.int64)[self.levels[j]]
            covered = base - self.figures.covered[:, j] + self.s * domain
            if self.n == 0:
                found.append(np.zeros(len(self.s)))
            elif domain == 1:
                found.append(self.s / self.n)
            else:
                found.append((covered - self.n) / (self.n * (domain - 1)))
        return found


def steps(name: str, heights: list[int], weights: list[Fraction]) -> tuple[list[list[int]], int]:
    """What each level of each column adds to `height` or `precision`, as integers, and their common scale.

    >>> steps("precision", [1, 2], [Fraction(1), Fraction(1)])
    ([[0, 2], [0, 1, 2]], 2)
    """
    over = [max(1, h) for h in heights] if name == "precision" else [1] * len(heights)
    parts = [
        [weight * Fraction(level, most) for level in range(h + 1)]
        for h, most, weight in zip(heights, over, weights, strict=True)
    ]
    scale = lcm(*(part.denominator for column in parts for part in column))
    return [[int(part * scale) for part in column] for column in parts], scale


def summed(name: str, bench: Bench) -> Counts:
    """`height` or `precision`, times the scale of their steps."""
    parts, _ = steps(name, bench.heights, bench.exact_weights)
    total = np.zeros(len(bench.s), np.int64)
    for j, column in enumerate(parts):
        total += np.array(column, np.int64)[bench.levels[j]]
    return total


def height(bench: Bench) -> Counts:
    """Sum of the levels (Samarati 2001)."""
    return summed("height", bench)


def precision(bench: Bench) -> Counts:
    """Sum over the columns of level/height, suppression aside (Schrittwieser et al. 2011)."""
    return summed("precision", bench)


def sweeney(bench: Bench) -> Reals:
    """One minus Sweeney's precision: the mean of level/height, 1 for a suppressed row (loss `precision`)."""
    if bench.n == 0:
        return np.zeros(len(bench.s))
    published = bench.n - bench.s
    columns = [
        (bench.levels[j].astype(np.int64) * published / max(1, h) + bench.s) / bench.n
        for j, h in enumerate(bench.heights)
    ]
    return bench.mean(columns)


def discernibility(bench: Bench) -> Counts:
    """DM: Σ c² over published classes, n for every suppressed row (Bayardo and Agrawal 2005)."""
    return np.asarray(bench.figures.published_squares + bench.s * bench.n)


def discernibility_star(bench: Bench) -> Counts:
    """DM*: Σ c² over all classes (El Emam et al. 2009)."""
    return np.asarray(bench.figures.squares + bench.table.dropped**2)


def mean_loss(bench: Bench) -> Reals:
    """The share of the leaves that a published value stands for."""
    return bench.mean(bench.shares())


def geometric(bench: Bench) -> Reals:
    """The same, as a geometric mean over the columns."""
    return np.asarray(np.expm1(bench.mean([np.log1p(x) for x in bench.shares()])))


def entropy(bench: Bench) -> Reals:
    """Bits lost, by how common each value is."""
    node_cost, total = EntropyCost(bench.table, bench.weights), np.zeros(len(bench.s))
    for j, weight in enumerate(bench.weights.tolist()):
        total += weight * (np.array(node_cost.base[j])[bench.levels[j]] + bench.figures.bits[:, j])
    return total


def class_size(bench: Bench) -> Reals:
    """Average rows per class; the suppressed rows are one class."""
    classes = bench.figures.published + (bench.s > 0)
    return np.asarray(bench.n / np.maximum(classes, 1) * (classes > 0))


METRICS: Mapping[str, Callable[[Bench], Numbers]] = {
    "height": height,
    "precision": precision,
    "sweeney": sweeney,
    "discernibility": discernibility,
    "discernibility-star": discernibility_star,
    "loss": mean_loss,
    "geometric": geometric,
    "entropy": entropy,
    "class-size": class_size,
}

EXACT = ("height", "precision", "discernibility", "discernibility-star")
"""Metrics in integers; the first two have a scale."""
