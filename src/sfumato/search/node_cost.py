"""Costs of nodes of the full-domain lattice: the losses again, from a few counts per node.

`sfumato.search.loss` defines the measures on any recoding. A lattice search needs them for thousands of
nodes, and needs to know early what a node costs at least. Losses that add up columns follow from each
column alone as long as no row is suppressed; what suppression adds comes from the suppressed rows. Losses
of class sizes are bounded, for everything more general, by what they would be without suppression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, log1p
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.search.contract import Aim
from sfumato.search.loss import (
    UNPRICED,
    Reals,
    column_weights,
    find_measure,
    leaves_of,
    share_loss,
    shuffled_bits,
    tally,
)
from sfumato.table.microdata import Counts, Microdata

SuppressedCounts = Sequence[Counts]


@dataclass(frozen=True, eq=False)
class JudgedNode:
    """A node of the lattice that a search has judged.

    `sizes` are the rows of its classes, `published` those of the classes that are published, without rows
    that are suppressed; `suppressed` counts these, and `suppressed_counts()` once more, for every key column,
    per node of its taxonomy. `kept` says which classes
    are published.
    """

    levels: tuple[int, ...]
    sizes: Counts
    published: Counts
    suppressed: int
    suppressed_counts: Callable[[], SuppressedCounts]
    kept: NDArray[np.bool_]


class NodeCost:
    """A loss of lattice nodes; each subclass says what a column adds.

    `steps[j][level]` is what column j adds at a level as long as no coded row is suppressed.
    """

    looks_at_rows = True
    """Whether it matters which rows are suppressed, not only how many."""

    adds_up = True
    """Whether `least_cost` of what the columns add is the score, not only a way to order nodes."""

    def __init__(self, table: Microdata, weights: Reals, price: Fraction = UNPRICED) -> None:
        self.price = price
        self.keys, self.dropped = table.keys, table.dropped
        self.n = table.rows + table.dropped
        self.weights: list[float] = weights.tolist()
        self.total_weight = float(weights.sum())
        self.frequencies = [
            tally(table.codes(c.name), table.counts, leaves_of(c.taxonomy)) for c in self.keys
        ]
        self.base = [
            [self.base_cost(j, level) for level in range(c.taxonomy.height + 1)]
            for j, c in enumerate(self.keys)
        ]
        self.steps = [
            np.array([self.column_cost(j, level, None, table.dropped) for level in range(len(amounts))])
            for j, amounts in enumerate(self.base)
        ]

    def base_cost(self, j: int, level: int) -> float:
        """Returns what of column j at a level does not depend on suppression."""
        del j
        return level

    def column_cost(self, j: int, level: int, suppressed: Counts | None, s: int) -> float:
        """Returns what column j adds at a level when s rows are suppressed, the coded ones `suppressed`."""
        raise NotImplementedError

    def least_cost(self, total: Reals) -> Reals:
        """Returns the least that nodes cost, by the sums of their steps; never falls towards the general."""
        return total

    def score(self, node: JudgedNode) -> float:
        """Returns what a node costs."""
        counts = node.suppressed_counts() if node.suppressed and self.looks_at_rows else None
        s, total = node.suppressed + self.dropped, 0.0
        for j, level in enumerate(node.levels):
            total += self.column_cost(j, level, None if counts is None else counts[j], s)
        return self.finish(total)

    def finish(self, total: float) -> float:
        """Returns the score, given the sum of what the columns add."""
        return total

    def sum_of(self, score: float) -> float:
        """Returns the sum of what the columns add, given the score."""
        return score

    def floors(self, j: int, level: int, suppressed: Counts) -> Reals:
        """Returns what column j adds at least at a level, for each of some numbers of suppressed coded rows.

        More rows never add less, nor does a more general level. It holds where a price is 1 or more.
        """
        return np.full(len(suppressed), self.steps[j][level])

    def lower_bound(self, node: JudgedNode) -> float:
        """Returns what this node and all more general ones cost at least, by its classes."""
        del node
        return -np.inf

    def is_final(self, node: JudgedNode, score: float) -> bool:
        """Whether nothing more general can be preferred to this node."""
        del score
        return node.suppressed == 0


C = TypeVar("C", bound=type[NodeCost])
_costs: dict[str, type[NodeCost]] = {}


def built_in_cost(loss: str) -> Callable[[C], C]:
    """Offers what the nodes of a lattice cost by this loss: the lattice search can then keep it small."""

    def offer(cost: C) -> C:
        _costs[loss] = cost
        return cost

    return offer


@built_in_cost("loss")
class MeanLoss(NodeCost):
    """`loss`: the leaves that published values cover, plus the whole domain for suppressed rows."""

    def base_cost(self, j: int, level: int) -> int:
        taxonomy = self.keys[j].taxonomy
        return int(self.frequencies[j] @ taxonomy.leaf_count[taxonomy.levels[level]].astype(np.int64))

    def column_cost(self, j: int, level: int, suppressed: Counts | None, s: int) -> float:
        taxonomy = self.keys[j].taxonomy
        domain = leaves_of(taxonomy)
        covered = self.base[j][level] + s * domain
        if suppressed is not None:
            covered -= int(suppressed @ taxonomy.leaf_count)
        share = share_loss(int(covered), self.n, s, domain, self.price)
        return self.weights[j] * self.scale(share) / self.total_weight

    def scale(self, x: float) -> float:
        """Returns how a column's loss enters the sum."""
        return x

    def floors(self, j: int, level: int, suppressed: Counts) -> Reals:
        """Returns what the column adds if the rows are suppressed that cover most already."""
        taxonomy = self.keys[j].taxonomy
        domain, frequency = leaves_of(taxonomy), self.frequencies[j]
        width = taxonomy.leaf_count[taxonomy.levels[level]].astype(np.int64)
        order = np.argsort(-width, kind="stable")
        rows = np.concatenate(([0], np.cumsum(frequency[order])))
        added = np.concatenate(([0], np.cumsum((frequency * (domain - width))[order])))
        covered = self.base[j][level] + self.dropped * domain
        bare = share_loss(int(covered), self.n, self.dropped, domain, self.price)
        dearer = float(self.price) - (domain > 1)
        more = np.interp(suppressed, rows, added) / max(1, domain - 1) + dearer * suppressed
        shares = [self.scale(share) for share in (bare + more / max(1, self.n)).tolist()]
        return np.array(shares) * self.weights[j] / self.total_weight


