"""Whether everybody keeps k candidates, exactly: what the refined bound leaves open.

For every target the truth lies between two numbers: the people who are in it (whoever holds the data knows
them, and the truth is a world like any other) and the refined bound. Where k lies between, more people are
swapped into the target, world after world with the same counts; where that does not reach k, the integer
program says how many there can be. What remains open after that is said to be open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.declare.history import History
from sfumato.declare.meeting import Cells, Meeting
from sfumato.declare.worlds import Worlds
from sfumato.kernels.swapping import swapped_in
from sfumato.terms.chain import Chain, Side, place
from sfumato.terms.errors import WrongCall
from sfumato.terms.microdata import Codes, Counts
from sfumato.terms.packing import Packing, sort_and_count

PATIENCE = 100_000
"""So many people are looked at for one target and value."""
PROGRAMS = 300
"""So many targets are solved by the integer program."""


@dataclass(frozen=True)
class Certainty:
    """Targets of a chain with fewer than k candidates, and those that were not decided; not all of them are
    counted, since one is enough."""

    few: int
    open: int

    @property
    def holds(self) -> bool | None:
        """`None`: nobody is known to have too few, but not everybody is known to have enough."""
        return False if self.few else None if self.open else True


def decide(history: History, side: Side, k: int) -> Certainty:
    """Whether every target of the earlier releases and this one together keeps at least k candidates."""
    chain = Chain(tuple(c.taxonomy for c in history.table.keys), (*history.sides, side), history.values)
    meeting, binding = Meeting(chain), _binding(chain)
    few, doubtful = 0, []
    for time in range(binding, len(chain)):
        left = meeting.cells(time).left
        few += int(((left > 0) & (left < k)).sum())
    chain = replace(chain, releases=chain.releases[:binding])
    meeting = Meeting(chain)
    for time in range(len(chain)):
        cells = meeting.cells(time)
        there = _people_in(history, cells, time)
        known = (cells.left < k) & (there > 0)
        few += int(known.sum())
        unsure = np.flatnonzero((cells.left > 0) & (there < k) & ~known)
        if len(unsure):
            doubtful.append(_Doubtful(time, cells.side.nodes[unsure], cells.left[unsure], there[unsure]))
    if len(chain) < 3:
        return Certainty(few + sum(int((d.most < k).sum()) for d in doubtful), 0)
    if few or not doubtful:
        return Certainty(few, 0)
    return _settled(chain, doubtful, _reached(history, chain, doubtful, k), k)


def _binding(chain: Chain) -> int:
    """How many releases bind the people of their time; those at the end that are coarser do not.

    If a release is coarser than the one before, every class of that one is within one of its classes: whoever
    was there before is where they have to be, so it tells nothing new of them, and exactly how many newcomers
    each of its groups holds.
    """
    count = len(chain)
    while count > 1 and all(
        np.all(tree.depth[b] <= tree.depth[a])
        for tree, a, b in zip(
            chain.trees, chain.releases[count - 2].node_of, chain.releases[count - 1].node_of, strict=True
        )
    ):
        count -= 1
    return count


@dataclass(frozen=True, eq=False)
class _Doubtful:
    """Targets of one time: a node per key column, the refined bound, and the people who are there."""

    time: int
    nodes: Codes
    most: Counts
    there: Counts


def _people_in(history: History, cells: Cells, time: int) -> Counts:
    """How many people of this time are in each cell."""
    table, side = history.table, cells.side
    here = np.flatnonzero(history.time == time)
    found = np.zeros(len(side), np.int64)
    sizes = tuple(len(c.taxonomy.labels) for c in table.keys)
    if not sizes:
        found[:] = table.counts[here].sum()
        return found
    packing = Packing(sizes)
    pairs = zip(table.keys, side.node_of, strict=True)
    shown = packing.pack([cut[table.codes(c.name)[here]] for c, cut in pairs])
    known = packing.pack(list(side.nodes.T))
    order = np.lexsort(known[::-1])
    spot = place(known[:, order], shown)
    np.add.at(found, order[spot[spot >= 0]], table.counts[here][spot >= 0])
    return found


def _reached(history: History, chain: Chain, doubtful: list[_Doubtful], k: int) -> list[Counts]:
    """How many people can be swapped into every target, up to k."""
    groups = _by_cut(chain)
    table, now = history.table, len(chain)
    wanted = np.where(history.time < now, np.minimum(table.counts, k), 0)
    copies = np.repeat(np.arange(table.distinct, dtype=np.int32), wanted)
    first = np.full((len(groups), now), -1, np.int32)
    for c, releases in enumerate(groups):
        for t in range(now):
            first[c, t] = next((j for j in releases if j >= t), -1)
    codes = [table.codes(c.name) for c in table.keys]
    shown = [[t.low[n] for t, n in zip(chain.trees, d.nodes.T, strict=True)] for d in doubtful]
    leaves = [np.concatenate([one[j] for one in shown]) for j in range(len(codes))]
    total = sum(len(d.most) for d in doubtful)
    labels, targets, nodes = [], [], []
    for releases in groups:
        cut = chain.releases[releases[0]].node_of
        every = [np.concatenate([n[x], n[y]]) for n, x, y in zip(cut, codes, leaves, strict=True)]
        ids, distinct = _numbered(chain, every, table.distinct + total)
        labels.append(ids[: table.distinct][copies])
        targets.append(ids[table.distinct :])
        nodes.append(distinct)
    widest = max(len(n) for n in nodes)
    shape = np.zeros((len(groups), widest, max(1, len(codes))), np.int32)
    for c, distinct in enumerate(nodes):
        shape[c, : len(distinct), : len(codes)] = distinct
    end = np.ones((max(1, len(codes)), max((len(t.labels) for t in chain.trees), default=1)), np.int32)
    for j, tree in enumerate(chain.trees):
        end[j, : len(tree.labels)] = tree.end
    carried, time = np.stack(labels).astype(np.int32), history.time[copies].astype(np.int32)
    value = history.value[copies].astype(np.int32)
    width = int(value.max(initial=0)) + 1
    keys = carried.astype(np.int64) * width + value
    keys[first[:, time] < 0] = np.iinfo(np.int64).max
    order = np.argsort(keys, axis=1, kind="stable").astype(np.int32)
    alike = np.argsort(value, kind="stable").astype(np.int32)
    found: Counts = swapped_in(
        np.stack(targets).astype(np.int32),
        np.concatenate([np.full(len(d.most), d.time, np.int32) for d in doubtful]),
        np.concatenate([d.there for d in doubtful]),
        (carried, time, first),
        (shape, end),
        (order, np.take_along_axis(keys, order, axis=1)),
        (value, alike, np.searchsorted(value[alike], np.arange(width + 1))),
        k,
        PATIENCE,
    )
    return np.split(found, np.cumsum([len(d.most) for d in doubtful])[:-1])


def _by_cut(chain: Chain) -> list[list[int]]:
    """The releases with the same cuts; the last release's come last."""
    found: dict[bytes, list[int]] = {}
    for i, side in reversed(list(enumerate(chain.releases))):
        found.setdefault(b"".join(cut.tobytes() for cut in side.node_of), []).insert(0, i)
    return list(reversed(found.values()))


