"""t-closeness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes, Histogram
from sfumato.core.demand import Order
from sfumato.core.errors import BadPolicy
from sfumato.core.limits import SHIFT, Bound
from sfumato.core.microdata import Counts
from sfumato.core.promise import ClassPromise, Promise, Truth
from sfumato.core.verdict import Evidence, Verdict
from sfumato.core.weights import WeightedClass
from sfumato.promises.parameters import Choice, Declared, Exact, Name, Parameter, histogram_of
from sfumato.promises.registry import register
from sfumato.promises.t_closeness.earth_movers import (
    Earth,
    Numbers,
    equal,
    hierarchical,
    most_kept,
    ordered,
)
from sfumato.promises.t_closeness.reference import ReferenceDistribution, ReferenceFile
from sfumato.promises.verdicts import OVERFLOW, largest_ratio, product_less, verdict

BESIDE = ", against a reference"
DISTANCES = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}


@register("t-closeness")
@dataclass(frozen=True)
class TCloseness(Declared, ClassPromise):
    """In every class the sensitive values are distributed as in the whole table, up to t.

    The difference is the earth mover's distance, from 0 to 1, over one of three ground distances between
    values: `equal` (1 between any two), `ordered` (their distance in the order of the m values that occur,
    over m - 1) and `hierarchical` (the height of their lowest common ancestor over the height of the
    tree). The whole table is what is published; with a `reference` it is that population, in which
    values that it does not list have probability 0.
    Source: Li, Li and Venkatasubramanian, *t-closeness: privacy beyond k-anonymity and l-diversity*, 2007.
    Monotone: yes (the distance to a fixed distribution is convex). Hereditary: no. Evidence: the published
    table, or the published table and the reference.
    Does not promise: anything about who is in a class (combine with k-anonymity), nor a bound on how
    much more likely a rare value becomes: a small t allows a value of 1 in 1000 to become 1 in 10. Values are
    the leaves of the column's taxonomy: what it holds to be one (93 and 95 under `90+`) has distance 0, and
    classes may differ in it although it is published as it is. (l-diversity only gains from such detail.)
    Where one person has several rows, each counts once per value and class; a union of classes then is no
    sum, and the claim to be monotone is not covered. A person with several values is refused beforehand.

    >>> from sfumato.core.classes import histogram
    >>> from sfumato.core.taxonomy import Taxonomy
    >>> disease = Taxonomy.flat(["cold", "flu"])
    >>> two = histogram(disease, np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3, 1, 4]), 2)
    >>> classes = Classes(two.totals, two.totals, {"disease": two})
    >>> verdict = TCloseness("disease", Fraction(1, 8)).verdict(classes)
    >>> verdict.holds, verdict.measured
    (True, Fraction(1, 8))
    """

    of: str
    t: Fraction
    distance: str = "equal"
    reference: ReferenceDistribution | None = None

    plain: ClassVar[str] = (
        "Among people who look alike {of} is distributed as in the whole table, up to a distance of {t}."
    )
    silent_on: ClassVar[str] = (
        "A rare value may become much likelier for somebody than before, and it asks for no least "
        "number of people."
    )
    name: ClassVar[str] = "t-closeness"
    monotone: ClassVar[bool] = True
    hereditary: ClassVar[bool] = False
    cone: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("skewness",)
    keys: ClassVar[tuple[Parameter, ...]] = (
        Name("of", meaning="The sensitive column that is protected."),
        Exact("t", Fraction(0), Fraction(1), meaning="The largest distance of a class from the whole table."),
        Choice(
            "distance",
            tuple(DISTANCES),
            meaning="How far two values are apart: equal: 1 between any two; ordered: their places in the"
            " order of the values; hierarchical: how far up the taxonomy they meet.",
        ),
        ReferenceFile(
            "reference",
            meaning="Counts of a fixed population to compare with, or a file of them; else the published"
            " table is what classes are compared with.",
        ),
    )
    orders: ClassVar[Mapping[str, Order]] = {"t": Order.SMALLER}

    def implied(self) -> tuple[Promise, ...]:
        """No ground distance exceeds the equal one, so no earth mover's distance does."""
        if self.distance != "equal":
            return ()
        return tuple(replace(self, distance=other) for other in DISTANCES if other != "equal")

    @property
    def evidence(self) -> Evidence:
        return Evidence.PUBLISHED if self.reference is None else Evidence.REFERENCE

    @property
    def sensitive(self) -> tuple[str, ...]:
        return (self.of,)

    @property
    def ordered_columns(self) -> tuple[str, ...]:
        return (self.of,) if self.distance == "ordered" else ()

    @property
    def relative(self) -> bool:
        return self.reference is None

    def limits(self) -> tuple[Bound, ...]:
        """It limits the skewness attack where both measure the same: value by value, from the table."""
        measured = self.distance == "equal" and self.relative
        return (Bound(SHIFT, self.t, self.of),) if measured else ()

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The reference, if it stands in a file."""
        if self.reference is None or self.reference.file is None:
            return ()
        return ((self.reference.file, self.reference.digest),)

    def holds_on(self, classes: Classes) -> Truth:
        full, earth = self._earth(classes)
        truth = np.zeros(len(classes), dtype=bool)
        if not len(full):
            return truth
        if self._fits(earth):
            truth[full] = self._within(earth, self._cost(earth, np.int64))
            return truth
        rough, error = self._rough(earth)
        truth[full] = rough <= float(self.t)
        near = np.flatnonzero(abs(rough - float(self.t)) <= error)
        if len(near):
            some = earth.pick(near)
            truth[full[near]] = self._within(some, self._cost(some, object))
        return truth

    def margins(self, classes: Classes) -> NDArray[np.float64] | None:
        """Returns the distance of every class from t, `None` for the ordered distance.

        No ground distance exceeds 1, so a class comes no nearer to t than the table moves. The ordered one
        changes with the values that occur.
        """
        if self.distance == "ordered":
            return None
        full, earth = self._earth(classes)
        margins = np.full(len(classes), np.inf)  # a class without a value never holds
        if len(full):
            rough, error = self._rough(earth)
            margins[full] = np.abs(rough - float(self.t)) - error - 2.0**-50
        return margins

    def most_kept(self, classes: Classes, spare: int) -> Counts | None:
        """What is kept of a class is within t itself, since classes within t are so together.

        Without a reference, the shares of what is published are bounded by those of the table without
        `spare` rows. The ordered distance tells nothing.
        """
        if self.distance == "ordered":
            return None
        full, earth = self._earth(classes)
        most = np.zeros(len(classes), dtype=np.int64)
        if len(full):
            missing = spare if self.relative else 0
            most[full] = most_kept(earth, float(self.t), missing, levels=self.distance == "hierarchical")
        return most

    def verdict(self, classes: Classes) -> Verdict:
        truth = self.holds_on(classes)
        full, earth = self._earth(classes)
        worst, measured = None, None
        if len(full) < len(classes):
            worst = int(np.flatnonzero(~np.isin(np.arange(len(classes)), full))[0])
        elif len(classes):
            worst, measured = self._worst(earth)
        return verdict(self, classes, truth, limit=self.t, worst=worst, measured=measured)

    def _worst(self, earth: Earth) -> tuple[int, Fraction]:
        close = np.arange(len(earth.histogram.start) - 1)
        if not self._fits(earth):
            rough, error = self._rough(earth)
            close = np.flatnonzero(rough >= rough.max() - 2 * error)
            earth = earth.pick(close)
        cost = self._cost(earth, np.int64 if self._fits(earth) else object)
        index, ratio = largest_ratio(cost, earth.histogram.totals)
        return int(close[index]), ratio / (self._scale(earth) * earth.total)

    def _earth(self, classes: Classes) -> tuple[NDArray[np.int64], Earth]:
        """The classes that hold anybody, and what they are compared with."""
        h = histogram_of(classes, self.of)
        if self.distance == "ordered":
            _refuse_spellings(h, self.of)
        full = np.flatnonzero(np.diff(h.start))
        return full, self._compared(h, h if len(full) == len(classes) else h.pick(full))

    def _compared(self, h: Histogram, held: Histogram) -> Earth:
        """The classes of `held`, none empty, beside the whole table of `h`, or beside the reference."""
        if self.reference is None:
            return Earth(held, h.overall, int(h.overall.sum()))
        target, lacking = self.reference.on(h.taxonomy)
        if lacking and self.distance != "equal":
            raise BadPolicy(
                f"the reference holds {len(lacking)} values that the taxonomy of {self.of} lacks",
                where="reference",
                remedy=f"Add them there: without a place in it they have no {self.distance} distance.",
                values=[str(label) for label in lacking],
            )
        return Earth(held, target, self.reference.total)

    def _cost(self, earth: Earth, number: type) -> Numbers:
        return DISTANCES[self.distance](earth, number)

    def _scale(self, earth: Earth) -> int:
        if self.distance == "equal":
            return 1
        if self.distance == "ordered":
            return max(1, int(earth.occurs.sum()) - 1)
        return max(1, 2 * earth.taxonomy.height)

    def _fits(self, earth: Earth) -> bool:
        """Whether every step of the exact calculation stays within 64 bits."""
        largest = int(earth.histogram.totals.max())
        return 4 * (self._scale(earth) + 1) * largest * earth.total < OVERFLOW

    def _within(self, earth: Earth, cost: Numbers) -> Truth:
        allowed = self.t.numerator * self._scale(earth) * earth.total
        return ~product_less(earth.histogram.totals, allowed, cost, self.t.denominator)

    def _rough(self, earth: Earth) -> tuple[NDArray[np.float64], float]:
        """The distances in floating point, and more than they can be off.

        Every number added up is rounded to 53 bits and is, after division, at most 1 per value or node
        it came from, and there are no more numbers than values and nodes.
        """
        cost = self._cost(earth, np.float64)
        whole = float(self._scale(earth) * earth.total) * earth.histogram.totals.astype(np.float64)
        return cost / whole, 64 * (len(earth.taxonomy.labels) + 8) * 2.0**-53

    def keeps_weights(self, held: WeightedClass) -> bool:
        whole = held.histograms[self.of].in_whole_numbers()
        if not len(whole.counts):
            return False
        earth = self._compared(whole, whole)
        cost, size = self._cost(earth, object)[0], int(whole.totals[0])
        return bool(cost * self.t.denominator <= self.t.numerator * self._scale(earth) * earth.total * size)

    def __str__(self) -> str:
        beside = "" if self.reference is None else BESIDE
        return f"t-closeness of {self.of}, t = {self.t}, {self.distance} distance{beside}"


def _refuse_spellings(h: Histogram, column: str) -> None:
    """Refuses an order of texts of which several are one value: it has more places than there are values, and
    what lies between two of them would count for less than it is."""
    several = int((h.overall > 0).sum() - (h.by_meaning(missing=True).overall > 0).sum())
    if several:
        raise BadPolicy(
            f"{several} texts of {column} are other spellings of its values, and have places of their own in"
            " its order",
            where="distance",
            remedy="Write each value in one way, or ask for `equal` distance, or say `spelling: exact`.",
        )
