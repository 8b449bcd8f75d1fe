"""Assignment: a version of its own for every recipient, all of one quality, and safe from each other.

Among the allowed patterns that lose no more than a tolerance above the best, a family is looked for of which
no few members build another (`frame_proofness`) and, where the policy asks for it, keep every promise when
they are put together (`pooling`): see `families`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from sfumato.core.promise import Cuts
from sfumato.policy.recipients import RecipientRule
from sfumato.protection.loss import measure
from sfumato.protection.patterns.patterns import Patterns
from sfumato.protection.patterns.quality import best_class
from sfumato.protection.recipients.families import EarlierVersion, Families, Indices
from sfumato.protection.searches.frontier import ties_up_to
from sfumato.protection.suppression import recoded

__all__ = ["AvailableVersions", "EarlierVersion", "PlannedVersion"]

TOLERANCE_STEPS = tuple(
    Fraction(p, 100) for p in (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 200, 500, 1000)
)
"""Tolerances whose patterns are searched by themselves; between them the family before is extended."""

LEVEL_MEASURES = ("height", "precision", "sweeney")
"""Measures that only patterns have: other cuts cannot be measured by them."""


@dataclass(frozen=True, eq=False)
class PlannedVersion:
    """A version that a recipient may get; `index` is the number of the pattern, where it is one."""

    cuts: Cuts
    quality: Fraction | float
    index: int | None = None


class AvailableVersions:
    """The versions of one table that can be handed out beside those that were handed out before."""

    def __init__(
        self, patterns: Patterns, rule: RecipientRule, metric: str, *, held: Sequence[EarlierVersion] = ()
    ) -> None:
        self.patterns, self.rule, self.metric = patterns, rule, metric
        self.held = tuple(held)
        self.families = Families(patterns, rule, held)
        self.shown = self.families.shown

    def most(self, tolerance: Fraction | None = None) -> int:
        """Returns how many further recipients patterns serve within a tolerance (else the policy's)."""
        return len(self.family(tolerance))

    def family(self, tolerance: Fraction | None = None) -> Indices:
        """Returns patterns that can be handed out together, the best first; always the same ones.

        A wider tolerance never has fewer.
        """
        asked = self.rule.tolerance if tolerance is None else tolerance
        narrower = (
            [] if self.families.exact else [len(self._window(t)) for t in TOLERANCE_STEPS if t <= asked]
        )
        return self._best_first(self.families.largest(self._window(asked), narrower))

    def choose(self, count: int) -> list[PlannedVersion]:
        """Returns versions for so many new recipients, or as many as there are."""
        return [self._version(i) for i in self.family()[:count].tolist()]

    def first_fit(
        self,
        owner: str,
        accept: Callable[[Cuts], bool],
        *,
        within: Fraction | None = None,
        beside_earlier: bool = False,
    ) -> PlannedVersion | None:
        """Returns the best version for somebody beside all that is held; `None` if there is none.

        `accept` has the last word; with `beside_earlier` it judges coalitions, too, since what is held was
        made from earlier tables. What the owner holds already is tried first.
        """
        allowed = self._best_first(
            np.flatnonzero(self.patterns.allowed) if within is None else self._alike(within)
        )
        if not len(allowed):
            return None
        limit = inf if within is None else self._limit(within)
        others, family = [h for h in self.held if h.recipient != owner], self.families.family_of_held()
        for cuts, index in self._candidates(owner, allowed):
            if not family.fits(self.shown.detail(cuts), owner):
                continue
            if not (beside_earlier or self.families.is_safe(cuts, others)):
                continue
            quality = self._quality(cuts) if index is None else self.patterns.value(self.metric, index)
            if quality is not None and quality <= limit and accept(cuts):
                return PlannedVersion(cuts, quality, index)
        return None

    def is_fitting(self, owner: str, cuts: Cuts) -> bool:
        """Whether a version can stand beside all that is held: nobody is framed, no coalition learns more."""
        others = [h for h in self.held if h.recipient != owner]
        family = self.families.family_of_held()
        return family.fits(self.shown.detail(cuts), owner) and self.families.is_safe(cuts, others)

    def _candidates(self, owner: str, allowed: Indices) -> Iterator[tuple[Cuts, int | None]]:
        if self.metric not in LEVEL_MEASURES and self.patterns.aim.loss != "height":
            yield from ((h.cuts, None) for h in reversed(self.held) if h.recipient == owner)
        yield from ((self.patterns.cuts(index), index) for index in allowed.tolist())

    # -- which patterns -----------------------------------------------------------------------------------

    def _window(self, tolerance: Fraction | None = None) -> Indices:
        """Returns patterns within a tolerance, none that shows the same as another or as one that is held."""
        alike = self._alike(self.rule.tolerance if tolerance is None else tolerance)
        return self.families.distinct(self._best_first(alike))

    def _alike(self, tolerance: Fraction) -> Indices:
        """Returns the allowed patterns within a tolerance of the best."""
        best = best_class(self.patterns, self.metric, tolerance=tolerance)
        return np.zeros(0, np.int64) if best is None else best.members

    def _best_first(self, indices: Indices) -> Indices:
        values = self.patterns.metric(self.metric)[indices]
        return indices[np.lexsort((indices, values))]

    def _limit(self, tolerance: Fraction) -> float:
        """Returns the most that a version may lose: what the tolerance allows beyond the best pattern."""
        best = self._alike(Fraction(0))[0]
        return ties_up_to(float(self.patterns.value(self.metric, int(best))) * float(1 + tolerance))

    def _quality(self, cuts: Cuts) -> float | None:
        """Returns what cuts lose; `None` if they do not keep every promise within the suppression limit."""
        table, promises = self.patterns.table, self.patterns.promises
        recoding = recoded(table, cuts, promises)
        if recoding.suppressed > self.patterns.aim.allowed(table) or not recoding.count:
            return None
        if any(p.verdict_on(table, cuts).holds is not True for p in promises.of_table):
            return None
        return measure(self.metric, recoding, weights=self.patterns.aim.weights)

    def _version(self, index: int) -> PlannedVersion:
        return PlannedVersion(self.patterns.cuts(index), self.patterns.value(self.metric, index), index)
