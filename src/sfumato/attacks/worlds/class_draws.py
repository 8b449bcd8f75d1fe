"""Class draws: worlds of one class at a time, drawn at random, where all worlds are too many to list.

A class that was recoded by itself could not be divided further. A node (or a level) of a global recoding
could not be replaced by its children because some class that shows it would have broken a promise. Either is
a fact about few rows, so worlds of these rows alone are drawn, and those are kept in which the search stops
where it did. What larger pieces of the table tell beyond that is left out: the adversary found here knows too
little rather than too much.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.worlds.known_search import KnownSearch
from sfumato.attacks.worlds.published_boxes import PublishedBoxes
from sfumato.core.microdata import Codes, Microdata
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy

Weights = dict[str, NDArray[np.float64]]
"""By key column: how common every leaf is among people at large."""

MOST_TOGETHER = 8
"""A node that more classes show tells next to nothing of any one of them, and nothing is drawn for it."""

LEAST_KEPT = 8
"""With fewer worlds that were kept, nothing is concluded from them."""


@dataclass(frozen=True, eq=False)
class ClassWorlds:
    """Draws worlds of single classes, leaves as common as `weights` says."""

    boxes: PublishedBoxes
    known: KnownSearch
    weights: Weights
    made: Counter[str] = field(default_factory=Counter)

    @property
    def searches(self) -> int:
        """How often the search was run."""
        return self.made["searches"]

    def _republish(self, table: Microdata) -> Recoding | None:
        self.made["searches"] += 1
        return self.known.republish(table)

    @property
    def recodes_locally(self) -> bool:
        """Whether classes are recoded one by one."""
        return self.known.recodes_locally

    def kept(self, c: int, j: int, draws: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """Returns the finer values of the rows of class c in key column j: of all draws, and of those kept.

        There is a row per world and a column per row of the class. Classes that are recoded by themselves are
        drawn once for all columns; in each a world is kept that leaves the class whole and shows the same.
        """
        if self.recodes_locally:
            codes, same = self._local(c, draws, rng)
            worlds, keep = codes[:, :, j], same[:, j]
        else:
            pairs = [self._with_node(c, j, rng) for _ in range(draws)]
            worlds = np.array([codes[:, j] for codes, _ in pairs], np.int32).reshape(len(pairs), -1)
            keep = np.array([held for _, held in pairs], bool)
        finer = self.boxes.parts(c, j)[worlds - self.boxes.low[c, j]].astype(np.int32)
        return finer, finer[keep]

    def drawn_only(self, c: int, j: int, draws: int, rng: np.random.Generator) -> Codes:
        """Returns the finer values of the rows of class c in worlds of which the search is not asked."""
        worlds = np.stack([self.draw(c, rng)[:, j] for _ in range(draws)])
        finer: Codes = self.boxes.parts(c, j)[worlds - self.boxes.low[c, j]].astype(np.int32)
        return finer

    def draw(self, c: int, rng: np.random.Generator) -> Codes:
        """Returns leaf ranks for every row of class c, independent and as common as at large."""
        boxes, rows = self.boxes, int(self.boxes.sizes[c])
        codes = np.zeros((rows, len(boxes.keys)), np.int32)
        for j in range(len(boxes.keys)):
            low, high = int(boxes.low[c, j]), int(boxes.high[c, j])
            chance = self._common(j)[low:high]
            codes[:, j] = low + rng.choice(high - low, rows, p=chance / chance.sum())
        return codes

    def stays(self, c: int, codes: Codes, held: Codes) -> bool:
        """Whether the search, given these rows alone, would have published them as it did."""
        boxes = self.boxes
        recoding = self._republish(boxes.table(list(codes.T), held))
        if recoding is None or recoding.count != 1 or recoding.suppressed:
            return False
        return bool(
            np.array_equal(recoding.low[0], boxes.low[c]) and np.array_equal(recoding.high[0], boxes.high[c])
        )

    def divides(self, c: int, j: int, codes: Codes, held: Codes) -> bool:
        """Whether class c alone would let key column j be one step finer."""
        boxes, parts = self.boxes, self.boxes.parts(c, j)
        tree = Taxonomy.flat([str(i) for i in range(int(parts.max(initial=0)) + 1)])
        key = replace(boxes.keys[j], taxonomy=tree)
        table = Microdata.of_codes([key, *boxes.values], [parts[codes - boxes.low[c, j]], *held.T])
        recoding = self._republish(table)
        if recoding is None or recoding.suppressed:
            return False
        return bool(np.any(recoding.high - recoding.low < len(tree.leaves)))

    def finer_together(self, c: int, j: int) -> NDArray[np.intp]:
        """Returns the classes that would all be finer in key column j, were class c to be: those that show
        the same, or all, where a column moves by levels."""
        low, high = self.boxes.low[:, j], self.boxes.high[:, j]
        return np.flatnonzero(((low == low[c]) & (high == high[c])) | self.known.by_level)

    def commonest(self, c: int, j: int) -> Fraction:
        """Returns the chance of the commonest finer value of class c in key column j, whatever the search."""
        low, high = int(self.boxes.low[c, j]), int(self.boxes.high[c, j])
        mass = np.bincount(self.boxes.parts(c, j), self._common(j)[low:high])
        return Fraction(float(mass.max() / mass.sum())).limit_denominator(10**6)

    def _common(self, j: int) -> NDArray[np.float64]:
        """Returns how common every leaf of a key column is; a leaf that nobody has is one in a million."""
        column = self.boxes.keys[j]
        given = self.weights.get(column.name, np.ones(len(column.taxonomy.leaves)))
        found: NDArray[np.float64] = np.maximum(given, given.sum() / 1e6)
        return found

    def _local(self, c: int, draws: int, rng: np.random.Generator) -> tuple[Codes, NDArray[np.bool_]]:
        """Returns drawn worlds of class c, and per column whether the search would have shown the same."""
        if c not in self._worlds:
            boxes, held = self.boxes, self.boxes.values_of(c)
            codes = np.stack([self.draw(c, rng) for _ in range(draws)])
            same = np.zeros((draws, len(boxes.keys)), bool)
            for i, drawn in enumerate(codes):
                recoding = self._republish(boxes.table(list(drawn.T), held))
                if recoding is not None and recoding.count == 1 and not recoding.suppressed:
                    same[i] = (recoding.low[0] == boxes.low[c]) & (recoding.high[0] == boxes.high[c])
            self._worlds[c] = codes, same
        return self._worlds[c]

    @cached_property
    def _worlds(self) -> dict[int, tuple[Codes, NDArray[np.bool_]]]:
        return {}

    def _with_node(self, c: int, j: int, rng: np.random.Generator) -> tuple[Codes, bool]:
        """Draws all classes with the node: at least one of them must have kept it from being divided."""
        drawn, kept = np.zeros((0, 0), np.int32), False
        for other in self.finer_together(c, j).tolist():
            codes = self.draw(other, rng)
            drawn = codes if other == c else drawn
            kept = kept or not self.divides(other, j, codes[:, j], self.boxes.values_of(other))
        return drawn, kept


def error_of(samples: int) -> Fraction:
    """Returns how far a mean of so many numbers between 0 and 1 may be off, 19 times in 20 (Hoeffding).

    >>> error_of(200)
    Fraction(97, 1000)
    """
    if samples < 1:
        return Fraction(1)
    thousandths = isqrt(1_844_440 // samples) + 1  # ln(40) / 2 = 1.84444 in millionths
    return min(Fraction(1), Fraction(thousandths, 1000))
