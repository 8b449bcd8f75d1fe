"""The second judge of t-closeness: three earth mover's distances, each from a formula of its own.

equal          the sum of what a class has too much of
ordered        the sum of the absolute cumulative differences, over m - 1 for the m values that occur
hierarchical   the mean, over the levels below the root, of the equal distance between a level's values
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData, BrokenPromise
from sfumato.system.verdict import Verdict
from sfumato.verify.cells import greatest, over
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import beyond_shares, second_judge, verdict
from sfumato.verify.tally import Tally
from sfumato.verify.trees import ValueTree

Numbers = NDArray[Any]
"""Whole numbers: 64 bits wide, or Python's own where those might not do."""

WIDE = 2**62
AT_ONCE = 1 << 22
"""Cells of a dense block of classes by values."""


@dataclass(frozen=True, eq=False)
class Heap:
    """The counts of all classes and of what they are compared with, over numbered places."""

    owner: NDArray[np.int64]
    place: NDArray[np.int64]
    count: Numbers
    sizes: Numbers
    target: Numbers
    total: int


@second_judge("t-closeness")
def t_closeness(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class is further than t from the published table, or from the reference."""
    spread = tally.spreads[promise.of]
    if promise.get("values"):
        return _of_values(tally, promise)
    heaps = [_heap(tally, promise, having=False)]
    if tally.whole(promise.of)[spread.meant < 0].any():
        heaps.append(_heap(tally, promise, having=True))
    ratios = [_distances(heap, tally, promise) for heap in heaps]
    above, below = (np.concatenate(parts) for parts in zip(*ratios, strict=True))
    broken = np.any(over(above, below, promise.t).reshape(len(heaps), -1), axis=0)
    worst, measured = greatest(above, below)
    if worst is not None:
        worst %= len(tally.people)
    return verdict(
        promise, tally, np.asarray(broken), measured=measured, limit=Fraction(promise.t), worst=worst
    )


def _distances(heap: Heap, tally: Tally, promise: PromiseData) -> tuple[Numbers, Numbers]:
    """Returns how far each class is from the target, as numerators and denominators."""
    if promise.distance == "equal":
        above, scale = _surplus(heap), 1
    elif promise.distance == "ordered":
        _one_spelling_each(tally, promise.of)
        above, scale = _in_order(heap)
    elif promise.distance == "hierarchical":
        above, scale = _by_level(heap, tally.spreads[promise.of].tree)
    else:
        raise BrokenPromise(f"no second judge for the distance {promise.distance}")
    below = heap.sizes * (scale * heap.total)
    below[below == 0] = 1  # nobody of the class has a value
    return above, below


def _of_values(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no named value is more frequent in a class than in the whole, by more than t."""
    spread = tally.spreads[promise.of]
    counts: dict[int, int] = {}
    if promise.reference is None:
        pairs = zip(spread.meant.tolist(), tally.whole(promise.of).tolist(), strict=True)
    else:
        labels = [label for label, _ in promise.reference]
        named = spread.numbers_of([*promise.values, *labels])[len(promise.values) :]
        pairs = zip(named, (count for _, count in promise.reference), strict=True)
    for number, count in pairs:
        if number >= 0:
            counts[number] = counts.get(number, 0) + count
    everyone = max(1, sum(counts.values()))

    def share(number: int) -> Fraction:
        return Fraction(counts.get(number, 0), everyone)

    limit = Fraction(promise.t)
    broken, worst, measured = beyond_shares(tally, promise, lambda number: limit + share(number), share)
    return verdict(promise, tally, broken, measured=measured, limit=limit, worst=worst)


def _heap(tally: Tally, promise: PromiseData, *, having: bool) -> Heap:
    """Returns what is compared: everybody, or `having` a value alone."""
    spread = tally.spreads[promise.of]
    if having:
        known = spread.meant[spread.value] >= 0
        spread = replace(
            spread, owner=spread.owner[known], value=spread.value[known], count=spread.count[known]
        )
    sizes = np.zeros(len(tally.people), dtype=np.int64)
    np.add.at(sizes, spread.owner, spread.count)
    target, outside = tally.expected(promise.of, promise.reference)
    if having and promise.reference is not None:
        meant = spread.numbers_of([label for label, _ in promise.reference])
        for value, (label, count) in zip(meant, promise.reference, strict=True):
            outside -= count if value < 0 and spread.tree.place(label) is None else 0
    if having:
        target = np.where(spread.meant < 0, 0, target)
    if outside and promise.distance != "equal":
        raise BadData(f"the reference of {promise.of} holds values without a place in its taxonomy")
    total = int(target.sum()) + outside
    # The longest sum below has one term per value and level, each at most a class's people times all people.
    terms = len(target) * (spread.tree.height + 2)
    number = np.int64 if terms * int(sizes.max(initial=1)) * total < WIDE else object
    count, size, aim = (counts.astype(number) for counts in (spread.count, sizes, target))
    return Heap(spread.owner, spread.value, count, size, aim, total)


def _one_spelling_each(tally: Tally, column: str) -> None:
    """Refuses spellings of a value that have places of their own in an order."""
    meant = tally.spreads[column].meant[np.flatnonzero(tally.whole(column))]
    if len(np.unique(meant)) < len(meant):
        raise BadData(f"some texts of {column} are spellings of one value, and its order tells them apart")


def _surplus(heap: Heap) -> Numbers:
    """Returns, per class, the sum over its values of what exceeds the target, times size and total."""
    extra = heap.count * heap.total - heap.target[heap.place] * heap.sizes[heap.owner]
    sums = heap.sizes * 0
    np.add.at(sums, heap.owner, np.maximum(extra, 0))
    return sums


def _in_order(heap: Heap) -> tuple[Numbers, int]:
    """Walks the values that occur, in their order, and carry the difference along."""
    present = heap.target > 0
    present[heap.place] = True
    walk = np.flatnonzero(present)
    position = np.cumsum(present) - 1
    reached = np.cumsum(heap.target[walk])
    sums = heap.sizes * 0
    step = max(1, AT_ONCE // max(1, len(walk)))
    for start in range(0, len(sums), step):
        stop = min(start + step, len(sums))
        entries = slice(*np.searchsorted(heap.owner, (start, stop)).tolist())
        block = np.zeros((stop - start, len(walk)), dtype=heap.count.dtype)
        block[heap.owner[entries] - start, position[heap.place[entries]]] = heap.count[entries]
        carried = np.cumsum(block, axis=1) * heap.total - reached * heap.sizes[start:stop, None]
        sums[start:stop] = abs(carried).sum(axis=1)
    return sums, max(1, len(walk) - 1)


def _by_level(heap: Heap, tree: ValueTree) -> tuple[Numbers, int]:
    """Level by level, from the leaves up: values that are one at that level are counted together."""
    width, sums = len(tree.values), heap.sizes * 0
    for level in tree.groups[:-1]:
        pair, where = np.unique(heap.owner * width + level[heap.place], return_inverse=True)
        count = np.zeros(len(pair), dtype=heap.count.dtype)
        target = np.zeros(width, dtype=heap.count.dtype)
        np.add.at(count, where, heap.count)
        np.add.at(target, level, heap.target)
        owner, place = np.divmod(pair, width)
        sums = sums + _surplus(Heap(owner, place, count, heap.sizes, target, heap.total))
    return sums, max(1, tree.height)
