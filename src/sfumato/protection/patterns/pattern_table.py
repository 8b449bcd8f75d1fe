"""The table of all patterns of some key columns: levels, class sizes, suppressed rows, quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.core.cut import Cut
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Counts, Microdata
from sfumato.core.promise import Promises, Truth
from sfumato.protection.patterns.figures import PatternFigures
from sfumato.protection.patterns.metrics import EXACT, METRICS, MetricInput, Numbers, steps
from sfumato.protection.searches.frontier import levels_at
from sfumato.protection.searches.search import Aim


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Every pattern of a table, judged under promises; arrays hold one entry per pattern.

    Patterns are numbered with the last key column fastest. `allowed` are those that keep every promise within
    the suppression limit. `figures` and metrics of an allowed pattern are those of what would be published;
    of the others only the promises about class sizes were asked.

    `quality` names the metric by which versions are to be equally good, up to `tolerance`.
    """

    table: Microdata
    promises: Promises
    aim: Aim
    figures: PatternFigures
    allowed: Truth
    quality: str = "loss"
    tolerance: Fraction = Fraction(0)
    _metrics: dict[str, Numbers] = field(default_factory=dict, repr=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The key columns."""
        return tuple(c.name for c in self.table.keys)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many levels each key column has."""
        return shape_of(self.table)

    @property
    def count(self) -> int:
        """F, the number of patterns."""
        return prod(self.shape)

    @property
    def k(self) -> Counts:
        """The size of the smallest class, before suppression."""
        return self.figures.k

    @property
    def smallest(self) -> Counts:
        """The size of the smallest class that is published; 0 where none is."""
        return self.figures.smallest

    @property
    def classes(self) -> Counts:
        """The number of classes, before suppression."""
        return self.figures.classes

    @cached_property
    def suppressed(self) -> Counts:
        """The rows of the source that are not published, per pattern."""
        return np.asarray(self.figures.suppressed + self.table.dropped)

    def levels(self, index: int) -> tuple[int, ...]:
        """Returns the pattern with this number."""
        return levels_at(int(index), self.shape)

    def index(self, levels: Sequence[int]) -> int:
        """Returns the number of a pattern."""
        at = 0
        if len(levels) != len(self.shape):
            raise WrongCall(f"a pattern has {len(self.shape)} levels, one per key column")
        for name, level, size in zip(self.names, levels, self.shape, strict=True):
            if not 0 <= level < size:
                raise WrongCall(f"{name} has the levels 0 to {size - 1}")
            at = at * size + level
        return at

    @cached_property
    def grid(self) -> NDArray[np.int16]:
        """The level of every pattern, one line per key column."""
        lines = np.indices(self.shape, dtype=np.int16)
        return lines.reshape(len(self.shape), self.count)

    @cached_property
    def ranks(self) -> NDArray[np.int16]:
        """The same as `grid`, levels numbered anew: those that show the same of this table count once.

        One pattern can be made from another iff its ranks are nowhere smaller.
        """
        lines = []
        for column, levels in zip(self.table.keys, self.grid, strict=True):
            shown = column.taxonomy.levels[:, np.unique(self.table.codes(column.name))]
            new = np.any(shown[1:] != shown[:-1], axis=1)
            lines.append(np.concatenate(([0], np.cumsum(new))).astype(np.int16)[levels])
        return np.array(lines, np.int16).reshape(self.grid.shape)

    def cuts(self, index: int) -> dict[str, Cut]:
        """Returns what each key column becomes under a pattern."""
        pairs = zip(self.table.keys, self.levels(index), strict=True)
        return {c.name: Cut.level(c.taxonomy, level) for c, level in pairs}

    def metric(self, name: str) -> Numbers:
        """Returns the quality of every pattern, smaller is better; exact ones are integers (see `scale`)."""
        if name not in METRICS:
            raise WrongCall(f"patterns have no metric '{name}'", remedy=f"Known: {', '.join(METRICS)}.")
        if name not in self._metrics:
            values = METRICS[name](MetricInput(self.table, self.aim.weights, self.grid, self.figures))
            values.setflags(write=False)
            self._metrics[name] = values
        return self._metrics[name]

    def scale(self, name: str) -> int:
        """Returns what the integers of an exact metric are to be divided by."""
        return self.steps(name)[1] if name in ("height", "precision") else 1

    def steps(self, name: str) -> tuple[list[list[int]], int]:
        """Returns what each level of each column adds to `height` or `precision`, and the scale."""
        weights = [Fraction(self.aim.weights.get(name, 1)) for name in self.names]
        return steps(name, [size - 1 for size in self.shape], weights)

    def value(self, name: str, index: int) -> Fraction | float:
        """Returns the quality of one pattern."""
        value = self.metric(name)[index].item()
        return Fraction(value, self.scale(name)) if name in EXACT else float(value)

    def named(self, index: int) -> Mapping[str, int]:
        """Returns the levels of a pattern by column."""
        return dict(zip(self.names, self.levels(index), strict=True))


def shape_of(table: Microdata) -> tuple[int, ...]:
    """Returns how many levels each key column has."""
    return tuple(c.taxonomy.height + 1 for c in table.keys)
