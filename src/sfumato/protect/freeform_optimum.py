"""The best recoding under a freeform promise, and how far another one is from it.

Supports of values at or above a cut do not depend on the cut, so the breaches of a coarser table are those
breaches of the finer one whose values are all still at or above the cut. Keeping the promise then means: of
every breach of the raw table at least one value must end up below the cut. Losing a value means that its
parent, or something higher, is published in its place, which never costs less. So the search starts with the
raw table, picks a breach, and branches over which of its values is lost; states are taken in the order of
what they cost at least, and the first without a breach is the best there is.

Breaches are found as they are needed, made as general as they can be (a general breach is harder to lose),
and kept; the data is asked only where no breach that is known decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import lcm
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from sfumato.declare.freeform.board import Board
from sfumato.declare.freeform.sweeping import breach
from sfumato.declare.promises.freeform import Freeform
from sfumato.protect.freeform_cuts import NEVER, Cutting
from sfumato.terms.cut import Cut
from sfumato.terms.errors import WrongCall
from sfumato.terms.microdata import Microdata
from sfumato.terms.promise import Cuts

Ints = NDArray[np.int64]
State = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best cuts found, their mean loss, and a loss that nothing can fall below.

    `optimal` says that the two losses are equal. `states` counts the recodings looked at, `breaches` those
    that had to be known.
    """

    cuts: dict[str, Cut]
    loss: Fraction
    bound: Fraction
    states: int
    breaches: int

    @property
    def optimal(self) -> bool:
        return self.loss == self.bound


def optimum(
    table: Microdata,
    promise: Freeform,
    *,
    weights: Mapping[str, Fraction] | None = None,
    deadline: float = 60.0,
    start: Cuts | None = None,
    most: int = 2_000_000,
) -> Optimum:
    """The cuts with the least mean loss that keep the promise.

    After `deadline` seconds, or `most` states, the best cuts known are returned with the bound reached;
    `start` are cuts that keep the promise, to be improved on (all roots by default).
    """
    return _Search(table, promise, weights or {}).run(deadline, start, most)


def mean_loss(table: Microdata, cuts: Cuts, weights: Mapping[str, Fraction] | None = None) -> Fraction:
    """The measure `loss`, exactly."""
    search = _Costs(table, weights or {})
    return search.loss(
        sum(int(search.node_cost[j][np.unique(cuts[c.name].node_of)].sum()) for j, c in enumerate(table.keys))
    )


class _Costs:
    """Mean loss in whole numbers: rows below a node times the leaves beyond one, on a common scale."""

    def __init__(self, table: Microdata, weights: Mapping[str, Fraction]) -> None:
        trees = [c.taxonomy for c in table.keys]
        weight = [Fraction(weights.get(c.name, 1)) for c in table.keys]
        share = [w / max(1, len(t.leaves) - 1) for w, t in zip(weight, trees, strict=True)]
        scale = lcm(*(s.denominator for s in share))
        self._whole = scale * sum(weight, Fraction(0)) * max(1, table.rows)
        self.node_cost: list[Ints] = []
        for c, s, t in zip(table.keys, share, trees, strict=True):
            held = np.zeros(len(t.leaves) + 1, np.int64)
            np.add.at(held, table.codes(c.name) + 1, table.counts)
            before = np.cumsum(held)
            rows = before[t.high] - before[t.low]
            factor = int(s * scale)
            if table.rows * max(1, len(t.leaves)) * factor * len(trees) >= NEVER:
                raise WrongCall("weights and trees are too fine for an exact search", remedy="Round weights.")
            self.node_cost.append(rows * (t.leaf_count - 1).astype(np.int64) * factor)

    def loss(self, cost: int) -> Fraction:
        return Fraction(cost) / self._whole if self._whole else Fraction(0)