@built_in_cost("geometric")
class GeometricLoss(MeanLoss):
    """`geometric`: sums of logarithms."""

    def scale(self, x: float) -> float:
        return log1p(x)

    def least_cost(self, total: Reals) -> Reals:
        return np.expm1(total)

    def finish(self, total: float) -> float:
        return expm1(total)

    def sum_of(self, score: float) -> float:
        return log1p(score)


@built_in_cost("entropy")
class EntropyCost(NodeCost):
    """`entropy`: the bits lost by generalization, plus those lost among the suppressed rows."""

    def base_cost(self, j: int, level: int) -> float:
        node, frequency = self.keys[j].taxonomy.levels[level], self.frequencies[j]
        together = tally(node, frequency, len(self.keys[j].taxonomy.labels))
        here = frequency > 0
        return float(frequency[here] @ (np.log2(together[node[here]]) - np.log2(frequency[here])))

    def column_cost(self, j: int, level: int, suppressed: Counts | None, s: int) -> float:
        del s
        shuffled = 0.0 if suppressed is None else shuffled_bits(suppressed) * float(self.price)
        return self.weights[j] * (self.base[j][level] + shuffled)


@built_in_cost("precision")
class Precision(NodeCost):
    """`precision`: the level, as a share of the height."""

    looks_at_rows = False

    def column_cost(self, j: int, level: int, suppressed: Counts | None, s: int) -> float:
        del suppressed
        if self.n == 0:
            return 0.0
        share = (level * (self.n - s) / max(1, self.keys[j].taxonomy.height) + float(s * self.price)) / self.n
        return self.weights[j] * share / self.total_weight

    def floors(self, j: int, level: int, suppressed: Counts) -> Reals:
        return np.array([self.column_cost(j, level, None, s + self.dropped) for s in suppressed.tolist()])


@built_in_cost("height")
class Height(NodeCost):
    """`height`: the level."""

    looks_at_rows = False

    def column_cost(self, j: int, level: int, suppressed: Counts | None, s: int) -> float:
        del suppressed, s
        return self.weights[j] * level


class SizeCost(MeanLoss):
    """A loss of class sizes. No column bounds it; nodes are ordered by mean loss.

    Merging classes raises it where nothing is suppressed, and suppression of whole classes never brings it
    below that. So a node bounds all more general ones; they reach the bound only with the very same classes,
    and then the levels decide for the node.
    """

    adds_up = False

    def least_cost(self, total: Reals) -> Reals:
        return np.zeros_like(total)

    def is_final(self, node: JudgedNode, score: float) -> bool:
        return self.lower_bound(node) >= score


@built_in_cost("discernibility")
class Discernibility(SizeCost):
    """`discernibility`."""

    def score(self, node: JudgedNode) -> float:
        squares = int(node.published @ node.published)
        return float(squares + (node.suppressed + self.dropped) * self.n * self.price)

    def lower_bound(self, node: JudgedNode) -> float:
        return float(int(node.sizes @ node.sizes) + self.dropped * self.n * self.price)


@built_in_cost("discernibility-star")
class DiscernibilityStar(SizeCost):
    """`discernibility-star`."""

    def score(self, node: JudgedNode) -> float:
        return float(int(node.sizes @ node.sizes) + self.dropped**2)

    def lower_bound(self, node: JudgedNode) -> float:
        return self.score(node)


@built_in_cost("class-size")
class ClassSize(SizeCost):
    """`class-size`."""

    def score(self, node: JudgedNode) -> float:
        classes = len(node.published) + (node.suppressed + self.dropped > 0)
        return self.n / classes if classes else 0.0

    def lower_bound(self, node: JudgedNode) -> float:
        classes = len(node.sizes) + (self.dropped > 0)
        return self.n / classes if classes else 0.0


def node_cost(table: Microdata, aim: Aim) -> NodeCost:
    """Returns the loss that the aim names, for this table."""
    find_measure(aim.loss)
    return _costs[aim.loss](table, column_weights(table.keys, aim.weights), aim.price or UNPRICED)
