"""Charts of two tables: distributions side by side, and how far columns and pairs moved."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.show.chart import Chart, Figure, PairedBars
from sfumato.usefulness.column_figures import ColumnFigures, PairFigures
from sfumato.usefulness.paired_column import MOST_GROUPS, PairedColumn

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
        [(one.name, one.distance) for one in columns[:MOST_BARS]],
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
        rest = order[:0] if each else order[-1:]
        order = sorted(order[: used - len(rest)], key=lambda group: -before[group]) + rest
        labels[used - len(rest) :] = [REST for _ in rest]
    return PairedBars(
        f"column-{number:02}",
        f"{column.name}: {kind}",
        ("group", "share of the rows"),
        ("original", "safe"),
        [(label, before[group], after[group]) for label, group in zip(labels, order, strict=True)],
    )
