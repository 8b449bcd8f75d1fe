"""What the safe table kept: every figure that compares it with its original, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.reports.paired_tables import MOST_GROUPS, PairedColumn, PairedTables, Reals
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, Printable, format_number, json_ready, pluralize
from sfumato.system.presentation.charts import Chart, Figure, PairedBars
from sfumato.table.microdata import Counts, Role

# A model trained on the safe table and tested on the original, beside one that was trained on that.

MOST_CLASSES = 20
"""Values that a target may have to be classified; one with more is a number to be estimated, if it is one."""

SklearnModule = Any  # scikit-learn is an optional package, so there is no type to name where it is absent


@dataclass(frozen=True)
class ModelFigures:
    """How well `target` is told from the other columns of the original table.

    `raw` is the score of a model that was trained on the original, `safe` of the same one trained on the safe
    table, `guess` of the best constant: accuracy of a logistic regression, or R² of a ridge regression where
    the target is a number. All are tested on all original rows, which both models know in their way.
    """

    target: str
    score: Literal["accuracy", "R²"]
    raw: float
    safe: float
    guess: float


def default_target(tables: PairedTables) -> str | None:
    """Returns the first sensitive column that a model could tell; `None` where there is none."""
    for column in tables.columns:
        if column.role is Role.SENSITIVE and _problem(column) is None:
            return column.name
    return None


def model_figures(tables: PairedTables, target: str) -> ModelFigures:
    """Returns the scores of both models; raises `UsageError` without a fit target or the package."""
    column = next((c for c in tables.columns if c.name == target), None)
    trouble = "is in neither table, or not published" if column is None else _problem(column)
    if column is None or trouble:
        raise UsageError(f"the target {trouble}", remedy="Name a column that is published unchanged.")
    linear, scaler = _sklearn()
    others = [c for c in tables.columns if c.name != target and c.values > 1]
    if not others:
        raise UsageError("there is no column to tell the target from", remedy="Leave the target out.")
    before = np.hstack([_raw_features(tables, c) for c in others])
    after = np.hstack([_safe_features(tables, c) for c in others])
    scale = scaler().fit(before, sample_weight=tables.raw.counts)
    before, after = scale.transform(before), scale.transform(after)
    truth = column.raw_leaf[tables.raw_codes(column)]
    low = column.low[tables.safe_codes(column)]
    rows, safe_rows = tables.raw.counts, tables.safe.counts
    if column.raw_numbers is not None and column.values > MOST_CLASSES:
        return _estimated(linear, column, (before, truth, rows), (after, low, safe_rows))
    scores = [
        _accuracy(linear, x, y, w, before, truth, rows)
        for x, y, w in ((before, truth, rows), (after, low, safe_rows))
    ]
    guess = float(column.raw_shares.max())
    return ModelFigures(target, "accuracy", scores[0], scores[1], guess)


def _problem(column: PairedColumn) -> str | None:
    """Says why a model cannot tell a column; `None` where it can."""
    if column.is_key or (column.high - column.low > 1).any():
        return "is generalized"
    if column.values < 2:
        return "has one value"
    if column.values <= MOST_CLASSES:
        return None
    if column.raw_numbers is None:
        return f"has more than {MOST_CLASSES} values that are no numbers"
    if not np.isfinite(column.raw_numbers).all():
        return "has missing numbers"
    return None


def _raw_features(tables: PairedTables, column: PairedColumn) -> Reals:
    codes = tables.raw_codes(column)
    if column.raw_numbers is not None:
        return _numeric(column, column.raw_numbers)[codes]
    return np.eye(column.group_shares.shape[1])[column.raw_group[codes]]


def _safe_features(tables: PairedTables, column: PairedColumn) -> Reals:
    codes = tables.safe_codes(column)
    if column.safe_numbers is not None:
        return _numeric(column, column.safe_numbers)[codes]
    return np.asarray(column.group_shares[codes])


def _numeric(column: PairedColumn, numbers: Reals) -> Reals:
    """Returns a number and whether it is known, for each value or text; the mean stands for a missing one."""
    assert column.raw_numbers is not None  # noqa: S101  # the caller asked
    finite = np.isfinite(column.raw_numbers)
    mean = np.average(column.raw_numbers[finite], weights=column.raw_rows[finite])
    return np.stack([np.where(np.isfinite(numbers), numbers, mean), np.isfinite(numbers)], axis=1)


def _accuracy(
    linear: SklearnModule,
    features: Reals,
    labels: NDArray[np.int64],
    weights: Counts,
    tested: Reals,
    truth: NDArray[np.int64],
    rows: Counts,
) -> float:
    if len(np.unique(labels)) < 2:
        return float(rows[truth == labels[0]].sum() / rows.sum()) if len(labels) else 0.0
    model = linear.LogisticRegression(max_iter=500).fit(features, labels, sample_weight=weights)
    return float(model.score(tested, truth, sample_weight=rows))


def _estimated(
    linear: SklearnModule,
    column: PairedColumn,
    raw: tuple[Reals, NDArray[np.int64], Counts],
    safe: tuple[Reals, NDArray[np.int64], Counts],
) -> ModelFigures:
    assert column.numbers is not None  # noqa: S101  # the caller asked
    numbers = column.numbers[1]
    scores = [
        float(
            linear.Ridge()
            .fit(x, numbers[y], sample_weight=w)
            .score(raw[0], numbers[raw[1]], sample_weight=raw[2])
        )
        for x, y, w in (raw, safe)
    ]
    return ModelFigures(column.name, "R²", scores[0], scores[1], 0.0)


def _sklearn() -> tuple[SklearnModule, SklearnModule]:
    try:
        from sklearn import linear_model  # noqa: PLC0415  # optional
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415  # optional
    except ImportError:
        raise UsageError(
            "a model needs one more package", remedy="Install it: python -m pip install 'sfumato[utility]'"
        ) from None
    return linear_model, StandardScaler


# Range queries: how many rows lie in a box, asked of both tables; the same boxes for the same seed.

QUERIES = 200
MOST_SIDES = 3
"""Columns that one query asks about, at most."""

LEAST_WIDTH, MOST_WIDTH = 0.05, 0.5
"""Shares of the leaves of a column that a side of a box may have."""

LEAST_ANSWER = 1000
"""The true answer counts as at least one row in so many, so that a box without rows does not decide all."""


@dataclass(frozen=True)
class QueryFigures:
    """How far answers of the safe table are from the true ones: |answer - truth| / max(truth, n/1000)."""

    queries: int
    seed: int
    median: float
    mean: float
    worst_tenth: float


def query_figures(tables: PairedTables, *, seed: int = 0, queries: int = QUERIES) -> QueryFigures | None:
    """Returns the errors of random counts over one to three columns; `None` where no column has two values.

    A side of a box is an interval of leaves around the value of a random original row. A published text
    counts with the share of its leaves that lie in the box; suppressed rows are in none.
    """
    columns = [column for column in tables.columns if column.values > 1]
    if not columns or not tables.rows:
        return None
    draw = np.random.default_rng(seed)
    chance = tables.raw.counts / tables.rows
    errors = np.empty(queries)
    for i in range(queries):
        sides = draw.choice(
            len(columns), size=min(len(columns), int(draw.integers(1, MOST_SIDES + 1))), replace=False
        )
        row = int(draw.choice(len(chance), p=chance))
        inside = np.ones(tables.raw.distinct, bool)
        share: Reals = np.ones(tables.safe.distinct)
        for j in sides.tolist():
            column = columns[j]
            width = max(1, round(column.leaves * float(draw.uniform(LEAST_WIDTH, MOST_WIDTH))))
            leaf = column.raw_leaf[tables.raw_codes(column)]
            low = max(0, int(leaf[row]) - int(draw.integers(0, width)))
            high = min(column.leaves, low + width)
            inside &= (leaf >= low) & (leaf < high)
            covered = np.minimum(column.high, high) - np.maximum(column.low, low)
            share *= (np.maximum(covered, 0) / (column.high - column.low))[tables.safe_codes(column)]
        truth = int(tables.raw.counts[inside].sum())
        errors[i] = abs(float(tables.safe.counts @ share) - truth) / max(truth, tables.rows / LEAST_ANSWER)
    tenth = float(np.quantile(errors, 0.9))
    return QueryFigures(queries, seed, float(np.median(errors)), float(errors.mean()), tenth)


# Figures of a whole table: class sizes, discernibility, what generalized cells cost, and what is lost.


@dataclass(frozen=True)
class TableFigures:
    """What the safe table keeps as a whole; n rows before, s of them suppressed, m key columns, D_j leaves.

    `class_size` is C_avg, published rows per class and per k (LeFevre et al. 2006). `discernibility` is DM,
    the sum of squared class sizes and s·n (Bayardo and Agrawal 2005). `ncp` is the mean penalty of a key cell
    (Xu et al. 2006): leaves it stands for / D_j, nothing for a single value; of a numeric column the width of
    its numbers / that of all; 1 for a suppressed row. `granularity` is that of ARX: 1 less the mean over key
    columns of (mean share - 1/D_j) / (1 - 1/D_j), the share of a cell being leaves / D_j, that of a
    suppressed row 1. `cells_lost` counts key cells that tell nothing (any value, the same as everybody's, a
    suppressed row, a column that is not there).
    """

    rows: int
    published: int
    suppressed: int
    keys: int
    classes: int
    k: int
    class_size: float
    discernibility: int
    ncp: float
    granularity: float
    cells: int
    cells_lost: int
    columns_lost: tuple[str, ...]

    @property
    def share_lost(self) -> float:
        """The share of the key cells that tell nothing."""
        return self.cells_lost / self.cells if self.cells else 0.0


def table_figures(tables: PairedTables) -> TableFigures:
    """Returns the figures of a whole table."""
    sizes, n, s, keys = tables.class_rows, tables.rows, tables.suppressed, tables.keys
    lost = sum(column.lost_rows + s for column in keys) + n * len(tables.gone)
    penalties = [column_penalty(column, s) for column in keys] + [1.0] * len(tables.gone)
    granularities = [column_granularity(column, s) for column in keys] + [0.0] * len(tables.gone)
    per_class = tables.safe.rows / len(sizes) if len(sizes) else 0.0
    return TableFigures(
        rows=n,
        published=tables.safe.rows,
        suppressed=s,
        keys=len(keys) + len(tables.gone),
        classes=len(sizes),
        k=tables.k,
        class_size=per_class / max(1, tables.k),
        discernibility=int(sizes @ sizes) + s * n,
        ncp=float(np.mean(penalties)) if penalties else 0.0,
        granularity=float(np.mean(granularities)) if granularities else 1.0,
        cells=n * (len(keys) + len(tables.gone)),
        cells_lost=lost,
        columns_lost=(*(c.name for c in keys if c.is_lost), *tables.gone),
    )


def column_granularity(column: PairedColumn, suppressed: int) -> float:
    """Returns 1 where every row has a single leaf, 0 where none tells anything; see `TableFigures`."""
    n = int(column.safe_rows.sum()) + suppressed
    if not n:
        return 1.0
    if column.leaves <= 1:
        return 1.0 - suppressed / n
    covered = int(column.safe_rows @ (column.high - column.low)) + suppressed * column.leaves
    return 1.0 - (covered - n) / (n * (column.leaves - 1))


def column_penalty(column: PairedColumn, suppressed: int) -> float:
    """Returns the mean penalty of a cell of this column (NCP); see `TableFigures`."""
    n = int(column.safe_rows.sum()) + suppressed
    if not n:
        return 0.0
    width = column.high - column.low
    share = np.where(width > 1, width / max(1, column.leaves), 0.0)
    if column.ordered and column.numbers is not None:
        numbers = column.numbers[1]
        extent = float(np.nanmax(numbers) - np.nanmin(numbers)) if np.isfinite(numbers).any() else 0.0
        if extent > 0:
            filled = _filled(numbers)
            share = np.clip((filled[column.high - 1] - filled[column.low]) / extent, 0.0, 1.0)
            share[width == column.leaves] = 1.0
    return float(column.safe_rows @ share + suppressed) / n


def _filled(numbers: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
    """Returns the numbers, a missing one replaced by the last before it: leaves stand in ascending order."""
    finite = np.isfinite(numbers)
    last = np.maximum.accumulate(np.where(finite, np.arange(len(numbers)), -1))
    return np.asarray(np.where(last >= 0, numbers[np.maximum(last, 0)], numbers[finite][0]))


# Figures of single columns and of pairs: how far their distributions moved, and what ties them together.

MOST_COLUMNS = 40
"""Columns of which all pairs are looked at; key columns first."""

BLOCK_ROWS = 1 << 17


@dataclass(frozen=True)
class ColumnFigures:
    """One column: values before, texts after, and how far the distribution moved.

    `distance` is the total variation, from 0 (the same shares at every leaf) to 1, a published text counting
    as each of its leaves with the same chance. `moved` is the earth mover's distance of an ordered column, in
    shares of its whole length. `mean` and `deviation` are those of numbers, before and after. `unread` counts
    published rows whose text could not be read; they count as any value.
    """

    name: str
    key: bool
    values: int
    groups: int
    lost: bool
    distance: float
    moved: float | None
    granularity: float
    ncp: float
    mean: tuple[float, float] | None
    deviation: tuple[float, float] | None
    unread: int


@dataclass(frozen=True)
class PairFigures:
    """Two columns: what ties them together, before and after.

    `distance` is the total variation of their joint distribution over at most 10 x 10 groups of values;
    `information` their mutual information in bits over these groups; `correlation` that of Pearson, for two
    numeric columns, a published text counting as the mean of its leaves.
    """

    columns: tuple[str, str]
    distance: float
    information: tuple[float, float]
    correlation: tuple[float, float] | None


def column_figures(tables: PairedTables, column: PairedColumn) -> ColumnFigures:
    """Returns the figures of one column."""
    apart = column.raw_shares - column.safe_shares
    moved = None
    if column.ordered:
        moved = float(np.abs(np.cumsum(apart)).sum()) / max(1, column.leaves - 1)
    moments = _moments(column)
    return ColumnFigures(
        column.name,
        column.is_key,
        column.values,
        column.groups,
        column.is_lost,
        float(np.abs(apart).sum()) / 2,
        moved,
        column_granularity(column, tables.suppressed),
        column_penalty(column, tables.suppressed),
        None if moments is None else (moments[0][0], moments[1][0]),
        None if moments is None else (moments[0][1], moments[1][1]),
        int(column.safe_rows[column.unread].sum()),
    )


def pair_figures(tables: PairedTables) -> tuple[PairFigures, ...]:
    """Returns the figures of all pairs among `MOST_COLUMNS` columns that had two values, keys first."""
    several = [column for column in tables.columns if column.values > 1]
    chosen = sorted(several, key=lambda column: not column.is_key)[:MOST_COLUMNS]
    return tuple(_pair(tables, left, right) for left, right in combinations(chosen, 2))


def mutual_information(joint: Reals) -> float:
    """Returns the mutual information of a joint distribution, in bits.

    >>> mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])), mutual_information(np.full((2, 2), 0.25))
    (1.0, 0.0)
    """
    alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    positive = joint > 0
    return max(0.0, round(float((joint[positive] * np.log2(joint[positive] / alone[positive])).sum()), 12))


def correlation(first: Reals, second: Reals, rows: Counts) -> float:
    """Returns Pearson's correlation of the rows that have both numbers; 0 if one is constant.

    >>> correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), np.array([1, 5, 1]))
    1.0
    """
    finite = np.isfinite(first) & np.isfinite(second)
    weights = rows[finite] / max(1, int(rows[finite].sum()))
    x, y = first[finite], second[finite]
    x, y = x - weights @ x, y - weights @ y
    spread = float(np.sqrt((weights @ (x * x)) * (weights @ (y * y))))
    return round(float(weights @ (x * y)) / spread, 12) + 0.0 if spread > 0 else 0.0


def _pair(tables: PairedTables, left: PairedColumn, right: PairedColumn) -> PairFigures:
    before, after = _raw_joint(tables, left, right), _safe_joint(tables, left, right)
    figures = None
    if left.raw_numbers is not None and right.raw_numbers is not None:
        assert left.safe_numbers is not None and right.safe_numbers is not None  # noqa: S101  # like raw
        figures = (
            correlation(
                left.raw_numbers[tables.raw_codes(left)],
                right.raw_numbers[tables.raw_codes(right)],
                tables.raw.counts,
            ),
            correlation(
                left.safe_numbers[tables.safe_codes(left)],
                right.safe_numbers[tables.safe_codes(right)],
                tables.safe.counts,
            ),
        )
    apart = float(np.abs(before - after).sum()) / 2
    information = mutual_information(before), mutual_information(after)
    return PairFigures((left.name, right.name), apart, information, figures)


def _raw_joint(tables: PairedTables, left: PairedColumn, right: PairedColumn) -> Reals:
    places = left.raw_group[tables.raw_codes(left)] * MOST_GROUPS + right.raw_group[tables.raw_codes(right)]
    sums = np.zeros(MOST_GROUPS * MOST_GROUPS, np.int64)
    np.add.at(sums, places, tables.raw.counts)
    return sums.reshape(MOST_GROUPS, MOST_GROUPS) / max(1, tables.rows)


def _safe_joint(tables: PairedTables, left: PairedColumn, right: PairedColumn) -> Reals:
    """Returns the joint distribution of two columns of the safe table, each text spread over its groups."""
    first, second = tables.safe_codes(left), tables.safe_codes(right)
    joint = np.zeros((MOST_GROUPS, MOST_GROUPS))
    for start in range(0, len(first), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        weighted = left.group_shares[first[block]] * tables.safe.counts[block, None]
        joint += weighted.T @ right.group_shares[second[block]]
    return np.asarray(joint / max(1, tables.safe.rows))


def _moments(column: PairedColumn) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Returns mean and standard deviation, before and after, of a numeric column."""
    if column.raw_numbers is None or column.safe_numbers is None:
        return None
    return _moment(column.raw_numbers, column.raw_rows), _moment(column.safe_numbers, column.safe_rows)


