"""Swaps of people into the targets of a chain: worlds that give the same counts as the true one.

Whoever holds the data knows one world. Two people with the same matching value may pass on what a release
shows of them, as long as each remains on one path through every tree; every count is then as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.detail import by_cut, last_finer_release
from sfumato.chains.history import History
from sfumato.chains.overlap import Cells
from sfumato.core.chain import Chain, positions
from sfumato.core.microdata import Codes, Counts
from sfumato.core.packing import Packing, sort_and_count
from sfumato.kernels.chains.swaps import first_short, paths_between

MOST_PEOPLE_TRIED = 100_000
"""People that are looked at for one target and value."""
MOST_PAIRS_OF_LABELS = 1 << 24
"""Pairs of labels, up to which it is worked out beforehand which are on one path: a byte each."""


@dataclass(frozen=True, eq=False)
class SwapTargets:
    """Targets of several times: a node per key column, the refined bound, and the people who are there.

    Target i is number `cells[i]` among those of its time. Its entries e, `begin[i] <= e < begin[i + 1]`,
    say that at most `bound[e]` people with the matching value `values[e]` can be there.
    """

    times: Codes
    cells: Codes
    nodes: Codes
    most: Counts
    there: Counts
    begin: NDArray[np.int64]
    values: Codes
    bound: Counts

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def of(cls, cells: Cells, there: Counts) -> SwapTargets:
        table, times = cells.table, cells.times
        number = (np.arange(len(times)) - np.searchsorted(times, times)).astype(np.int32)
        return cls(
            times, number, table.nodes, cells.candidates, there, table.start, table.values, table.counts
        )

    @classmethod
    def together(cls, parts: Sequence[SwapTargets]) -> SwapTargets:
        ends = np.cumsum([0, *(len(p.values) for p in parts)])
        begins = [p.begin[:-1] + end for p, end in zip(parts, ends[:-1], strict=True)]
        return cls(
            np.concatenate([p.times for p in parts]),
            np.concatenate([p.cells for p in parts]),
            np.concatenate([p.nodes for p in parts]),
            np.concatenate([p.most for p in parts]),
            np.concatenate([p.there for p in parts]),
            np.concatenate([*begins, ends[-1:]]),
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.bound for p in parts]),
        )

    def pick(self, which: NDArray[np.intp]) -> SwapTargets:
        lengths = np.diff(self.begin)[which]
        begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.repeat(self.begin[:-1][which] - begin[:-1], lengths) + np.arange(begin[-1])
        return SwapTargets(
            self.times[which],
            self.cells[which],
            self.nodes[which],
            self.most[which],
            self.there[which],
            begin,
            self.values[entries],
            self.bound[entries],
        )


@dataclass(frozen=True, eq=False)
class _CutLabels:
    """What releases with the same cuts show of everybody: one number, the label, per distinct row of nodes.

    `packed` and `nodes` say what a number stands for, `of_person` gives everybody's; `order` sorts people by
    number and value, `keys` are these sorted; whoever is in none of the releases comes last.
    """

    packed: NDArray[np.int64]
    nodes: Codes
    of_person: Codes
    order: Codes
    keys: NDArray[np.int64]


class Swaps:
    """Tries to swap people into targets, chain after chain of the same history."""

    def __init__(self, history: History, k: int) -> None:
        self.history = history
        self.k = k
        self._codes = [history.table.codes(c.name) for c in history.table.keys]
        self._known: dict[tuple[bytes, int, int], _CutLabels] = {}

    def short(self, chain: Chain, targets: SwapTargets, wanted: int) -> list[int]:
        """The targets that fewer people than wanted were swapped into."""
        return list(self.each_short(chain, targets, wanted))

    def each_short(self, chain: Chain, targets: SwapTargets, wanted: int) -> Iterator[int]:
        """One by one the targets that fewer people than wanted were swapped into; more may fit."""
        if not len(targets):
            return
        people = self._people(len(chain))
        groups = by_cut(chain.releases)
        labels = [self._labels(chain, releases, people) for releases in groups]
        first, since = _places(chain, groups)
        leaves = [t.low[n] for t, n in zip(chain.trees, targets.nodes.T, strict=True)]
        shown = []
        for releases, one in zip(groups, labels, strict=True):
            cut = chain.releases[releases[0]].node_of
            shown.append(_numbers(chain, one.packed, [n[x] for n, x in zip(cut, leaves, strict=True)]))
        value = self.history.value[people].astype(np.int32)
        begins = np.searchsorted(value, np.arange(self.history.values + 1))
        given = (
            np.stack(shown) if leaves else np.zeros((len(groups), len(targets)), np.int32),
            targets.times,
            targets.there,
            np.full(len(targets), wanted, np.int64),
            (targets.begin, targets.values, targets.bound),
            (
                np.stack([one.of_person for one in labels]),
                self.history.time[people].astype(np.int32),
                first,
                since,
            ),
            _shape(chain, labels),
            (np.stack([one.order for one in labels]), np.stack([one.keys for one in labels])),
            begins,
        )
        i = -1
        while (i := first_short(i + 1, *given, MOST_PEOPLE_TRIED)) < len(targets):
            yield i

    def _people(self, releases: int) -> Codes:
        """One entry per person who came with one of the first releases, by value and time; k are enough of
        each kind."""
        history = self.history
        wanted = np.where(history.time < releases, np.minimum(history.table.counts, self.k), 0)
        order = np.lexsort((history.time, history.value)).astype(np.int32)
        return np.repeat(order, wanted[order])

    def _labels(self, chain: Chain, releases: list[int], people: Codes) -> _CutLabels:
        cut = chain.releases[releases[0]].node_of
        key = (b"".join(c.tobytes() for c in cut), releases[-1], len(chain))
        if key not in self._known:
            columns = [n[x] for n, x in zip(cut, self._codes, strict=True)]
            packing = Packing(tuple(len(t.labels) for t in chain.trees))
            if columns:
                packed = packing.pack(columns)
                distinct, _ = sort_and_count(packed.copy())
                number = positions(distinct, packed)[people]
                nodes = np.stack([packing.unpack(distinct, j) for j in range(len(columns))], 1)
            else:
                distinct, nodes = np.zeros((1, 1), np.int64), np.zeros((1, 0), np.int32)
                number = np.zeros(len(people), np.int32)
            keys = number.astype(np.int64) * self.history.values + self.history.value[people]
            keys[self.history.time[people] > releases[-1]] = np.iinfo(np.int64).max
            order = np.argsort(keys, kind="stable").astype(np.int32)
            self._known[key] = _CutLabels(distinct, nodes, number.astype(np.int32), order, keys[order])
        return self._known[key]


def _numbers(chain: Chain, packed: NDArray[np.int64], columns: list[Codes]) -> Codes:
    """The number of every row of nodes; -1 where nobody is."""
    if not columns:
        return np.zeros(0, np.int32)
    return positions(packed, Packing(tuple(len(t.labels) for t in chain.trees)).pack(columns)).astype(
        np.int32
    )


def _shape(chain: Chain, labels: list[_CutLabels]) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    """The nodes behind every number, column by column, the end of every node by attribute, and which numbers
    are on one path, unless these are too many pairs."""
    width = max(1, len(chain.trees))
    nodes = np.zeros((len(labels), max(len(one.nodes) for one in labels), width), np.int32)
    for c, one in enumerate(labels):
        nodes[c, : len(one.nodes), : len(chain.trees)] = one.nodes
    end = np.ones((width, max((len(t.labels) for t in chain.trees), default=1)), np.int32)
    for j, tree in enumerate(chain.trees):
        end[j, : len(tree.labels)] = tree.end
    if (nodes.shape[0] * nodes.shape[1]) ** 2 > MOST_PAIRS_OF_LABELS:
        return nodes, end, np.zeros((0, 0, 0, 0), np.bool_)
    return nodes, end, paths_between(nodes, end)


def _places(chain: Chain, groups: list[list[int]]) -> tuple[Codes, Codes]:
    """By cut and time: the first release from then on that has the cut, and the first time of which that is
    so; -1 where that release shows nothing new of people of that time."""
    finer = last_finer_release(chain)
    first = np.full((len(groups), len(chain)), -1, np.int32)
    since = np.zeros((len(groups), len(chain)), np.int32)
    for c, releases in enumerate(groups):
        for j in releases:
            first[c, finer[j] + 1 : j + 1], since[c, finer[j] + 1 : j + 1] = j, finer[j] + 1
    return first, since