class _Search:
    def __init__(self, table: Microdata, promise: Freeform, weights: Mapping[str, Fraction]) -> None:
        self.table, self.promise = table, promise
        self.costs = _Costs(table, weights)
        self.guards = promise.guards(table.keys)
        self.columns = [
            Cutting(c.taxonomy, cost) for c, cost in zip(table.keys, self.costs.node_cost, strict=True)
        ]
        finest = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
        self.raw = promise.board(table, finest, self.guards)
        self.known = np.zeros((0, len(self.columns)), np.int64)
        self._used = np.zeros(0, np.int64)

    def run(self, deadline: float, start: Cuts | None, most: int) -> Optimum:
        end = monotonic() + deadline
        first: State = tuple(c.finest for c in self.columns)
        best = self._state_of(start)
        ceiling = self._cost(best)
        if self._broken(best):
            raise WrongCall("the cuts to start with break the promise")
        heap: list[tuple[int, int, State]] = [(self._cost(first), 0, first)]
        seen = {first}
        looked = 0
        bound = ceiling
        while heap:
            least, _, state = heappop(heap)
            if least >= ceiling:
                break
            bound = least
            if monotonic() > end or looked >= most:
                return self._answer(best, ceiling, bound, looked)
            looked += 1
            at_least, pivot = self._judge(state)
            if pivot is None:
                return self._answer(state, self._cost(state), self._cost(state), looked)
            if at_least > least:
                if at_least < ceiling:
                    heappush(heap, (at_least, looked, state))
                continue
            for j, node in enumerate(pivot.tolist()):
                if node:
                    child = (*state[:j], self.columns[j].without(state[j], node), *state[j + 1 :])
                    if child not in seen:
                        seen.add(child)
                        floor = max(least, self._cost(child))
                        if floor < ceiling:
                            heappush(heap, (floor, looked, child))
        return self._answer(best, ceiling, ceiling, looked)

    def _judge(self, state: State) -> tuple[int, Ints | None]:
        """What a state and everything above it cost at least, and a breach to branch on; none: it is safe."""
        cost = self._cost(state)
        alive = self._alive(state)
        if not len(alive):
            if not self._broken(state):
                return cost, None
            alive = self._alive(state)
        lose = np.stack(
            [
                c.met[i].lose[self.known[alive, j]]
                for j, (c, i) in enumerate(zip(self.columns, state, strict=True))
            ]
        )
        least = lose.min(axis=0)
        order = np.argsort(-least, kind="stable")
        total, taken = cost, 0
        for k in order.tolist():
            if not taken & int(self._used[alive[k]]):
                total += int(least[k])
                taken |= int(self._used[alive[k]])
        return total, self.known[alive[order[0]]]

    def _alive(self, state: State) -> NDArray[np.intp]:
        """The known breaches whose values are all at or above the cuts."""
        alive = np.ones(len(self.known), dtype=bool)
        for j, (c, i) in enumerate(zip(self.columns, state, strict=True)):
            alive &= c.met[i].present[self.known[:, j]]
        return np.flatnonzero(alive)

    def _broken(self, state: State) -> bool:
        """Ask the data; a breach that is found is learned."""
        shown = [c.met[i].node_of for c, i in zip(self.columns, state, strict=True)]
        cuts = {c.name: Cut(c.taxonomy, n.copy()) for c, n in zip(self.table.keys, shown, strict=True)}
        found = breach(self.promise.board(self.table, cuts, self.guards), self.promise.threat)
        if found is None:
            return False
        values = np.array(found.given, dtype=np.int64)
        values[found.target] = found.node
        for turn in range(len(values)):
            self._learn(self._generalized(values, found.target, turn))
        return True

    def _learn(self, values: Ints) -> None:
        if not (self.known == values).all(axis=1).any():
            self.known = np.vstack([self.known, values])
            self._used = np.append(self._used, sum(1 << j for j, v in enumerate(values.tolist()) if v))

    def _generalized(self, values: Ints, target: int, turn: int) -> Ints:
        """A most general breach above a breach; columns are raised in turns that begin with `turn`."""
        values = values.copy()
        moved = True
        while moved:
            moved = False
            for j in np.roll(np.arange(len(values)), -turn).tolist():
                above = int(self.guards[j].taxonomy.parent[values[j]])
                while above > 0 or (above == 0 and j != target):
                    raised = values.copy()
                    raised[j] = above
                    if (j == target and self.guards[j].seen[above]) or not self._is_breach(raised, target):
                        break
                    values, moved = raised, True
                    above = int(self.guards[j].taxonomy.parent[above])
        return values

    def _is_breach(self, values: Ints, target: int) -> bool:
        given = np.ones(len(self.raw.counts), dtype=bool)
        for j, node in enumerate(values.tolist()):
            if j != target and node:
                given &= _below(self.raw, j, node)
        held = given & _below(self.raw, target, int(values[target]))
        support = int(self.raw.counts[given].sum())
        s = self.guards[target].sensitivity[int(values[target])]
        return support > 0 and Fraction(int(self.raw.counts[held].sum()), support) * s > self.promise.threat

    def _cost(self, state: State) -> int:
        return sum(c.met[i].cost for c, i in zip(self.columns, state, strict=True))

    def _state_of(self, cuts: Cuts | None) -> State:
        roots = {c.name: Cut.root(c.taxonomy) for c in self.table.keys}
        chosen = roots if cuts is None else cuts
        return tuple(
            c.number(np.array(chosen[k.name].node_of))
            for c, k in zip(self.columns, self.table.keys, strict=True)
        )

    def _answer(self, state: State, cost: int, bound: int, looked: int) -> Optimum:
        shown = [c.met[i].node_of for c, i in zip(self.columns, state, strict=True)]
        cuts = {c.name: Cut(c.taxonomy, n.copy()) for c, n in zip(self.table.keys, shown, strict=True)}
        return Optimum(cuts, self.costs.loss(cost), self.costs.loss(bound), looked, len(self.known))


def _below(board: Board, column: int, node: int) -> NDArray[np.bool_]:
    shown = board.nodes[column]
    found: NDArray[np.bool_] = (shown >= node) & (shown < board.guards[column].taxonomy.end[node])
    return found
