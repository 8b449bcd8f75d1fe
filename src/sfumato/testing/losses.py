"""What every loss must do: run `check_loss` on yours before a search keeps it small."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.recoding import Recoding
from sfumato.protection.loss import UNPRICED, MeasuredRecoding, column_weights
from sfumato.testing.claims import require
from sfumato.testing.searches import random_tables

ROUNDING = 1e-9
"""By so much, as a share, a loss may fall for the sake of floats alone."""


def check_loss(measure: Callable[[MeasuredRecoding], float], *, tables: int = 40, seed: int = 0) -> None:
    """Checks a loss on small random tables; raises `AssertionError` with a sentence if it fails.

    It is a finite number, not negative, the same for the same rows in whatever order, and it never falls when
    a value becomes more general: exact searches rely on that.

    >>> from sfumato.protection.loss import MEASURES
    >>> check_loss(MEASURES["entropy"], tables=3)
    """
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        table, again = random_tables(rng)
        cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
        before = _measured(measure, Recoding.of_cuts(table, cuts))
        while True:
            same = _measured(measure, Recoding.of_cuts(again, cuts))
            require(abs(same - before) <= ROUNDING * max(1.0, before), "it depends on the order of rows")
            coarser = [(name, node) for name, cut in cuts.items() for node in _parents(cut)]
            if not coarser:
                break
            name, node = coarser[int(rng.integers(len(coarser)))]
            cuts = {**cuts, name: _raised(cuts[name], node)}
            after = _measured(measure, Recoding.of_cuts(table, cuts))
            require(after >= before - ROUNDING * max(1.0, before), "it falls where a table is more general")
            before = after


def _measured(measure: Callable[[MeasuredRecoding], float], recoding: Recoding) -> float:
    weights = column_weights(recoding.table.keys, None)
    found = float(measure(MeasuredRecoding(recoding, None, weights, UNPRICED)))
    require(isfinite(found) and found >= 0, "it is not a finite number of at least 0")
    return found


def _parents(cut: Cut) -> list[int]:
    parents = cut.taxonomy.parent[cut.nodes]
    return sorted({int(v) for v in parents.tolist() if v >= 0})


def _raised(cut: Cut, node: int) -> Cut:
    """The finest cut above this one that publishes the node."""
    tree, node_of = cut.taxonomy, cut.node_of.copy()
    node_of[tree.low[node] : tree.high[node]] = node
    return Cut(tree, node_of)