def _moment(numbers: Reals, rows: Counts) -> tuple[float, float]:
    """Returns mean and standard deviation, from sums that are rounded once: the same on every processor."""
    finite = np.isfinite(numbers)
    counts, values = rows[finite], numbers[finite]
    total = max(1, int(counts.sum()))
    mean = fsum(counts * values) / total
    return mean, sqrt(fsum(counts * (values - mean) ** 2) / total)


# Charts of two tables: distributions side by side, and how far columns and pairs moved.

MOST_BARS = 30
REST = "all others"
"""The last bar of a column with many values in no order: those that are not among the most frequent."""


def charts_of(
    columns: Sequence[ColumnFigures], pairs: Sequence[PairFigures], drawn: Sequence[PairedColumn]
) -> tuple[Figure, ...]:
    """Returns one chart per key column, before and after, then how far columns and pairs moved.

    Groups of values are numbered, not named: a chart holds no value of the original.
    """
    moved = Chart(
        "moved-by-column",
        "How far the distribution of each column moved",
        "bars",
        ("column", "total variation"),
        [(figures.name, figures.distance) for figures in columns if not figures.lost][:MOST_BARS],
        percent=True,
    )
    worst = sorted(pairs, key=lambda pair: -pair.distance)[:MOST_BARS]
    together = Chart(
        "moved-by-pair",
        "How far the joint distribution of two columns moved",
        "bars",
        ("columns", "total variation"),
        [(" and ".join(pair.columns), pair.distance) for pair in worst],
        [f"{a:.3g} → {b:.3g} bits shared" for a, b in (pair.information for pair in worst)],
        percent=True,
    )
    return (*(_side_by_side(column, i) for i, column in enumerate(drawn, 1)), moved, together)


