"""Losses of a recoding: one number each, smaller is better.

Throughout, n counts all rows of the source, s the suppressed ones among them (those left out beforehand
for missing cells included), m the key columns. A suppressed row counts as `price` fully generalized ones, 1
unless said otherwise; `entropy` multiplies the bits that suppression adds, and `discernibility-star`,
`class-size` and `height` know no price. An empty table loses nothing. Column weights (default 1) apply to the
measures that add up columns: `loss`, `geometric`, `entropy`, `precision` and `height`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.policy.searches import BUILT_IN_LOSSES, LOSS_GROUP, known_losses
from sfumato.system import plugins
from sfumato.system.errors import UsageError
from sfumato.system.presentation.cards import format_number, pluralize
from sfumato.table.microdata import Column, Counts
from sfumato.table.recoding import SUPPRESSED, Recoding, classes_under
from sfumato.table.taxonomy import Nodes, Taxonomy

Levels = Mapping[str, int]
Reals = NDArray[np.float64]

UNPRICED = Fraction(1)
"""The price of a suppressed row where none is given."""


@dataclass(frozen=True, eq=False)
class MeasuredRecoding:
    """A recoding to be measured; `levels` if it is a full-domain one; a weight per key column; the price."""

    recoding: Recoding
    levels: Levels | None
    weights: Reals
    price: Fraction = UNPRICED

    @property
    def n(self) -> int:
        table = self.recoding.table
        return table.rows + table.dropped

    @property
    def s(self) -> int:
        return self.recoding.suppressed

    def mean(self, values: Reals) -> float:
        """Returns the weighted mean over the key columns."""
        return fsum((values * self.weights).tolist()) / fsum(self.weights.tolist()) if len(values) else 0.0


Measure = Callable[[MeasuredRecoding], float]
"""A loss: a number of a recoding, smaller is better, that never falls when a table becomes more general."""
M = TypeVar("M", bound=Measure)

MEASURES: dict[str, Measure] = {}
"""The built-in losses of the modules that are loaded, by name."""


def built_in_loss(
    name: str, meaning: str, *, by_level: bool = False, by_size: bool = False, needs_levels: bool = False
) -> Callable[[M], M]:
    """Offers a function as a built-in loss, under its name in policies.

    `sfumato.policy.searches` reads these words from the file without importing it, so they are literals.

    Args:
        name: what a policy writes after `loss:`.
        meaning: what the number is, for the schema and for pages.
        by_level: what a combination of levels loses is told without its recoding, by a `NodeCost` for the
            lattice search and by a measure of `recipients.pattern_quality` for versions.
        by_size: it is about the sizes of classes, not about how general values are.
        needs_levels: it is defined for recodings alone in which every column is at one level.
    """
    del meaning, by_level, by_size, needs_levels  # read from the file

    def offer(measure: M) -> M:
        MEASURES[name] = measure
        return measure

    return offer


def measure(
    name: str,
    recoding: Recoding,
    levels: Levels | None = None,
    weights: Mapping[str, Fraction] | None = None,
    price: Fraction | None = None,
) -> float:
    """Returns the loss of a recoding under the measure with this name (see `MEASURES`).

    `levels`, column -> level, is what a full-domain recoding was made of; only `height` cannot do without.
    `price` is what a suppressed row costs, in fully generalized rows.
    """
    dear = column_weights(recoding.table.keys, weights)
    return find_measure(name)(MeasuredRecoding(recoding, levels, dear, price or UNPRICED))


def find_measure(name: str) -> Measure:
    """Returns the measure with this name; raises `UsageError` if there is none.

    A package may offer measures of its own by entry point: functions of a `MeasuredRecoding` that never fall
    when a table becomes more general (`sfumato.testing.check_loss`).
    """
    if name in BUILT_IN_LOSSES:
        built_in: Measure = BUILT_IN_LOSSES[name].load()
        return built_in
    offered: Measure | None = plugins.find(LOSS_GROUP, name, taken=BUILT_IN_LOSSES)
    if offered is None:
        raise UsageError(f"unknown loss '{name}'", remedy=f"Known: {', '.join(known_losses())}.")
    return offered


def column_weights(keys: Sequence[Column], weights: Mapping[str, Fraction] | None) -> Reals:
    """Returns one weight per key column; 1 where none is given."""
    by_name = dict(weights or {})
    chosen = np.array([float(by_name.get(c.name, 1)) for c in keys])
    if len(chosen) and not (chosen.min() >= 0 and chosen.sum() > 0):
        raise UsageError("weights must not be negative, nor all zero", remedy="No weight means 1.")
    return chosen


@built_in_loss("loss", "mean share of the values that a published value stands for", by_level=True)
def mean_loss(case: MeasuredRecoding) -> float:
    """Mean over the columns of x_j = (Σ_rows share - n/D) / (n - n/D): see `column_losses`.

    Source: ARX, quality model "loss" with arithmetic mean; after Iyengar 2002.
    """
    return case.mean(column_losses(case))


@built_in_loss("geometric", "the same, as a geometric mean over the columns", by_level=True)
def geometric_loss(case: MeasuredRecoding) -> float:
    """(Π_j (1 + x_j))^(1/m) - 1, the x_j as in `mean_loss`. Source: ARX, "loss" with geometric mean."""
    return float(np.expm1(case.mean(np.log1p(column_losses(case)))))


def column_losses(case: MeasuredRecoding) -> Reals:
    """x_j per key column: 0 when every leaf stays, 1 when every row is `*`.

    The share of a published value is (leaves it covers) / D, of a suppressed row 1; D is the number of
    leaves of the taxonomy, whether they occur or not. Multiplied by D, shares are integers. With a price a
    suppressed row adds as much as that many rows of `*`.
    """
    recoding = case.recoding
    covered = recoding.rows @ (recoding.high - recoding.low).astype(np.int64)
    losses = []
    for j, column in enumerate(recoding.table.keys):
        domain = leaves_of(column.taxonomy)
        losses.append(share_loss(int(covered[j]) + case.s * domain, case.n, case.s, domain, case.price))
    return np.array(losses)


def share_loss(covered: int, n: int, s: int, domain: int, price: Fraction = UNPRICED) -> float:
    """(A/D - n/D) / (n - n/D), where A adds up the leaves covered; s/n where D is 1; more with a price.

    >>> share_loss(covered=2 * 4 + 1 * 6, n=10, s=1, domain=6), share_loss(10, 10, s=3, domain=1)
    (0.08, 0.3)
    >>> share_loss(covered=2 * 4 + 1 * 6, n=10, s=1, domain=6, price=Fraction(3))
    0.28
    """
    if n == 0:
        return 0.0
    dear, whole = price.numerator, price.denominator
    if domain == 1:
        return s * dear / (n * whole)
    return (whole * (covered - n) + (dear - whole) * s * (domain - 1)) / (whole * n * (domain - 1))


@built_in_loss("entropy", "bits lost, by how common each value is", by_level=True)
def entropy(case: MeasuredRecoding) -> float:
    """Bits lost: Σ_j [ Σ_rows log2(F(generalized)/F(value)) + Σ_g c_g·log2(s/c_g) ].

    F counts rows of the table with the value, or with any value below the generalized one. A suppressed
    row is first generalized as the cuts say (not at all where there are none); then c_g of the s suppressed
    rows with the generalized value g become `*`. Rows left out beforehand have no codes and do not count.

    Source: non-uniform entropy of Gionis and Tassa 2009, as ARX extends it to suppressed rows.
    """
    return fsum(w * _column_entropy(case, j) for j, w in enumerate(case.weights.tolist()))


def _column_entropy(case: MeasuredRecoding, j: int) -> float:
    recoding = case.recoding
    table, column = recoding.table, recoding.table.keys[j]
    codes, out = table.codes(column.name), recoding.class_of == SUPPRESSED
    frequency = tally(codes, table.counts, leaves_of(column.taxonomy))
    leaf: NDArray[np.integer] = np.arange(len(frequency))
    low, alone = leaf, _log_covered(frequency, leaf, leaf + 1)
    if recoding.cuts is not None:  # then a value becomes the same in every class
        node = recoding.cuts[column.name].node_of
        low, high = column.taxonomy.low[node], column.taxonomy.high[node]
        bits = float(frequency @ (_log_covered(frequency, low, high) - alone))
    else:
        spread = alone[codes]
        published = _log_covered(frequency, recoding.low[:, j], recoding.high[:, j])
        spread[~out] = published[recoding.class_of[~out]]
        bits = float(table.counts @ (spread - alone[codes]))
    gone = tally(low[codes[out]], table.counts[out], len(frequency)) if out.any() else frequency[:0]
    return bits + shuffled_bits(gone) * float(case.price)


def _log_covered(frequency: Counts, low: NDArray[np.integer], high: NDArray[np.integer]) -> Reals:
    """Returns log2 of the rows with the leaf ranks low .. high-1; 0 where there is none."""
    running = np.concatenate(([0], np.cumsum(frequency)))
    return np.asarray(np.log2(np.maximum(running[high] - running[low], 1)), dtype=np.float64)


def shuffled_bits(sizes: Counts) -> float:
    """Σ c·log2(S/c), S the sum of the sizes: the bits of knowing which of the groups each member is in.

    >>> shuffled_bits(np.array([2, 0, 2])), shuffled_bits(np.array([0]))
    (4.0, 0.0)
    """
    sizes = sizes[sizes > 0]
    return float(sizes @ (np.log2(sizes.sum()) - np.log2(sizes))) if len(sizes) else 0.0


@built_in_loss("precision", "mean level over height", by_level=True)
def precision(case: MeasuredRecoding) -> float:
    """Mean over the columns of [ Σ_published level/height + s ] / n; level/height is 0 where the height is.

    Without `levels` each value has the least level at which its leaves are under one node.
    Source: Sweeney 2002 (there as 1 - loss); ARX, quality model "precision".
    """
    if case.n == 0:
        return 0.0
    recoding, shares = case.recoding, []
    for j, column in enumerate(recoding.table.keys):
        if case.levels is not None:
            steps = case.levels[column.name] * (case.n - case.s)
        else:
            steps = int(recoding.rows @ _level_of(column.taxonomy, recoding.low[:, j], recoding.high[:, j]))
        shares.append((steps / max(1, column.taxonomy.height) + float(case.s * case.price)) / case.n)
    return case.mean(np.array(shares))


@built_in_loss("discernibility", "sum of squared class sizes", by_level=True, by_size=True)
def discernibility(case: MeasuredRecoding) -> float:
    """DM: Σ_published c² + s·n·price: each row is confused with its class, a suppressed one with every row.

    Source: Bayardo and Agrawal 2005.
    """
    return float(_squares(case.recoding.rows) + case.s * case.n * case.price)


@built_in_loss("discernibility-star", "the same, suppressed rows not punished", by_level=True, by_size=True)
def discernibility_star(case: MeasuredRecoding) -> float:
    """DM*: Σ c² over all classes the cuts form, published or not; no penalty for suppression.

    Suppressed rows whose class is not known count as one class. Source: El Emam et al. 2009.
    """
    table, unknown = case.recoding.table, case.s
    total = _squares(case.recoding.rows)
    if case.recoding.cuts is not None and unknown > table.dropped:
        class_of, nodes = classes_under(table, case.recoding.cuts)
        total = _squares(tally(class_of, table.counts, len(nodes)))
        unknown = table.dropped
    return float(total + unknown**2)


@built_in_loss("class-size", "average class size over k", by_level=True, by_size=True)
def class_size(case: MeasuredRecoding) -> float:
    """Average rows per class, n / classes; the suppressed rows, if any, are one class.

    Source: LeFevre et al. 2006 (there divided by k); ARX, "average equivalence class size".
    """
    classes = case.recoding.count + (case.s > 0)
    return case.n / classes if classes else 0.0


@built_in_loss("height", "sum of levels", by_level=True, needs_levels=True)
def height(case: MeasuredRecoding) -> float:
    """Σ_j level_j. Source: Samarati 2001."""
    if case.levels is None:
        raise UsageError("the loss 'height' needs a full-domain recoding", remedy="Use 'precision' instead.")
    levels = [case.levels[c.name] for c in case.recoding.table.keys]
    return fsum((case.weights * levels).tolist())


def leaves_of(taxonomy: Taxonomy) -> int:
    """Returns D, the number of leaves, at least 1."""
    return max(1, len(taxonomy.leaves))


def _squares(sizes: Counts) -> int:
    return int(sizes @ sizes)


def tally(ids: NDArray[np.integer], counts: Counts, length: int) -> Counts:
    """Returns the sum of the counts of each number below a length, exactly."""
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, ids, counts)
    return sums


def _level_of(taxonomy: Taxonomy, low: NDArray[np.integer], high: NDArray[np.integer]) -> Counts:
    """Returns the least level at which the leaves low .. high-1 are under one node."""
    covered = taxonomy.high[taxonomy.levels[:, low]] >= high
    return np.asarray(np.argmax(covered, axis=0), dtype=np.int64)


# Lost cells: how much of the key columns a recoding tells nothing of any more.


@dataclass(frozen=True)
class LostCells:
    """Which key columns are lost for everybody, and the share of all key cells that are lost.

    A cell is lost where its row is suppressed, where it becomes its taxonomy's root, and where the whole
    column becomes one group.
    """

    columns: tuple[str, ...]
    share: Fraction

    @classmethod
    def of(cls, recoding: Recoding) -> LostCells:
        table = recoding.table
        published = int(recoding.rows.sum())
        columns, cells = [], 0
        for j, column in enumerate(table.keys):
            root = (recoding.low[:, j] == 0) & (recoding.high[:, j] == len(column.taxonomy.leaves))
            lost = published if is_one_group(recoding, j) else int(recoding.rows[root].sum())
            if len(table.held_codes(column.name)) < 2:
                lost = 0
            elif lost == published:
                columns.append(column.name)
            cells += lost + recoding.suppressed
        whole = (published + recoding.suppressed) * len(table.keys)
        return cls(tuple(columns), Fraction(cells, max(1, whole)))


# The shape of a column before and after: values, published groups, and their depth in the tree.


@dataclass(frozen=True)
class ColumnShape:
    """One column before and after.

    `values` counts the values that occur, `groups` the different values that are published, `kept` those of
    them that are as fine as the policy lets them be: raw values, unless the column begins at a higher level,
    `start`. `depths` maps depth in the tree (0: the root) to published groups; `level`, counted from there,
    is set where the search is full-domain. `everything` is the text that is published for everybody, where
    one node above all values of the tree is: `*`, or what the policy calls it.
    """

    column: str
    values: int
    groups: int
    kept: int
    depths: Mapping[int, int]
    height: int
    level: int | None = None
    start: int = 0
    everything: str | None = None

    @property
    def lost(self) -> bool:
        """Whether everybody gets the text that stands for all values of the tree."""
        return self.everything is not None and self.values > 1

    @property
    def line(self) -> tuple[str, ...]:
        """Cells for a card."""
        if self.everything is not None and self.lost:
            became = self.everything
        elif self.groups == self.kept == self.values:
            finest = f"{pluralize(self.groups, 'group')} at its finest level"
            became = finest if self.start else "as it is"
        else:
            raw = "a raw value" if self.kept == 1 else "raw values"
            finest = raw if not self.start else "at its finest level"
            became = pluralize(self.groups, "group")
            became += f", {format_number(self.kept)} of them {finest}" if self.kept else ""
        last = self.height + self.start
        level = "" if self.level is None else f" (level {self.level + self.start} of {last})"
        return (self.column, f"{pluralize(self.values, 'value')} →", became + level)


def lost_columns(recoding: Recoding) -> tuple[str, ...]:
    """Returns the key columns that have several values and publish one group for everybody."""
    table = recoding.table
    lost = (column.name for j, column in enumerate(table.keys) if is_one_group(recoding, j))
    return tuple(name for name in lost if len(table.held_codes(name)) > 1)


def is_one_group(recoding: Recoding, j: int) -> bool:
    """Whether all classes publish the same in key column j; also where there is no class."""
    low, high = recoding.low[:, j], recoding.high[:, j]
    return bool((low == low[:1]).all() and (high == high[:1]).all())


def shape_of(recoding: Recoding, j: int, level: int | None = None) -> ColumnShape:
    """Returns the shape of key column j."""
    column = recoding.table.keys[j]
    taxonomy = column.taxonomy
    boxes = _different_intervals(recoding.low[:, j], recoding.high[:, j])
    nodes = covering_nodes(recoding, j, boxes)
    depths = Counter(taxonomy.depth[nodes].tolist())
    return ColumnShape(
        column.name,
        len(recoding.table.held_codes(column.name)),
        len(boxes),
        int((taxonomy.end[nodes] == nodes + 1).sum()),
        dict(sorted(depths.items())),
        taxonomy.height,
        level,
        taxonomy.start,
        _everything(recoding, j, boxes),
    )


def _different_intervals(low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the intervals that differ, each once and in order, as rows of a low and a high end.

    >>> _different_intervals(np.array([3, 0, 3], np.int32), np.array([4, 3, 4], np.int32)).tolist()
    [[0, 3], [3, 4]]
    """
    ends = np.unique(low.astype(np.int64) << 32 | high)
    return np.stack([ends >> 32, ends & 0xFFFFFFFF], axis=1).astype(np.int32)


