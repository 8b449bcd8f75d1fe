"""Charts of two tables: distributions side by side, and how far columns and pairs moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.show.chart import Chart, Figure, PairedBars
from sfumato.usefulness.column_figures import ColumnFigures, PairFigures
from sfumato.usefulness.paired_column import MOST_GROUPS, PairedColumn

MOST_BARS = 30


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
    groups = np.arange(MOST_GROUPS)
    before = [float(column.raw_shares[column.group_of_leaf == g].sum()) for g in groups]
    after = [float(column.safe_shares[column.group_of_leaf == g].sum()) for g in groups]
    used = int(column.group_of_leaf.max(initial=0)) + 1
    kind = "tenths of the original, in order" if column.ordered else "most frequent values first"
    return PairedBars(
        f"column-{number:02}",
        f"{column.name}: {kind}",
        ("group", "share of the rows"),
        ("original", "safe"),
        [(str(g + 1), before[g], after[g]) for g in range(used)],
    )
