"""Key worlds: every way in which the rows of a published table may hold what its key columns hide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod

import numpy as np

from sfumato.attacks.worlds.published_boxes import PublishedBoxes, Republish, publication_of
from sfumato.core.microdata import Codes


@dataclass(frozen=True, eq=False)
class GroupWorld:
    """One way to spread the rows of a group over the leaves of its box.

    `codes` has a row per row of the group; `weight` counts the ways to tell the rows apart; `parts[j]` counts
    the rows by the finer value they have in key column j.
    """

    weight: int
    codes: Codes
    parts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class KeyWorlds:
    """All worlds of a published table: each row holds any leaves of its box, all equally likely."""

    boxes: PublishedBoxes

    @cached_property
    def count(self) -> int:
        """How many different worlds there are; rows of a group are not told apart."""
        rows, leaves = self.boxes.counts.tolist(), self._leaves
        return prod(comb(m + n - 1, n) for n, m in zip(rows, leaves, strict=True))

    @cached_property
    def _leaves(self) -> list[int]:
        """How many combinations of leaves the box of every group has."""
        widths = (self.boxes.high - self.boxes.low).tolist()
        return [prod(widths[c]) for c in self.boxes.owner.tolist()]

    def __iter__(self) -> Iterator[tuple[GroupWorld, ...]]:
        """Yields the worlds: one way for every group."""
        return product(*(list(self._of_group(g)) for g in range(len(self.boxes.owner))))

    def _of_group(self, g: int) -> Iterator[GroupWorld]:
        boxes, c, rows = self.boxes, int(self.boxes.owner[g]), int(self.boxes.counts[g])
        ends = zip(boxes.low[c].tolist(), boxes.high[c].tolist(), strict=True)
        leaves = np.array(list(product(*(range(a, b) for a, b in ends))), np.int32)
        parts = [boxes.parts(c, j)[leaves[:, j] - boxes.low[c, j]] for j in range(len(boxes.keys))]
        kinds = [int(column.max(initial=0)) + 1 for column in parts]
        for chosen in combinations_with_replacement(range(len(leaves)), rows):
            weight = factorial(rows) // prod(map(factorial, Counter(chosen).values()))
            which = list(chosen)
            shares = (np.bincount(p[which], minlength=n).tolist() for p, n in zip(parts, kinds, strict=True))
            yield GroupWorld(weight, leaves[which], tuple(map(tuple, shares)))


@dataclass(frozen=True, eq=False)
class Guess:
    """What is known of the finer value of a row of one class in one key column.

    `chance` is how often the best guess is right, `share` the part of the class that has one finer value in
    every world, whichever it is.
    """

    chance: Fraction
    share: Fraction


class Weighed:
    """Worlds that were weighed: how many rows of each class have which finer value, summed over worlds."""

    def __init__(self, boxes: PublishedBoxes) -> None:
        self._boxes = boxes
        self.weight = 0
        self._sums: dict[tuple[int, int], list[int]] = {}
        self._least: dict[tuple[int, int], int] = {}

    def add(self, world: tuple[GroupWorld, ...]) -> None:
        """Counts one more world."""
        weight = prod(group.weight for group in world)
        self.weight += weight
        here: dict[tuple[int, int], list[int]] = {}
        for c, group in zip(self._boxes.owner.tolist(), world, strict=True):
            for j, part in enumerate(group.parts):
                before = here.get((c, j))
                here[c, j] = (
                    list(part) if before is None else [a + b for a, b in zip(before, part, strict=True)]
                )
        for place, rows_with in here.items():
            most = max(rows_with)
            self._least[place] = min(most, self._least.get(place, most))
            sums = self._sums.setdefault(place, [0] * len(rows_with))
            for i, rows in enumerate(rows_with):
                sums[i] += weight * rows

    def guess(self, c: int, j: int) -> Guess:
        """Returns what these worlds tell of class c in key column j."""
        rows = int(self._boxes.sizes[c])
        return Guess(Fraction(max(self._sums[c, j]), self.weight * rows), Fraction(self._least[c, j], rows))


def weigh(worlds: KeyWorlds, republish: Republish) -> tuple[Weighed, Weighed]:
    """Weighs all worlds, and those alone in which the search would have published the same table."""
    boxes = worlds.boxes
    every, same, published = Weighed(boxes), Weighed(boxes), boxes.publication
    held = np.repeat(boxes.held, boxes.counts, axis=0)
    for world in worlds:
        every.add(world)
        codes = np.concatenate([group.codes for group in world])
        recoding = republish(boxes.table(list(codes.T), held))
        if recoding is not None and publication_of(recoding, len(boxes.keys)) == published:
            same.add(world)
    return every, same
