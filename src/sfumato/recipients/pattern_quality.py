"""Quality classes: allowed patterns that serve their recipients equally well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import WrongCall
from sfumato.protection.patterns.antichain import largest_antichain
from sfumato.protection.patterns.metrics import EXACT
from sfumato.protection.patterns.pattern_table import PatternTable
from sfumato.protection.searches.frontier import ties_up_to

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class QualityClass:
    """Patterns that are allowed and (nearly) equal in a metric, ascending by number.

    `quality` is that of the best member, `worst` that of the worst; they are equal where no tolerance is
    given.
    """

    patterns: PatternTable
    metric: str
    members: Indices

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def quality(self) -> Fraction | float:
        values = self.patterns.metric(self.metric)[self.members]
        return self.patterns.value(self.metric, int(self.members[np.argmin(values)]))

    @cached_property
    def worst(self) -> Fraction | float:
        values = self.patterns.metric(self.metric)[self.members]
        return self.patterns.value(self.metric, int(self.members[np.argmax(values)]))

    def antichain(self) -> Indices:
        """Returns a largest set of members of which none can be made from another; always the same one.

        Of members that show the same of this table, one counts.
        """
        return self._antichain

    @cached_property
    def _antichain(self) -> Indices:
        lines, first = np.unique(self.patterns.ranks[:, self.members].T, axis=0, return_index=True)
        return np.sort(self.members[first[largest_antichain(lines)]])


def quality_classes(
    patterns: PatternTable, metric: str, *, tolerance: Fraction = Fraction(0)
) -> tuple[QualityClass, ...]:
    """Returns the allowed patterns in classes of equal quality, the best first.

    With a tolerance a class reaches from its best member to what is worse by that share; the next class
    begins with the best pattern that is left. Integers are compared exactly, other metrics up to rounding
    (`frontier.TIE_TOLERANCE`).
    """
    if tolerance < 0:
        raise WrongCall("a tolerance is not negative", remedy="0 means equal quality.")
    values = patterns.metric(metric)
    order = np.flatnonzero(patterns.allowed)
    order = order[np.argsort(values[order], kind="stable")]
    ranked, classes, begin = values[order], list[QualityClass](), 0
    while begin < len(order):
        limit = _limit(ranked[begin].item(), tolerance, exact=metric in EXACT)
        end = int(np.searchsorted(ranked, limit, side="right"))
        classes.append(QualityClass(patterns, metric, np.sort(order[begin:end])))
        begin = end
    return tuple(classes)


def best_class(
    patterns: PatternTable, metric: str, *, tolerance: Fraction = Fraction(0)
) -> QualityClass | None:
    """Returns the first of the quality classes; `None` if no pattern is allowed."""
    values = patterns.metric(metric)
    allowed = np.flatnonzero(patterns.allowed)
    if not len(allowed):
        return None
    limit = _limit(values[allowed].min().item(), tolerance, exact=metric in EXACT)
    return QualityClass(patterns, metric, allowed[values[allowed] <= limit])


def _limit(best: float, tolerance: Fraction, *, exact: bool) -> float:
    """Returns the largest value that is within a tolerance of the best."""
    return int(best * (1 + tolerance)) if exact else ties_up_to(best * float(1 + tolerance))


def expected_sizes(columns: Sequence[Sequence[int]]) -> dict[int, int]:
    """Returns how many patterns there are of every quality, before any data are seen.

    `columns` says what each level of each column adds to the metric (`PatternTable.steps`). The sizes are the
    coefficients of the product over the columns of Σ x^step: for Samarati's height Π (1 + x + ... + x^(n-1)).

    >>> expected_sizes([range(2), range(2), range(3)])
    {0: 1, 1: 3, 2: 4, 3: 3, 4: 1}
    """
    sizes = Counter({0: 1})
    for parts in columns:
        longer: Counter[int] = Counter()
        for total, ways in sizes.items():
            for part in parts:
                longer[total + part] += ways
        sizes = longer
    return dict(sorted(sizes.items()))


def expected_capacity(shape: Sequence[int], base: Sequence[int] | None = None) -> int:
    """Returns how many patterns of one height there are at most, all at least as general as `base`.

    PatternTable of one height are an antichain, and no antichain of the lattice is larger: so many recipients
    can be served before any promise is asked.

    >>> expected_capacity((2, 3)), expected_capacity((3, 3)), expected_capacity((2, 2, 3))
    (2, 3, 4)
    """
    least = base or [0] * len(shape)
    return max(expected_sizes([range(n - b) for n, b in zip(shape, least, strict=True)]).values())
