"""Quality classes: allowed patterns that serve their recipients equally well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import lattice as antichains
from sfumato.models.contract import Promises, Truth
from sfumato.recipients.pattern_figures import PatternFigures
from sfumato.search.contract import Aim
from sfumato.search.frontier import levels_at, ties_up_to
from sfumato.search.loss import Reals, column_weights, leaves_of
from sfumato.search.node_cost import EntropyCost, MeanLoss
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, format_number, json_ready, pluralize
from sfumato.table.cut import Cut
from sfumato.table.microdata import Counts, Microdata, Packing

# Antichains: patterns of which none is more general than another.
#
# Whoever holds a pattern can make every more general version of the table, and no other. So one recipient
# cannot make another's version if and only if their patterns are incomparable.

Lines = NDArray[np.integer]
"""One line per pattern, one level per key column."""

MOST_COMPARED = 40_000
"""So many patterns are compared with each other: 200 MB of bits."""


def largest_antichain(levels: Lines) -> NDArray[np.int64]:
    """Returns the positions of the patterns in a largest antichain, ascending.

    Of several largest antichains it is always the same one, whatever the order of the patterns. No two
    patterns are equal.

    >>> largest_antichain(np.array([[0, 0], [1, 0], [0, 1], [0, 2], [1, 1]])).tolist()
    [3, 4]
    """
    if len(levels) > MOST_COMPARED:
        raise UsageError(
            f"{len(levels):,} patterns are too many to compare each with each; at most {MOST_COMPARED:,} are",
            remedy="Narrow the tolerance.",
        )
    if len(levels) == 0:
        return np.zeros(0, np.int64)
    packed, guard = _guarded(levels)
    chosen = antichains.largest_antichain(antichains.below_rows(packed, guard))
    return np.flatnonzero(chosen)


def _guarded(levels: Lines) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Returns the levels of every pattern in a few words, a free bit above each, and these bits."""
    sizes = (2 * (levels.max(axis=0).astype(np.int64) + 1)).tolist()
    packing = Packing(tuple(2 ** int(size - 1).bit_length() for size in sizes))
    words = packing.pack(list(levels.T))
    guard = np.zeros(packing.words, np.uint64)
    for word, shift, bits in packing.places:
        guard[word] |= np.uint64(1) << np.uint64(shift + bits - 1)
    return np.ascontiguousarray(words.T).astype(np.uint64), guard


# Metrics of patterns: every loss of `protection.loss`, for all patterns at once; smaller is better.

Numbers = NDArray[np.int64] | NDArray[np.float64]


class MetricInput:
    """The input of a metric: a table, weights, the level of every pattern in every key column.

    `s` counts the suppressed rows of each pattern, those left out beforehand included.
    """

    def __init__(
        self,
        table: Microdata,
        weights: Mapping[str, Fraction],
        levels: NDArray[np.integer],
        figures: PatternFigures,
    ) -> None:
        self.table, self.levels, self.figures = table, levels, figures
        self.exact_weights = [Fraction(weights.get(c.name, 1)) for c in table.keys]
        self.weights = column_weights(table.keys, weights)
        self.n = table.rows + table.dropped
        self.s: Counts = figures.suppressed + table.dropped

    @property
    def heights(self) -> list[int]:
        return [c.taxonomy.height for c in self.table.keys]

    def mean(self, columns: list[Reals]) -> Reals:
        """Returns the weighted mean over the key columns."""
        total = np.zeros(len(self.s))
        for values, weight in zip(columns, self.weights.tolist(), strict=True):
            total += weight * values
        return total / float(self.weights.sum()) if columns else total

    def shares(self) -> list[Reals]:
        """Returns x_j of `loss.column_losses`, per column."""
        shares, mean_loss = [], MeanLoss(self.table, self.weights)
        for j, column in enumerate(self.table.keys):
            domain = leaves_of(column.taxonomy)
            base = np.array(mean_loss.base[j], np.int64)[self.levels[j]]
            covered = base - self.figures.covered[:, j] + self.s * domain
            if self.n == 0:
                shares.append(np.zeros(len(self.s)))
            elif domain == 1:
                shares.append(self.s / self.n)
            else:
                shares.append((covered - self.n) / (self.n * (domain - 1)))
        return shares


