"""What a node of the full-domain lattice costs: the losses again, from a few counts per node.

`sfumato.protection.loss` defines the measures on any recoding. A lattice search needs them for thousands of
nodes, and needs to know early what a node costs at least. Losses that add up columns follow from each
column alone as long as no row is suppressed; what suppression adds comes from the suppressed rows. Losses
of class sizes are bounded, for everything more general, by what they would be without suppression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, log1p

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Counts, Microdata
from sfumato.protection.loss import (
    Reals,
    column_weights,
    find_measure,
    leaves_of,
    share_loss,
    shuffled_bits,
)
from sfumato.protection.searches.search import Aim

Gone = Sequence[Counts]


@dataclass(frozen=True, eq=False)
class Facts:
    """What a search knows of a node it has judged.

    `sizes` are the rows of its classes, `kept` says which are published, `suppressed` counts the rows of the
    others; `gone()` counts these once more, for every key column, per node of its taxonomy.
    """

    levels: tuple[int, ...]
    sizes: Counts
    kept: NDArray[np.bool_]
    suppressed: int
    gone: Callable[[], Gone]


class Price:
    """A loss as the lattice sees it; each subclass says what a column adds.

    `steps[j][level]` is what column j adds at a level as long as no coded row is suppressed.
    """

    looks_at_rows = True
    """Whether it matters which rows are suppressed, not only how many."""

    def __init__(self, table: Microdata, weights: Reals) -> None:
        self.keys, self.dropped = table.keys, table.dropped
        self.n = table.rows + table.dropped
        self.weights: list[float] = weights.tolist()
        self.total_weight = float(weights.sum())
        self.frequencies = [_frequencies(table, c.name) for c in self.keys]
        self.base = [
            [self.amount(j, level) for level in range(c.taxonomy.height + 1)] for j, c in enumerate(self.keys)
        ]
        self.steps = [
            np.array([self.part(j, level, None, table.dropped) for level in range(len(amounts))])
            for j, amounts in enumerate(self.base)
        ]

    def amount(self, j: int, level: int) -> float:
        """What of column j at a level does not depend on suppression."""
        del j
        return level

    def part(self, j: int, level: int, gone: Counts | None, s: int) -> float:
        """What column j adds at a level when s rows are suppressed, the coded ones among them `gone`."""
        raise NotImplementedError

    def least(self, total: Reals) -> Reals:
        """The least that nodes cost, given the sums of their steps; never falls towards the general."""
        return total

    def score(self, facts: Facts) -> float:
        """What a node costs."""
        gone = facts.gone() if facts.suppressed and self.looks_at_rows else None
        s = facts.suppressed + self.dropped
        return self.finish(
            sum(self.part(j, i, None if gone is None else gone[j], s) for j, i in enumerate(facts.levels))
        )

    def finish(self, total: float) -> float:
        """The score, given the sum of what the columns add."""
        return total

    def floor(self, facts: Facts) -> float:
        """What this node and all more general ones cost at least, by the look of its classes."""
        del facts
        return -np.inf

    def settles(self, facts: Facts, score: float) -> bool:
        """Whether nothing more general can be preferred to this node."""
        del score
        return facts.suppressed == 0


class MeanLoss(Price):
    """`loss`: the leaves that published values cover, plus the whole domain for suppressed rows."""

    def amount(self, j: int, level: int) -> int:
        taxonomy = self.keys[j].taxonomy
        return int(self.frequencies[j] @ taxonomy.leaf_count[taxonomy.levels[level]].astype(np.int64))

    def part(self, j: int, level: int, gone: Counts | None, s: int) -> float:
        taxonomy = self.keys[j].taxonomy
        domain = leaves_of(taxonomy)
        covered = self.base[j][level] + s * domain
        if gone is not None:
            covered -= int(gone @ taxonomy.leaf_count)
        return self.weights[j] * self.scale(share_loss(int(covered), self.n, s, domain)) / self.total_weight

    def scale(self, x: float) -> float:
        """How a column's loss enters the sum."""
        return x


