"""t-closeness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Promise, RelativePromise, Truth
from sfumato.models.parameters import (
    BESIDE,
    OVERFLOW,
    VALUES_KEY,
    ChoiceParam,
    ColumnParam,
    FractionParam,
    Parameter,
    ReferenceDistribution,
    ReferenceFile,
    ValuePromise,
    ValueShares,
    histogram_of,
    largest_ratio,
    product_less,
    segment_sums,
    verdict,
)
from sfumato.models.registry import register
from sfumato.system.errors import BadPolicy
from sfumato.system.verdict import SHIFT, Bound, Evidence, Order, Verdict
from sfumato.table.classes import Classes, Histogram
from sfumato.table.microdata import Counts
from sfumato.table.spelling import meaning_under
from sfumato.table.taxonomy import ROOT, Nodes, Taxonomy

# The earth mover's distance of many classes to one distribution, for three ground distances.
#
# Each function returns whole numbers: `cost` per class and one `scale`, such that the distance of a class
# of n to a distribution of T is cost / (scale * n * T). Costs are had on 64-bit integers (by compiled
# loops, but for the ordered distance), on Python integers (dtype object) and on floats.

Numbers = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ComparedClasses:
    """The classes of a histogram, none empty, and the distribution they are compared with.

    `target[rank]` counts the leaves; `total` may exceed their sum by what lies outside the taxonomy.
    """

    histogram: Histogram
    target: Counts
    total: int

    @property
    def taxonomy(self) -> Taxonomy:
        return self.histogram.taxonomy

    @property
    def occurs(self) -> NDArray[np.bool_]:
        """The leaves that the published table or the target distribution holds."""
        occurring: NDArray[np.bool_] = (self.histogram.overall > 0) | (self.target > 0)
        occurring[self.histogram.values] = True
        return occurring

    def pick(self, chosen: NDArray[np.integer]) -> ComparedClasses:
        return ComparedClasses(self.histogram.pick(chosen), self.target, self.total)


def equal(compared: ComparedClasses, number: type) -> Numbers:
    """All values are equally far from each other: half the sum of the differences. Scale 1.

    The surplus of the values in the class is the deficit of the others, so only the former are visited.
    """
    h = compared.histogram
    if number is np.int64:
        from sfumato.models.t_closeness.kernels import equal_costs  # noqa: PLC0415  # compiled kernels load when needed

        return equal_costs(h.start, h.values, h.counts, h.totals, compared.target, compared.total)
    size: Numbers = h.totals.astype(number)[h.owner]
    expected = size * compared.target.astype(number)[h.values]
    surplus = h.counts.astype(number) * _as(compared.total, number) - expected
    return segment_sums(np.maximum(surplus, 0), h.start)


def ordered(compared: ComparedClasses, number: type) -> Numbers:
    """Neighbours in the order of leaves are 1/(m-1) apart, where m values occur. Scale m-1.

    The cost is the sum of |cumulative difference| over the order. Between two values of a class its
    cumulative count stands still while the target's grows: prefix sums of the latter, split where the
    difference changes sign, give each such run in one step.
    """
    h, occurs = compared.histogram, compared.occurs
    total = _as(compared.total, number)
    position = (np.cumsum(occurs) - 1)[h.values]
    steps = np.cumsum(compared.target[occurs])
    below: Numbers = steps.astype(number)
    prefix: Numbers = np.concatenate(([0], np.cumsum(steps.astype(object)))).astype(number)
    size: Numbers = h.totals.astype(number)
    sizes = size[h.owner]
    running = np.cumsum(h.counts)
    before = np.concatenate(([0], running))[h.start[:-1]]
    level = (running - before[h.owner]).astype(number) * total
    end = np.append(position[1:], 0)
    end[h.start[1:] - 1] = len(below)
    split = np.clip(np.searchsorted(below, -(-level // sizes)), position, end)
    under = (split - position) * level - sizes * (prefix[split] - prefix[position])
    over = sizes * (prefix[end] - prefix[split]) - (end - split) * level
    cost: Numbers = segment_sums(under + over, h.start) + size * prefix[position[h.start[:-1]]]
    return cost


def hierarchical(compared: ComparedClasses, number: type) -> Numbers:
    """Two values are as far apart as the height of their lowest common ancestor, over the tree's. Scale 2H.

    Moving earth through a node N costs height(N)/H for what its children can exchange among themselves:
    min(their surpluses, their deficits). Summed over the tree this is half the sum over all nodes of
    |surplus| * (height of the parent - height), which needs only the ancestors of a class's own values.
    """
    h, t = compared.histogram, compared.taxonomy
    total = _as(compared.total, number)
    up = climbs(t)
    running = np.concatenate(([0], np.cumsum(compared.target)))
    below_node = running[t.high] - running[t.low]
    if number is np.int64:
        from sfumato.models.t_closeness.kernels import hierarchical_costs  # noqa: PLC0415  # compiled kernels

        tree = (t.leaves, t.parent, up)
        return hierarchical_costs(h.start, h.values, h.counts, h.totals, tree, below_node, compared.total)
    inside: Numbers = below_node.astype(number)
    size: Numbers = h.totals.astype(number)
    cost: Numbers = size * _as(int((up * below_node.astype(object)).sum()), number)
    node, count, owner = t.leaves[h.values], h.counts, h.owner
    for depth in range(int(t.depth.max(initial=0)), 0, -1):
        here = t.depth[node] == depth
        expected = size[owner] * inside[node]
        change = abs(count.astype(number) * total - expected) - expected
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        cost = cost + np.add.reduceat(np.where(here, up[node], 0).astype(number) * change, first)
        node = np.where(here, t.parent[node], node)
        fresh = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(node, prepend=-1) != 0))
        node, count, owner = node[fresh], np.add.reduceat(count, fresh), owner[fresh]
    return cost


def most_kept(compared: ComparedClasses, t: float, spare: int, *, levels: bool) -> Counts:
    """Returns how large a part of each class can be whose distance from the distribution is at most `t`.

    Up to `spare` may be missing from the distribution in the end. The distance is the hierarchical one, or
    without `levels` the equal one: a tree whose leaves all hang from the root.
    """
    from sfumato.models.t_closeness.kernels import most_kept as bounded  # noqa: PLC0415  # compiled kernels

    h, taxonomy = compared.histogram, compared.taxonomy
    if levels and not taxonomy.height:
        return h.totals
    tree, height, below_node = _star(len(taxonomy.leaves)), 1, compared.target
    if levels:
        running = np.concatenate(([0], np.cumsum(compared.target)))
        tree, height = (taxonomy.leaves, taxonomy.parent, climbs(taxonomy)), taxonomy.height
        below_node = running[taxonomy.high] - running[taxonomy.low]
    shares = below_node / max(1, compared.total - spare)
    return bounded(h.start, h.values, h.counts, h.totals, tree, height, shares, t)


@lru_cache(maxsize=16)
def _star(leaves: int) -> tuple[Nodes, Nodes, Nodes]:
    """Returns leaves without a common node, each as high as the tree."""
    tree = (np.arange(leaves, dtype=np.int32), np.full(leaves, -1, np.int32), np.ones(leaves, np.int32))
    for part in tree:
        part.setflags(write=False)
    return tree


def heights(taxonomy: Taxonomy) -> Nodes:
    """The height of every node: the lowest level of full-domain recoding that uses it, 0 for a leaf.

    In a tree with all leaves at one depth that is the distance to the leaves. In an uneven tree a leaf
    close to the root still has height 0, and an inner node the height its level gives it. A node that no
    level uses takes the height of its parent: nothing is ever recoded to it.

    >>> t = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> dict(zip(t.labels, heights(t).tolist(), strict=True))
    {'*': 2, 'Viral': 1, 'Flu': 0, 'AIDS': 0, 'TB': 0}
    """
    height = np.full(len(taxonomy.labels), -1, dtype=np.int32)
    for level in range(taxonomy.height, -1, -1):
        height[taxonomy.levels[level]] = level
    height[ROOT] = taxonomy.height
    for node in np.flatnonzero(height < 0).tolist():  # in preorder: parents first
        height[node] = height[taxonomy.parent[node]]
    return height


@lru_cache(maxsize=16)
def climbs(taxonomy: Taxonomy) -> Nodes:
    """How much higher than each node its parent stands; 0 for the root."""
    height = heights(taxonomy)
    climb: Nodes = height[taxonomy.parent] - height
    climb[ROOT] = 0
    climb.setflags(write=False)
    return climb


def _as(value: int, number: type) -> Any:
    return float(value) if number is np.float64 else value


DISTANCES = {"equal": equal, "ordered": ordered, "hierarchical": hierarchical}


@register
@dataclass(frozen=True)
class TCloseness(ValuePromise, RelativePromise):
    """In every class the sensitive values are distributed as in the whole table, up to t.

    The difference is the earth mover's distance, from 0 to 1, over one of three ground distances between
    values: `equal` (1 between any two), `ordered` (their distance in the order of the m values that occur,
    over m - 1) and `hierarchical` (the height of their lowest common ancestor over the height of the
    tree). The whole table is what is published; with a `reference` it is that population, in which
    values that it does not list have probability 0. With `values`, none of these may exceed its share of the
    whole table by more than t in a class, among those who have a value; it may well be rarer there.
    An empty cell is a value like any other; where there are some, those who have a value are also compared
    by themselves, since an adversary may know that somebody has one.
    Source: Li, Li and Venkatasubramanian, *t-closeness: privacy beyond k-anonymity and l-diversity*, 2007.
    Monotone: yes (the distance to a fixed distribution is convex). Hereditary: no. Evidence: the published
    table, or the published table and the reference.
    Does not promise: anything about who is in a class (combine with k-anonymity), nor a bound on how
    much more likely a rare value becomes: a small t allows a value of 1 in 1000 to become 1 in 10. Values are
    the leaves of the column's taxonomy: what it holds to be one (93 and 95 under `90+`) has distance 0, and
    classes may differ in it although it is published as it is. (l-diversity only gains from such detail.)
    Where one person has several rows, each counts once per value and class; a union of classes then is no
    sum, and the claim to be monotone is not covered. A person with several values is refused beforehand.

    >>> from sfumato.table.classes import histogram
    >>> from sfumato.table.taxonomy import Taxonomy
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
    values: tuple[str, ...] | None = None

    plain_of_values: ClassVar[str] = (
        "Among people who look alike, {values} of {of} exceeds its share of the whole table by {t} at most."
    )
    plain: ClassVar[str] = (
        "Among people who look alike {of} is distributed as in the whole table, up to a distance of {t}."
    )
    silent_on: ClassVar[str] = (
        "A rare value may become much likelier for somebody than before, and it asks for no least "
        "number of people."
    )
    name: ClassVar[str] = "t-closeness"
    monotone: ClassVar[bool] = True
    cone: ClassVar[bool] = True
    known_alone: ClassVar[bool] = True
    threats: ClassVar[tuple[str, ...]] = ("skewness",)
    keys: ClassVar[tuple[Parameter, ...]] = (
        ColumnParam("of", meaning="The sensitive column that is protected."),
        FractionParam(
            "t", Fraction(0), Fraction(1), meaning="The largest distance of a class from the whole table."
        ),
        ChoiceParam(
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
        VALUES_KEY,
    )
    orders: ClassVar[Mapping[str, Order]] = {"t": Order.SMALLER}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is not None and self.distance != "equal":
            raise BadPolicy(
                "values are compared each by itself, without a distance between them",
                where="distance",
                remedy="Leave out distance, or values.",
            )

    def implied(self) -> tuple[Promise, ...]:
        """No ground distance exceeds the equal one, so no earth mover's distance does."""
        if self.distance != "equal" or self.values is not None:
            return ()
        return tuple(replace(self, distance=distance) for distance in DISTANCES if distance != "equal")

    @property
    def evidence(self) -> Evidence:
        return Evidence.PUBLISHED if self.reference is None else Evidence.REFERENCE

    @property
    def ordered_columns(self) -> tuple[str, ...]:
        return (self.of,) if self.distance == "ordered" else ()

    @property
    def relative(self) -> bool:
        return self.reference is None

    @property
    def protects(self) -> bool:
        return self.t < 1

    def limits(self) -> tuple[Bound, ...]:
        """It limits the skewness attack where both measure the same: value by value, from the table."""
        measured = self.distance == "equal" and self.relative
        return (Bound(SHIFT, self.t, self.of, self.values or ()),) if measured else ()

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The reference, if it stands in a file."""
        if self.reference is None or self.reference.file is None:
            return ()
        return ((self.reference.file, self.reference.digest),)

    def holds_on(self, classes: Classes) -> Truth:
        if self.values is not None:
            shares, expected = self._shares(classes, self.values)
            return shares.within(lambda leaf: self.t + expected(leaf))
        everybody, *having = self._readings(classes)
        truth = np.zeros(len(classes), dtype=bool)
        truth[everybody[0]] = self._near(everybody[1])
        for full, compared in having:
            truth[full] &= self._near(compared)
        return truth

    def _near(self, compared: ComparedClasses) -> Truth:
        """Whether each of these classes is within t, exactly."""
        if not len(compared.histogram.totals):
            return np.ones(0, dtype=bool)
        if self._fits(compared):
            return self._within(compared, self._cost(compared, np.int64))
        rough, error = self._rough(compared)
        truth: Truth = rough <= float(self.t)
        near = np.flatnonzero(abs(rough - float(self.t)) <= error)
        if len(near):
            doubtful = compared.pick(near)
            truth[near] = self._within(doubtful, self._cost(doubtful, object))
        return truth

    def margins(self, classes: Classes) -> NDArray[np.float64] | None:
        """Returns the distance of every class from t, `None` for the ordered distance.

        No ground distance exceeds 1, so a class comes no nearer to t than the table moves. The ordered one
        changes with the values that occur, and fewer people than all have a value where cells are missing.
        """
        if self.distance == "ordered" or self.values is not None:
            return None
        (full, compared), *having = self._readings(classes)
        if having:
            return None
        margins = np.full(len(classes), np.inf)  # a class without a value never holds
        if len(full):
            rough, error = self._rough(compared)
            margins[full] = np.abs(rough - float(self.t)) - error - 2.0**-50
        return margins

    def most_kept(self, classes: Classes, spare: int) -> Counts | None:
        """What is kept of a class is within t itself, since classes within t are so together.

        Without a reference, the shares of what is published are bounded by those of the table without
        `spare` rows. The ordered distance tells nothing.
        """
        if self.distance == "ordered" or self.values is not None:
            return None
        full, compared = self._readings(classes)[0]
        most = np.zeros(len(classes), dtype=np.int64)
        if len(full):
            missing = spare if self.relative else 0
            most[full] = most_kept(compared, float(self.t), missing, levels=self.distance == "hierarchical")
        return most

    def verdict(self, classes: Classes) -> Verdict:
        truth = self.holds_on(classes)
        if self.values is not None:
            shares, expected = self._shares(classes, self.values)
            place, excess = shares.worst(expected)
            return verdict(self, classes, truth, limit=self.t, worst=place, measured=excess)
        readings, worst, measured = self._readings(classes), None, None
        full, _ = readings[0]
        if len(full) < len(classes):
            worst = int(np.flatnonzero(~np.isin(np.arange(len(classes)), full))[0])
        for among, compared in readings if worst is None else ():
            if len(among):
                place, distance = self._worst(compared)
                if measured is None or distance > measured:
                    worst, measured = int(among[place]), distance
        return verdict(self, classes, truth, limit=self.t, worst=worst, measured=measured)

    def _worst(self, compared: ComparedClasses) -> tuple[int, Fraction]:
        close = np.arange(len(compared.histogram.start) - 1)
        if not self._fits(compared):
            rough, error = self._rough(compared)
            close = np.flatnonzero(rough >= rough.max() - 2 * error)
            compared = compared.pick(close)
        cost = self._cost(compared, np.int64 if self._fits(compared) else object)
        index, ratio = largest_ratio(cost, compared.histogram.totals)
        return int(close[index]), ratio / (self._scale(compared) * compared.total)

    def _shares(
        self, classes: Classes, values: tuple[str, ...]
    ) -> tuple[ValueShares, Callable[[int], Fraction]]:
        """The shares of some values, and how large each is in the whole table, or in the reference."""
        shares = ValueShares.of(classes, self.of, values)
        h = shares.having
        if self.reference is None:
            total = max(1, int(h.overall.sum()))
            return shares, lambda leaf: Fraction(int(h.overall[leaf]), total)
        labels, spelling = h.taxonomy.leaf_labels, h.taxonomy.spelling
        counts: dict[str | None, int] = {}
        for label, count in self.reference.counts:
            value = meaning_under(label, spelling)
            counts[value] = counts.get(value, 0) + count
        everyone = max(1, self.reference.total - counts.pop(None, 0))
        return shares, lambda leaf: Fraction(counts.get(meaning_under(labels[leaf], spelling), 0), everyone)

    def _readings(self, classes: Classes) -> list[tuple[NDArray[np.int64], ComparedClasses]]:
        """The classes that hold anybody, and what they are compared with.

        Where cells are missing, the same once more of those who have a value.
        """
        h = histogram_of(classes, self.of)
        if self.distance == "ordered":
            _refuse_spellings(h, self.of)
        lacking = h.overall[h.taxonomy.meanings < 0].any()
        readings = []
        for reading in (h, h.without_missing()) if lacking else (h,):
            full = np.flatnonzero(np.diff(reading.start))
            judged = reading if len(full) == len(classes) else reading.pick(full)
            compared = self._compare(reading, judged, having=reading is not h)
            if reading is h or compared.total:
                readings.append((full, compared))
        return readings

    def _compare(self, h: Histogram, judged: Histogram, *, having: bool) -> ComparedClasses:
        """The classes of `judged`, none empty, beside the whole table of `h`, or beside the reference.

        `having` says that only those who have a value are compared.
        """
        if self.reference is None:
            return ComparedClasses(judged, h.overall, int(h.overall.sum()))
        target, lacking = self.reference.on(h.taxonomy)
        if lacking and self.distance != "equal":
            raise BadPolicy(
                f"the reference holds {len(lacking)} values that the taxonomy of {self.of} lacks",
                where="reference",
                remedy=f"Add them there: without a place in it they have no {self.distance} distance.",
                values=[str(label) for label in lacking],
            )
        if not having:
            return ComparedClasses(judged, target, self.reference.total)
        spelling = h.taxonomy.spelling
        void = sum(n for label, n in self.reference.counts if meaning_under(label, spelling) is None)
        return ComparedClasses(
            judged, np.where(h.taxonomy.meanings < 0, 0, target), self.reference.total - void
        )

    def _cost(self, compared: ComparedClasses, number: type) -> Numbers:
        return DISTANCES[self.distance](compared, number)

    def _scale(self, compared: ComparedClasses) -> int:
        if self.distance == "equal":
            return 1
        if self.distance == "ordered":
            return max(1, int(compared.occurs.sum()) - 1)
        return max(1, 2 * compared.taxonomy.height)

    def _fits(self, compared: ComparedClasses) -> bool:
        """Whether every step of the exact calculation stays within 64 bits."""
        largest = int(compared.histogram.totals.max())
        return 4 * (self._scale(compared) + 1) * largest * compared.total < OVERFLOW

    def _within(self, compared: ComparedClasses, cost: Numbers) -> Truth:
        allowed = self.t.numerator * self._scale(compared) * compared.total
        return ~product_less(compared.histogram.totals, allowed, cost, self.t.denominator)

    def _rough(self, compared: ComparedClasses) -> tuple[NDArray[np.float64], float]:
        """The distances in floating point, and more than they can be off.

        Every number added up is rounded to 53 bits and is, after division, at most 1 per value or node
        it came from, and there are no more numbers than values and nodes.
        """
        cost = self._cost(compared, np.float64)
        whole = float(self._scale(compared) * compared.total) * compared.histogram.totals.astype(np.float64)
        return cost / whole, 64 * (len(compared.taxonomy.labels) + 8) * 2.0**-53

    def __str__(self) -> str:
        beside = "" if self.reference is None else BESIDE
        if self.values is not None:
            return f"t-closeness of {self.of_what}, t = {self.t}{beside}"
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
