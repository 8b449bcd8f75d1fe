"""A class whose people are counted in fractions: what several tables say together about a position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np

from sfumato.core.classes import Classes, Histogram
from sfumato.core.microdata import Counts
from sfumato.core.taxonomy import Taxonomy

ROOM = 2**62
"""Weights that are scaled to whole numbers stay below this, so that their sums fit 64 bits."""


@dataclass(frozen=True, eq=False)
class WeightedHistogram:
    """How much each value of one column weighs in a class: leaf rank -> weight, all positive.

    `overall[rank]` counts the whole table that the class is part of.
    """

    taxonomy: Taxonomy
    weights: Mapping[int, Fraction]
    overall: Counts

    @property
    def total(self) -> Fraction:
        return sum(self.weights.values(), Fraction(0))

    def by_meaning(self, *, missing: bool) -> WeightedHistogram:
        """Returns the weights of meanings, as `Histogram.by_meaning` counts them."""
        if self.taxonomy.all_apart:
            return self
        meant, weights = self.taxonomy.meanings, dict[int, Fraction]()
        if missing and (meant < 0).any():
            meant = np.where(meant < 0, np.int32(np.argmax(meant < 0)), meant)
        for leaf, weight in self.weights.items():
            place = int(meant[leaf])
            if place >= 0:
                weights[place] = weights.get(place, Fraction(0)) + weight
        overall = np.zeros_like(self.overall)
        np.add.at(overall, meant[meant >= 0], self.overall[meant >= 0])
        return WeightedHistogram(self.taxonomy, weights, overall)

    def in_whole_numbers(self, factor: Fraction | None = None, number: type = object) -> Histogram:
        """Returns a multiple as the histogram of one class, in whole numbers of any size.

        Without a `factor` it is the least multiple that is whole. With `number` 64-bit integers do.
        """
        if factor is None:
            factor = Fraction(lcm(*(w.denominator for w in self.weights.values())))
        held = sorted((v, int(w * factor)) for v, w in self.weights.items())
        return Histogram(
            self.taxonomy,
            np.array([0, len(held)], dtype=np.int64),
            np.array([v for v, _ in held], dtype=np.int32),
            np.array([w for _, w in held], dtype=number),
            self.overall,
        )


@dataclass(frozen=True, eq=False)
class WeightedClass:
    """One class with rational counts: so many people, and the weights of each column that promises read."""

    people: Fraction
    histograms: Mapping[str, WeightedHistogram] = field(default_factory=dict)

    @classmethod
    def of(cls, classes: Classes, index: int) -> WeightedClass:
        """Returns one class of whole counts in this form."""
        return cls(
            Fraction(int(classes.people[index])),
            {
                name: WeightedHistogram(
                    h.taxonomy, {v: Fraction(n) for v, n in h.of_class(index).items()}, h.overall
                )
                for name, h in classes.histograms.items()
            },
        )

    def scaled(self, factor: Fraction) -> WeightedClass:
        """Returns the class with every weight multiplied."""
        return WeightedClass(
            self.people * factor,
            {
                name: WeightedHistogram(h.taxonomy, {v: w * factor for v, w in h.weights.items()}, h.overall)
                for name, h in self.histograms.items()
            },
        )

    def in_whole_numbers(self, *, least: int = 1) -> Classes | None:
        """Returns a multiple of the class, of at least so many people, whose weights are whole numbers;
        `None` where these would not fit 64 bits."""
        parts = [self.people, *(w for h in self.histograms.values() for w in h.weights.values())]
        factor = Fraction(lcm(*(part.denominator for part in parts)))
        if 0 < self.people * factor < least:
            factor *= -(-least // (self.people * factor))
        if max(self.people, *(h.total for h in self.histograms.values()), Fraction(0)) * factor >= ROOM:
            return None
        people = np.array([int(self.people * factor)], dtype=np.int64)
        whole = {name: h.in_whole_numbers(factor, np.int64) for name, h in self.histograms.items()}
        return Classes(people, people, whole)