def _side_by_side(column: PairedColumn, number: int) -> PairedBars:
    used = int(column.group_of_leaf.max(initial=0)) + 1
    before = [float(column.raw_shares[column.group_of_leaf == g].sum()) for g in range(used)]
    after = [float(column.safe_shares[column.group_of_leaf == g].sum()) for g in range(used)]
    labels, order = [str(number) for number in range(1, used + 1)], list(range(used))
    each = column.leaves <= MOST_GROUPS
    if column.ordered:
        kind = "each value, in order" if each else "tenths of the original, in order"
    else:
        kind = "most frequent values first"
        remainder = order[:0] if each else order[-1:]
        order = sorted(order[: used - len(remainder)], key=lambda group: -before[group]) + remainder
        labels[used - len(remainder) :] = [REST for _ in remainder]
    return PairedBars(
        f"column-{number:02}",
        f"{column.name}: {kind}",
        ("group", "share of the rows"),
        ("original", "safe"),
        [(label, before[group], after[group]) for label, group in zip(labels, order, strict=True)],
    )


NOT_FOR_PUBLICATION = "not for publication: these figures were taken from the original table, too"
MOST_PAIRS_SHOWN = 5


@dataclass(frozen=True)
class Price:
    """What a table would be under another policy: `change` says which, `loss` is the policy's measure.

    `loss` is `None` where no table can keep that policy.
    """

    change: str
    loss: float | None
    suppressed: int | None
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Usefulness(Printable):
    """Aggregates that say what the safe table still tells of the original; no cell of it.

    `prices` holds what the policy costs as it is, first, and what it would without each promise and with
    k + 1. All of it is for the owner, except what `published` gives: that can be taken from the safe table
    alone.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> plan = sf.protect(people, k=2, quasi="age", sensitive="disease")
    >>> use = sf.compare(people, plan.apply(people), plan.policy)
    >>> [(column.name, column.values, column.groups) for column in use.columns]
    [('age', 4, 2), ('disease', 3, 3)]
    """

    table: TableFigures
    columns: tuple[ColumnFigures, ...]
    pairs: tuple[PairFigures, ...]
    queries: QueryFigures | None
    model: ModelFigures | None
    prices: tuple[Price, ...]
    notes: tuple[str, ...]
    drawn: tuple[PairedColumn, ...]

    @property
    def published(self) -> JsonObject:
        """What anybody can count in the safe table: rows, classes, and class size by k."""
        whole = self.table
        return {
            "rows": whole.published,
            "classes": whole.classes,
            "k": whole.k,
            "class_size": whole.class_size,
        }

    def as_dict(self) -> JsonObject:
        """Returns JSON, under the names of the attributes."""
        return {
            "not_for_publication": True,
            "table": {**json_ready(self.table), "share_lost": self.table.share_lost},
            "columns": {column.name: json_ready(column) for column in self.columns},
            "pairs": json_ready(self.pairs),
            "queries": json_ready(self.queries),
            "model": json_ready(self.model),
            "prices": json_ready(self.prices),
            "notes": list(self.notes),
            "published": self.published,
        }

    def charts(self) -> Sequence[Figure]:
        """Returns each key column before and after, and how far columns and pairs moved."""
        return charts_of(self.columns, self.pairs, self.drawn)

    def card(self) -> Card:
        """Returns the figures on a few lines."""
        whole = self.table
        head: list[tuple[str, ...]] = [
            ("key cells that tell nothing", f"{whole.share_lost:.1%}", _named(whole.columns_lost)),
            ("rows suppressed", f"{whole.suppressed:,} of {whole.rows:,}"),
            ("classes", f"{whole.classes:,}", f"{format_number(whole.class_size)} times k rows each"),
            ("granularity", format_number(whole.granularity), f"NCP {format_number(whole.ncp)}"),
            ("discernibility", format_number(whole.discernibility)),
        ]
        if self.queries is not None:
            errors = f"median error {self.queries.median:.1%}, a tenth above {self.queries.worst_tenth:.1%}"
            head.append(("range queries", f"{self.queries.queries}", errors))
        if self.model is not None:
            head.append(_model_line(self.model))
        lines = [*head, (), *map(_column_line, self.columns), (), *map(_pair_line, self._worst_pairs)]
        lines += [(), *map(_price_line, self.prices)] if self.prices else []
        return Card("what the safe table kept", lines, (*self.notes, NOT_FOR_PUBLICATION))

    @property
    def _worst_pairs(self) -> list[PairFigures]:
        return sorted(self.pairs, key=lambda pair: -pair.distance)[:MOST_PAIRS_SHOWN]

    def __repr__(self) -> str:
        return f"Usefulness({len(self.columns)} columns, {self.table.share_lost:.1%} of the key cells lost)"


