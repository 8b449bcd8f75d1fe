"""Maps of small lattices: every combination of levels, and which of them keep the promises at a k.

A counted lattice keeps what some question may choose. To be looked at, a small one is kept whole: what every
combination suppresses and loses at every k, so that a picture can follow the sliders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from sfumato.core.microdata import Counts, Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Truth
from sfumato.policy.policy import Policy
from sfumato.protection.controls import permitted_levels
from sfumato.protection.counted_lattice import (
    LARGEST_K,
    LARGEST_SHARE,
    SMALLEST_K,
    TOO_MANY,
    NodeCounter,
    budget_of,
)
from sfumato.protection.loss import Reals
from sfumato.protection.plan import aim_of
from sfumato.protection.searches.frontier import Levels
from sfumato.protection.searches.node_cost import node_cost
from sfumato.protection.two_phases import with_original

MOST_DRAWN = 72
"""Combinations in a lattice that is drawn; more cannot be told apart."""
MOST_JUDGED_ROWS = 20_000_000
"""Different rows, times combinations, that are judged for a picture: some seconds."""


class SpotState(StrEnum):
    """What becomes of a combination: the answer, allowed, suppressing too much, or left out by the policy."""

    CHOSEN = "chosen"
    ALLOWED = "allowed"
    REFUSED = "refused"
    CLOSED = "closed"


@dataclass(frozen=True)
class LatticeSpot:
    """A combination of levels at one k: its place in the picture, and what it suppresses and loses.

    `across` and `up` run from 0 to 1; `suppressed` is `None` where it is more than any question may allow.
    """

    levels: Levels
    across: float
    up: float
    state: SpotState
    suppressed: int | None
    loss: float | None


@dataclass(frozen=True, eq=False)
class LatticeMap:
    """Every combination of levels of a small lattice, in ascending order, with one column for each k."""

    columns: tuple[str, ...]
    heights: tuple[int, ...]
    ks: range
    rows: int
    dropped: int
    nodes: tuple[Levels, ...]
    permitted: Truth
    suppressed: Counts
    loss: Reals

    def spots(self, k: int, suppress: Fraction, chosen: Levels | None) -> tuple[LatticeSpot, ...]:
        """Returns the combinations as they stand at a k and a limit; `chosen` is the answer of the search."""
        allowed = min(int(self.rows * suppress) - self.dropped, max(0, self.rows - self.dropped - 1))
        suppressed, loss = self.suppressed[:, k - self.ks[0]], self.loss[:, k - self.ks[0]]
        places = _places(self.nodes, self.heights)
        spots = []
        for number, levels in enumerate(self.nodes):
            known = suppressed[number] != TOO_MANY
            spots.append(
                LatticeSpot(
                    levels,
                    *places[number],
                    SpotState.CHOSEN
                    if levels == chosen
                    else SpotState.CLOSED
                    if not self.permitted[number]
                    else SpotState.ALLOWED
                    if suppressed[number] <= allowed
                    else SpotState.REFUSED,
                    int(suppressed[number]) + self.dropped if known else None,
                    float(loss[number]) if known else None,
                )
            )
        return tuple(spots)

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """The pairs of combinations of which one is a single step of one column more general."""
        number = {levels: place for place, levels in enumerate(self.nodes)}
        steps = (
            (place, number.get((*levels[:j], level + 1, *levels[j + 1 :])))
            for levels, place in number.items()
            for j, level in enumerate(levels)
        )
        return tuple((low, high) for low, high in steps if high is not None)


def why_not_drawn(table: Microdata) -> bool:
    """Whether a lattice is too large to be drawn, or to be judged whole for it."""
    nodes = prod(column.taxonomy.height + 1 for column in table.keys)
    return not table.keys or nodes > MOST_DRAWN or nodes * table.distinct > MOST_JUDGED_ROWS


def map_lattice(table: Microdata, policy: Policy, *, progress: Progress = silent) -> LatticeMap | None:
    """Returns the map of a lattice that can be counted; `None` where it is too large to be looked at."""
    if why_not_drawn(table):
        return None
    ks = range(SMALLEST_K, LARGEST_K + 1)
    by_k = [with_original(policy.with_(k=k), table).promises for k in ks]
    aim = replace(aim_of(policy), suppress=LARGEST_SHARE)
    counter = NodeCounter(table, by_k, budget_of(table, aim), node_cost(table, aim))
    heights = tuple(column.taxonomy.height for column in table.keys)
    nodes = tuple(product(*(range(height + 1) for height in heights)))
    permitted = permitted_levels(table, aim)
    suppressed, loss = np.full((len(nodes), len(ks)), TOO_MANY), np.full((len(nodes), len(ks)), np.inf)
    for number, levels in enumerate(nodes):
        fewest = counter.fewest(levels)
        wanted = [i for i in range(len(ks)) if fewest[i] <= counter.budget]
        if wanted:
            suppressed[number], _, loss[number] = counter.line(levels, wanted, fewest)
        progress("drawing the lattice", number + 1, len(nodes))
    return LatticeMap(
        tuple(column.name for column in table.keys),
        heights,
        ks,
        table.rows + table.dropped,
        table.dropped,
        nodes,
        np.array([bool(permitted[levels]) for levels in nodes]),
        suppressed,
        loss,
    )


def _places(nodes: tuple[Levels, ...], heights: tuple[int, ...]) -> list[tuple[float, float]]:
    """Returns where combinations are drawn: the more general the higher, in rows of equal height."""
    rows: dict[int, list[int]] = {}
    for number, levels in enumerate(nodes):
        rows.setdefault(sum(levels), []).append(number)
    places = [(0.0, 0.0)] * len(nodes)
    for height, row in rows.items():
        for position, number in enumerate(row):
            places[number] = ((position + 1) / (len(row) + 1), height / (sum(heights) or 1))
    return places
