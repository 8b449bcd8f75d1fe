"""How far metrics agree on which patterns are equally good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.recipients.pattern_quality import quality_classes
from sfumato.recipients.patterns import Patterns


@dataclass(frozen=True)
class Agreement:
    """How far two metrics put the same allowed patterns together.

    `together` is the adjusted Rand index of their quality classes: 1 if they are the same, about 0 if no more
    alike than by chance. `best` is the share of the patterns in either best class that are in both. `order`
    is Spearman's rank correlation of the patterns' qualities, 0 where one metric finds all equal.
    """

    metrics: tuple[str, str]
    together: Fraction
    best: Fraction
    order: float


def agreements(
    patterns: Patterns, metrics: Sequence[str], *, tolerance: Fraction = Fraction(0)
) -> tuple[Agreement, ...]:
    """Every pair of metrics, in the order given."""
    labels, ranks = {}, {}
    for name in metrics:
        number = np.full(patterns.count, -1)
        for i, one in enumerate(quality_classes(patterns, name, tolerance=tolerance)):
            number[one.members] = i
        labels[name] = number[patterns.allowed]
        ranks[name] = _ranks(patterns.metric(name)[patterns.allowed])
    return tuple(
        Agreement(
            (a, b),
            adjusted_rand(labels[a], labels[b]),
            _overlap(labels[a] == 0, labels[b] == 0),
            _correlation(ranks[a], ranks[b]),
        )
        for a, b in combinations(metrics, 2)
    )


def adjusted_rand(one: NDArray[np.integer], other: NDArray[np.integer]) -> Fraction:
    """Hubert and Arabie's index of two partitions, from labels; 1 where both are trivial.

    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 7, 7]))
    Fraction(1, 1)
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    Fraction(-1, 2)
    """
    pairs = _pairs(np.unique(np.stack((one, other)), axis=1, return_counts=True)[1])
    in_one, in_other = (_pairs(np.unique(x, return_counts=True)[1]) for x in (one, other))
    every = len(one) * (len(one) - 1) // 2
    chance = Fraction(in_one * in_other, every) if every else Fraction(0)
    most = Fraction(in_one + in_other, 2)
    return Fraction(1) if most == chance else (pairs - chance) / (most - chance)


def _pairs(sizes: NDArray[np.integer]) -> int:
    return int((sizes.astype(np.int64) * (sizes - 1) // 2).sum())


def _overlap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> Fraction:
    either = int((one | other).sum())
    return Fraction(int((one & other).sum()), either) if either else Fraction(1)


def _ranks(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks, the mean rank where values are equal."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which])


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    a, b = one - one.mean() if len(one) else one, other - other.mean() if len(other) else other
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 0.0