def measure_usefulness(
    tables: PairedTables,
    *,
    seed: int = 0,
    model: ModelFigures | None = None,
    prices: Sequence[Price] = (),
    notes: Sequence[str] = (),
) -> Usefulness:
    """Returns every figure of two tables; a model and prices are the caller's."""
    columns = tuple(column_figures(tables, column) for column in tables.columns)
    unread = [
        f"{pluralize(c.unread, 'row')} of {c.name} with a text that cannot be read"
        for c in columns
        if c.unread
    ]
    if unread:
        unread.append("they count as any value; hand in the policy that the table was published under")
    return Usefulness(
        table_figures(tables),
        columns,
        pair_figures(tables),
        query_figures(tables, seed=seed),
        model,
        tuple(prices),
        (*notes, *unread),
        tables.keys,
    )


def _named(columns: Sequence[str]) -> str:
    return f"{pluralize(len(columns), 'column')} lost: {', '.join(columns)}" if columns else "no column lost"


def _model_line(model: ModelFigures) -> tuple[str, ...]:
    scores = f"{model.score} {format_number(model.safe)}, with the original {format_number(model.raw)}"
    return "a model of", model.target, f"{scores}, by guess {format_number(model.guess)}"


def _column_line(column: ColumnFigures) -> tuple[str, ...]:
    before = pluralize(column.values, "value")
    after = pluralize(column.groups, "group") if column.key else pluralize(column.groups, "value")
    mean = (
        ""
        if column.mean is None
        else f"mean {format_number(column.mean[0])} → {format_number(column.mean[1])}"
    )
    if column.lost:  # * is not near to what it hides, however evenly that is spread
        return column.name, f"{before} → *", "nothing is left"
    return column.name, f"{before} → {after}", f"moved {format_number(column.distance)}", mean


def _pair_line(pair: PairFigures) -> tuple[str, ...]:
    bits = f"{format_number(pair.information[0])} → {format_number(pair.information[1])} bits shared"
    tie = pair.correlation
    correlation_text = "" if tie is None else f"correlation {format_number(tie[0])} → {format_number(tie[1])}"
    return " and ".join(pair.columns), f"moved {format_number(pair.distance)}", bits, correlation_text


def _price_line(price: Price) -> tuple[str, ...]:
    if price.loss is None:
        return price.change, "no table"
    return (
        price.change,
        f"loss {format_number(price.loss)}",
        f"{pluralize(price.suppressed or 0, 'row')} suppressed",
    )