def steps(name: str, heights: list[int], weights: list[Fraction]) -> tuple[list[list[int]], int]:
    """Returns what each level of each column adds to `height` or `precision`, as integers, and their scale.

    >>> steps("precision", [1, 2], [Fraction(1), Fraction(1)])
    ([[0, 2], [0, 1, 2]], 2)
    """
    over = [max(1, h) for h in heights] if name == "precision" else [1] * len(heights)
    parts = [
        [weight * Fraction(level, most) for level in range(h + 1)]
        for h, most, weight in zip(heights, over, weights, strict=True)
    ]
    scale = lcm(*(part.denominator for column in parts for part in column))
    return [[int(part * scale) for part in column] for column in parts], scale


def _sum_of_steps(name: str, inputs: MetricInput) -> Counts:
    """Returns `height` or `precision`, times the scale of their steps."""
    parts, _ = steps(name, inputs.heights, inputs.exact_weights)
    total = np.zeros(len(inputs.s), np.int64)
    for j, column in enumerate(parts):
        total += np.array(column, np.int64)[inputs.levels[j]]
    return total


def height(inputs: MetricInput) -> Counts:
    """Sum of the levels (Samarati 2001)."""
    return _sum_of_steps("height", inputs)


def precision(inputs: MetricInput) -> Counts:
    """Sum over the columns of level/height, suppression aside (Schrittwieser et al. 2011)."""
    return _sum_of_steps("precision", inputs)


def sweeney(inputs: MetricInput) -> Reals:
    """One minus Sweeney's precision: the mean of level/height, 1 for a suppressed row (loss `precision`)."""
    if inputs.n == 0:
        return np.zeros(len(inputs.s))
    published = inputs.n - inputs.s
    columns = [
        (inputs.levels[j].astype(np.int64) * published / max(1, h) + inputs.s) / inputs.n
        for j, h in enumerate(inputs.heights)
    ]
    return inputs.mean(columns)


def discernibility(inputs: MetricInput) -> Counts:
    """DM: Σ c² over published classes, n for every suppressed row (Bayardo and Agrawal 2005)."""
    return np.asarray(inputs.figures.published_squares + inputs.s * inputs.n)


def discernibility_star(inputs: MetricInput) -> Counts:
    """DM*: Σ c² over all classes (El Emam et al. 2009)."""
    return np.asarray(inputs.figures.squares + inputs.table.dropped**2)


def mean_loss(inputs: MetricInput) -> Reals:
    """The share of the leaves that a published value stands for."""
    return inputs.mean(inputs.shares())


def geometric(inputs: MetricInput) -> Reals:
    """The same, as a geometric mean over the columns."""
    return np.asarray(np.expm1(inputs.mean([np.log1p(x) for x in inputs.shares()])))


def entropy(inputs: MetricInput) -> Reals:
    """Bits lost, by how common each value is."""
    cost, total = EntropyCost(inputs.table, inputs.weights), np.zeros(len(inputs.s))
    for j, weight in enumerate(inputs.weights.tolist()):
        total += weight * (np.array(cost.base[j])[inputs.levels[j]] + inputs.figures.bits[:, j])
    return total


def class_size(inputs: MetricInput) -> Reals:
    """Average rows per class; the suppressed rows are one class."""
    classes = inputs.figures.published + (inputs.s > 0)
    return np.asarray(inputs.n / np.maximum(classes, 1) * (classes > 0))


METRICS: Mapping[str, Callable[[MetricInput], Numbers]] = {
    "height": height,
    "precision": precision,
    "sweeney": sweeney,
    "discernibility": discernibility,
    "discernibility-star": discernibility_star,
    "loss": mean_loss,
    "geometric": geometric,
    "entropy": entropy,
    "class-size": class_size,
}

EXACT = ("height", "precision", "discernibility", "discernibility-star")
"""Metrics in integers; the first two have a scale."""