def _everything(recoding: Recoding, j: int, boxes: NDArray[np.int32]) -> str | None:
    """Returns the text of the only group that column j publishes, if all leaves of its tree are in it."""
    leaves = len(recoding.table.keys[j].taxonomy.leaves)
    if leaves < 2 or boxes.tolist() != [[0, leaves]]:  # a single leaf is a raw value
        return None
    return recoding.texts(j)[0][0]


def covering_nodes(recoding: Recoding, j: int, boxes: NDArray[np.int32]) -> Nodes:
    """Returns the lowest node over each interval of leaf ranks."""
    taxonomy = recoding.table.keys[j].taxonomy
    if recoding.cuts is not None:
        return np.asarray(recoding.cuts[recoding.table.keys[j].name].node_of[boxes[:, 0]], np.int32)
    nodes = taxonomy.leaves[boxes[:, 0]]
    while np.any(short := taxonomy.high[nodes] < boxes[:, 1]):
        nodes = np.where(short, taxonomy.parent[nodes], nodes)
    return nodes


def published_nodes(recoding: Recoding, j: int) -> list[int]:
    """Returns the nodes that column j of a global recoding publishes, left to right."""
    assert recoding.cuts is not None  # noqa: S101  # only global recodings publish nodes of one cut
    node_of = recoding.cuts[recoding.table.keys[j].name].node_of
    nodes: list[int] = np.unique(node_of[recoding.low[:, j]]).tolist()
    return nodes
