"""Metrics of patterns: every loss of `protection.loss`, for all patterns at once; smaller is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Counts, Microdata
from sfumato.protection.loss import Reals, column_weights, leaves_of
from sfumato.protection.patterns.figures import PatternFigures
from sfumato.protection.searches.node_cost import EntropyCost, MeanLoss

Numbers = NDArray[np.int64] | NDArray[np.float64]


class MetricInput:
    """The input of a metric: a table, weights, the level of every pattern in every key column.

    `s` counts the suppressed rows of each pattern, those left out beforehand included.
    """

    def __init__(
        self,
        table: Microdata,
        weights: Mapping[str, Fraction],
        levels: NDArray[np.integer],
        figures: PatternFigures,
    ) -> None:
        self.table, self.levels, self.figures = table, levels, figures
        self.exact_weights = [Fraction(weights.get(c.name, 1)) for c in table.keys]
        self.weights = column_weights(table.keys, weights)
        self.n = table.rows + table.dropped
        self.s: Counts = figures.suppressed + table.dropped

    @property
    def heights(self) -> list[int]:
        return [c.taxonomy.height for c in self.table.keys]

    def mean(self, columns: list[Reals]) -> Reals:
        """Returns the weighted mean over the key columns."""
        total = np.zeros(len(self.s))
        for values, weight in zip(columns, self.weights.tolist(), strict=True):
            total += weight * values
        return total / float(self.weights.sum()) if columns else total

    def shares(self) -> list[Reals]:
        """Returns x_j of `loss.column_losses`, per column."""
        shares, mean_loss = [], MeanLoss(self.table, self.weights)
        for j, column in enumerate(self.table.keys):
            domain = leaves_of(column.taxonomy)
            base = np.array(mean_loss.base[j], np.int64)[self.levels[j]]
            covered = base - self.figures.covered[:, j] + self.s * domain
            if self.n == 0:
                shares.append(np.zeros(len(self.s)))
            elif domain == 1:
                shares.append(self.s / self.n)
            else:
                shares.append((covered - self.n) / (self.n * (domain - 1)))
        return shares


def steps(name: str, heights: list[int], weights: list[Fraction]) -> tuple[list[list[int]], int]:
    """Returns what each level of each column adds to `height` or `precision`, as integers, and their scale.

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


def _sum_of_steps(name: str, given: MetricInput) -> Counts:
    """Returns `height` or `precision`, times the scale of their steps."""
    parts, _ = steps(name, given.heights, given.exact_weights)
    total = np.zeros(len(given.s), np.int64)
    for j, column in enumerate(parts):
        total += np.array(column, np.int64)[given.levels[j]]
    return total


def height(given: MetricInput) -> Counts:
    """Sum of the levels (Samarati 2001)."""
    return _sum_of_steps("height", given)


def precision(given: MetricInput) -> Counts:
    """Sum over the columns of level/height, suppression aside (Schrittwieser et al. 2011)."""
    return _sum_of_steps("precision", given)


def sweeney(given: MetricInput) -> Reals:
    """One minus Sweeney's precision: the mean of level/height, 1 for a suppressed row (loss `precision`)."""
    if given.n == 0:
        return np.zeros(len(given.s))
    published = given.n - given.s
    columns = [
        (given.levels[j].astype(np.int64) * published / max(1, h) + given.s) / given.n
        for j, h in enumerate(given.heights)
    ]
    return given.mean(columns)


def discernibility(given: MetricInput) -> Counts:
    """DM: Σ c² over published classes, n for every suppressed row (Bayardo and Agrawal 2005)."""
    return np.asarray(given.figures.published_squares + given.s * given.n)


def discernibility_star(given: MetricInput) -> Counts:
    """DM*: Σ c² over all classes (El Emam et al. 2009)."""
    return np.asarray(given.figures.squares + given.table.dropped**2)


def mean_loss(given: MetricInput) -> Reals:
    """The share of the leaves that a published value stands for."""
    return given.mean(given.shares())


def geometric(given: MetricInput) -> Reals:
    """The same, as a geometric mean over the columns."""
    return np.asarray(np.expm1(given.mean([np.log1p(x) for x in given.shares()])))


def entropy(given: MetricInput) -> Reals:
    """Bits lost, by how common each value is."""
    cost, total = EntropyCost(given.table, given.weights), np.zeros(len(given.s))
    for j, weight in enumerate(given.weights.tolist()):
        total += weight * (np.array(cost.base[j])[given.levels[j]] + given.figures.bits[:, j])
    return total


def class_size(given: MetricInput) -> Reals:
    """Average rows per class; the suppressed rows are one class."""
    classes = given.figures.published + (given.s > 0)
    return np.asarray(given.n / np.maximum(classes, 1) * (classes > 0))


METRICS: Mapping[str, Callable[[MetricInput], Numbers]] = {
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