class GeometricLoss(MeanLoss):
    """`geometric`: sums of logarithms."""

    def scale(self, x: float) -> float:
        return log1p(x)

    def least(self, total: Reals) -> Reals:
        return np.expm1(total)

    def finish(self, total: float) -> float:
        return expm1(total)


class Entropy(Price):
    """`entropy`: the bits lost by generalization, plus those lost among the suppressed rows."""

    def amount(self, j: int, level: int) -> float:
        node, frequency = self.keys[j].taxonomy.levels[level], self.frequencies[j]
        together = np.zeros(len(self.keys[j].taxonomy.labels), dtype=np.int64)
        np.add.at(together, node, frequency)
        here = frequency > 0
        return float(frequency[here] @ (np.log2(together[node[here]]) - np.log2(frequency[here])))

    def part(self, j: int, level: int, gone: Counts | None, s: int) -> float:
        del s
        return self.weights[j] * (self.base[j][level] + (0.0 if gone is None else shuffled_bits(gone)))


class Precision(Price):
    """`precision`: the level, as a share of the height."""

    looks_at_rows = False

    def part(self, j: int, level: int, gone: Counts | None, s: int) -> float:
        del gone
        if self.n == 0:
            return 0.0
        share = (level * (self.n - s) / max(1, self.keys[j].taxonomy.height) + s) / self.n
        return self.weights[j] * share / self.total_weight


class Height(Price):
    """`height`: the level."""

    looks_at_rows = False

    def part(self, j: int, level: int, gone: Counts | None, s: int) -> float:
        del gone, s
        return self.weights[j] * level


class OfSizes(MeanLoss):
    """A loss of class sizes. No column bounds it; nodes are ordered by mean loss.

    Merging classes raises it where nothing is suppressed, and suppression never brings it below that. So
    a node bounds all more general ones; they reach the bound only with the very same classes, and then
    the levels decide for the node.
    """

    def least(self, total: Reals) -> Reals:
        return np.zeros_like(total)

    def settles(self, facts: Facts, score: float) -> bool:
        return self.floor(facts) >= score


class Discernibility(OfSizes):
    """`discernibility`."""

    def score(self, facts: Facts) -> float:
        published = facts.sizes[facts.kept]
        return float(int(published @ published) + (facts.suppressed + self.dropped) * self.n)

    def floor(self, facts: Facts) -> float:
        return float(int(facts.sizes @ facts.sizes) + self.dropped * self.n)


class DiscernibilityStar(OfSizes):
    """`discernibility-star`."""

    def score(self, facts: Facts) -> float:
        return float(int(facts.sizes @ facts.sizes) + self.dropped**2)

    def floor(self, facts: Facts) -> float:
        return self.score(facts)


class ClassSize(OfSizes):
    """`class-size`."""

    def score(self, facts: Facts) -> float:
        classes = int(facts.kept.sum()) + (facts.suppressed + self.dropped > 0)
        return self.n / classes if classes else 0.0

    def floor(self, facts: Facts) -> float:
        classes = len(facts.sizes) + (self.dropped > 0)
        return self.n / classes if classes else 0.0


PRICES: dict[str, type[Price]] = {
    "loss": MeanLoss,
    "geometric": GeometricLoss,
    "entropy": Entropy,
    "precision": Precision,
    "discernibility": Discernibility,
    "discernibility-star": DiscernibilityStar,
    "class-size": ClassSize,
    "height": Height,
}


def price(table: Microdata, aim: Aim) -> Price:
    """The loss that the aim names, for this table."""
    find_measure(aim.loss)
    return PRICES[aim.loss](table, column_weights(table.keys, aim.weights))


def _frequencies(table: Microdata, name: str) -> Counts:
    """How many rows hold each leaf of a column."""
    sums = np.zeros(leaves_of(table.column(name).taxonomy), dtype=np.int64)
    np.add.at(sums, table.codes(name), table.counts)
    return sums