# The table of all patterns of some key columns: levels, class sizes, suppressed rows, quality.


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Every pattern of a table, judged under promises; arrays hold one entry per pattern.

    Patterns are numbered with the last key column fastest. `allowed` are those that keep every promise within
    the suppression limit. `figures` and metrics of an allowed pattern are those of what would be published;
    of the others only the promises about class sizes were asked.

    `quality` names the metric by which versions are to be equally good, up to `tolerance`; `compared` are
    metrics that it is compared with.
    """

    table: Microdata
    promises: Promises
    aim: Aim
    figures: PatternFigures
    allowed: Truth
    quality: str = "loss"
    tolerance: Fraction = Fraction(0)
    compared: tuple[str, ...] = ()
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
            raise UsageError(f"a pattern has {len(self.shape)} levels, one per key column")
        for name, level, size in zip(self.names, levels, self.shape, strict=True):
            if not 0 <= level < size:
                raise UsageError(f"{name} has the levels 0 to {size - 1}")
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
            nodes = column.taxonomy.levels[:, np.unique(self.table.codes(column.name))]
            new = np.any(nodes[1:] != nodes[:-1], axis=1)
            lines.append(np.concatenate(([0], np.cumsum(new))).astype(np.int16)[levels])
        return np.array(lines, np.int16).reshape(self.grid.shape)

    def cuts(self, index: int) -> dict[str, Cut]:
        """Returns what each key column becomes under a pattern."""
        pairs = zip(self.table.keys, self.levels(index), strict=True)
        return {c.name: Cut.level(c.taxonomy, level) for c, level in pairs}

    def metric(self, name: str) -> Numbers:
        """Returns the quality of every pattern, smaller is better; exact ones are integers (see `scale`)."""
        if name not in METRICS:
            raise UsageError(f"patterns have no metric '{name}'", remedy=f"Known: {', '.join(METRICS)}.")
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
        raise UsageError("a tolerance is not negative", remedy="0 means equal quality.")
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


# Patterns in words and as JSON.

MOST_SHOWN, MOST_LISTED = 5, 100
"""So many quality classes are listed one by one: on a card, in a document."""
WIDER_TOLERANCES = (1, 5, 10, 20)
"""Tolerances in percent, beyond the asked one, to show what they would bring."""


def card(patterns: PatternTable) -> Card:
    """Returns counts, the best quality classes, and what a wider tolerance would bring."""
    allowed, classes = int(patterns.allowed.sum()), _classes(patterns)
    shape = " x ".join(map(str, patterns.shape))
    promised = " and ".join(map(str, patterns.promises))
    lines: list[tuple[str, ...]] = [
        (pluralize(patterns.count, "pattern"), f"{shape} levels of {', '.join(patterns.names)}"),
        (f"{allowed:,} allowed", f"keep {promised}" if promised else "nothing is promised"),
        (),
        *(
            (f"{patterns.quality} {_range(quality_class)}", *_counts(quality_class))
            for quality_class in classes[:MOST_SHOWN]
        ),
        *(
            [(f"{pluralize(len(classes) - MOST_SHOWN, 'more class', 'more classes')}",)]
            if len(classes) > MOST_SHOWN
            else []
        ),
        (),
        *(
            (f"within {share} % of the best", *_counts(quality_class))
            for share, quality_class in _wider(patterns)
        ),
        (),
        *_agreement_lines(patterns),
    ]
    most = expected_capacity(patterns.shape)
    apart = f"apart: none can be made from another; of all patterns at most {most:,} are"
    notes = [apart if allowed else "nothing can be published: relax a promise, or let rows be suppressed"]
    return Card(f"patterns of {pluralize(len(patterns.names), 'column')}", lines, notes)


def as_dict(patterns: PatternTable) -> JsonObject:
    """JSON-ready; of many quality classes the best are listed."""
    classes = _classes(patterns)
    apart = [] if not classes or _apart(classes[0]) is None else classes[0].antichain().tolist()
    return {
        "columns": dict(zip(patterns.names, patterns.shape, strict=True)),
        "patterns": patterns.count,
        "allowed": int(patterns.allowed.sum()),
        "expected": expected_capacity(patterns.shape),
        "quality": patterns.quality,
        "tolerance": json_ready(patterns.tolerance),
        "class_count": len(classes),
        "classes": [_document(quality_class) for quality_class in classes[:MOST_LISTED]],
        "within": {f"{share}%": _document(quality_class) for share, quality_class in _wider(patterns)},
        "apart": [patterns.named(at) for at in apart],
        "agreements": [json_ready(one) for one in _agreements(patterns)],
    }


def _agreements(patterns: PatternTable) -> tuple[Agreement, ...]:
    metrics = list(dict.fromkeys((patterns.quality, *patterns.compared)))
    return agreements(patterns, metrics, tolerance=patterns.tolerance)


def _agreement_lines(patterns: PatternTable) -> list[tuple[str, ...]]:
    compared = [
        (" / ".join(one.metrics), f"{float(one.together):.2f}", f"{float(one.best):.2f}", f"{one.order:.2f}")
        for one in _agreements(patterns)
    ]
    head = ("metrics compared", "same classes", "best class in common", "same order")
    return [head, *compared] if compared else []


def _classes(patterns: PatternTable) -> tuple[QualityClass, ...]:
    return quality_classes(patterns, patterns.quality, tolerance=patterns.tolerance)


def _wider(patterns: PatternTable) -> Iterator[tuple[int, QualityClass]]:
    for percent in WIDER_TOLERANCES:
        share = Fraction(percent, 100)
        if share > patterns.tolerance and (wider := best_class(patterns, patterns.quality, tolerance=share)):
            yield percent, wider


def _apart(quality_class: QualityClass) -> int | None:
    """Returns how many members none of which can be made from another; `None` where they are too many."""
    return len(quality_class.antichain()) if len(quality_class) <= MOST_COMPARED else None


def _range(quality_class: QualityClass) -> str:
    return (
        format_number(quality_class.quality)
        if quality_class.quality == quality_class.worst
        else f"{format_number(quality_class.quality)} to {format_number(quality_class.worst)}"
    )


def _counts(quality_class: QualityClass) -> tuple[str, str]:
    return pluralize(len(quality_class), "pattern"), f"{format_number(_apart(quality_class))} apart"


def _document(quality_class: QualityClass) -> JsonObject:
    return {
        "best": float(quality_class.quality),
        "worst": float(quality_class.worst),
        "patterns": len(quality_class),
        "apart": _apart(quality_class),
    }


# Agreement: how far metrics put the same patterns together.


@dataclass(frozen=True)
class Agreement:
    """How far two metrics put the same allowed patterns together.

    `together` is the adjusted Rand index of their quality classes: 1 if they are the same, about 0 if no more
    alike than by chance. `best` is the share of the patterns in either best class that are in both. `order`
    is Spearman's rank correlation of the patterns' qualities, 0 where one metric finds all equal.
    """

    metrics: tuple[str, str]
    together: Fraction
    best: Fraction
    order: float


def agreements(
    patterns: PatternTable, metrics: Sequence[str], *, tolerance: Fraction = Fraction(0)
) -> tuple[Agreement, ...]:
    """Returns every pair of metrics, in the order given."""
    labels, ranks = {}, {}
    for name in metrics:
        number = np.full(patterns.count, -1)
        for i, one in enumerate(quality_classes(patterns, name, tolerance=tolerance)):
            number[one.members] = i
        labels[name] = number[patterns.allowed]
        ranks[name] = _ranks(patterns.metric(name)[patterns.allowed])
    return tuple(
        Agreement(
            (a, b),
            adjusted_rand(labels[a], labels[b]),
            _overlap(labels[a] == 0, labels[b] == 0),
            _correlation(ranks[a], ranks[b]),
        )
        for a, b in combinations(metrics, 2)
    )


def adjusted_rand(one: NDArray[np.integer], other: NDArray[np.integer]) -> Fraction:
    """Hubert and Arabie's index of two partitions, from labels; 1 where both are trivial.

    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 7, 7]))
    Fraction(1, 1)
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    Fraction(-1, 2)
    """
    pairs = _pairs(np.unique(np.stack((one, other)), axis=1, return_counts=True)[1])
    in_one, in_other = (_pairs(np.unique(x, return_counts=True)[1]) for x in (one, other))
    every = len(one) * (len(one) - 1) // 2
    chance = Fraction(in_one * in_other, every) if every else Fraction(0)
    most = Fraction(in_one + in_other, 2)
    return Fraction(1) if most == chance else (pairs - chance) / (most - chance)


def _pairs(sizes: NDArray[np.integer]) -> int:
    return int((sizes.astype(np.int64) * (sizes - 1) // 2).sum())


def _overlap(one: Truth, other: Truth) -> Fraction:
    either = int((one | other).sum())
    return Fraction(int((one & other).sum()), either) if either else Fraction(1)


def _ranks(values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks, the mean rank where values are equal."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which])


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    a, b = one - one.mean() if len(one) else one, other - other.mean() if len(other) else other
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 0.0