def _numbered(chain: Chain, columns: list[Codes], rows: int) -> tuple[NDArray[np.integer], Codes]:
    """One number per distinct row of nodes, and these rows."""
    if not columns:
        return np.zeros(rows, np.int32), np.zeros((1, 0), np.int32)
    packing = Packing(tuple(len(t.labels) for t in chain.trees))
    packed = packing.pack(columns)
    distinct, _ = sort_and_count(packed.copy())
    return place(distinct, packed), np.stack([packing.unpack(distinct, j) for j in range(len(columns))], 1)


def _settled(chain: Chain, doubtful: list[_Doubtful], reached: list[Counts], k: int) -> Certainty:
    """What swaps left open, by the integer program."""
    few, left = 0, []
    for d, found in zip(doubtful, reached, strict=True):
        broken = (found > 0) & (d.most < k)
        few += int(broken.sum())
        left += [(d.time, nodes) for nodes in d.nodes[(found < k) & ~broken]]
    if few or not left or len(left) > PROGRAMS:
        return Certainty(few, 0 if few else len(left))
    try:
        worlds = Worlds(Meeting(chain, every=True))
    except WrongCall:
        return Certainty(0, len(left))
    numbers = [_class_numbers(chain, side) for side in chain.releases]
    for time, nodes in left:
        leaf = [int(t.low[v]) for t, v in zip(chain.trees, nodes.tolist(), strict=True)]
        classes = []
        for side, number in zip(chain.releases[time:], numbers[time:], strict=True):
            shown = tuple(int(cut[x]) for cut, x in zip(side.node_of, leaf, strict=True))
            classes.append(number[shown])
        exact = worlds.left((time, tuple(classes)))
        if exact is None or 0 < exact < k:  # one is enough to say no
            return Certainty(int(exact is not None), int(exact is None))
    return Certainty(0, 0)


def _class_numbers(chain: Chain, side: Side) -> dict[tuple[int, ...], int]:
    """Nodes -> class."""
    del chain
    return {tuple(nodes): i for i, nodes in enumerate(side.nodes.tolist())}
