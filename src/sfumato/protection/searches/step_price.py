"""The price of a top-down step: what it makes finer, against the rows that it suppresses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Counts
from sfumato.protection.searches.key_groups import WHOLE_PRICE, node_prices
from sfumato.protection.searches.refinement import Refinement, Split
from sfumato.protection.searches.search import Aim

Truths = NDArray[np.bool_]


class StepPrices:
    """What rows lose in the classes of a search, in whole numbers; a suppressed row loses its price.

    Measures of class sizes count the rows of its class for a row, others the generality of its values.
    """

    def __init__(self, classes: Refinement, aim: Aim, price: Fraction) -> None:
        self._classes, self._by_size = classes, aim.loss == "discernibility"
        self._prices = node_prices(classes.table, aim.weights)
        roots = sum(int(prices[0]) for prices in self._prices)
        self._cost = np.full(classes.count, roots, np.int64)
        whole = classes.table.rows + classes.table.dropped if self._by_size else WHOLE_PRICE
        self._suppressed = int(price * whole)

    def worsen(self, split: Split, before: Truths, after: Truths) -> bool:
        """Whether a step suppresses more rows than what the others gain by it is worth.

        `before` says of the parent of each part whether it is suppressed, `after` of the part.
        """
        rows = split.rows
        if int(rows[after].sum()) <= int(rows[before].sum()):
            return False
        old, new = self._costs(split)
        return self._total(rows, new, after) >= self._total(rows, old, before)

    def accept(self, split: Split) -> None:
        """Notes that the search makes this step."""
        new = self._costs(split)[1]
        cost = np.zeros(int(split.ids.max(initial=len(self._cost) - 1)) + 1, np.int64)
        cost[: len(self._cost)] = self._cost
        cost[split.ids] = new
        self._cost = cost

    def _costs(self, split: Split) -> tuple[Counts, Counts]:
        """Returns what a row of each part loses before and after the step."""
        if self._by_size:
            return self._classes.rows[split.parent], split.rows
        prices, old = self._prices[split.step.column], self._cost[split.parent]
        return old, old - prices[split.step.node] + prices[split.children[split.branch]]

    def _total(self, rows: Counts, cost: Counts, suppressed: Truths) -> int:
        left = ~suppressed
        return int(rows[left] @ cost[left]) + int(rows[suppressed].sum()) * self._suppressed
