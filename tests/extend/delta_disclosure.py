"""delta-disclosure as a package of its own would offer it: one definition, and its second judge."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from sfumato.extend import (
    ColumnParam,
    FractionParam,
    ParametrizedPromise,
    RelativePromise,
    class_verdict,
    histogram_of,
    second_verdict,
)


@dataclass(frozen=True)
class DeltaDisclosure(ParametrizedPromise, RelativePromise):
    """In every class each value has a share that is near its share of the table: |log(q / p)| < delta.

    A value of the table that a class lacks breaks it.
    Source: Brickell and Shmatikov, *The cost of privacy*, 2008 (delta-disclosure privacy).
    """

    of: str
    delta: Fraction

    keys = (ColumnParam("of"), FractionParam("delta", strict=True))

    def holds_on(self, classes):
        # No share is e to the power of a fraction but 1, so no class stands on the limit itself.
        return largest_log_ratios(histogram_of(classes, self.of)) < float(self.delta)

    def verdict(self, classes):
        ratios = largest_log_ratios(histogram_of(classes, self.of))
        worst = int(ratios.argmax()) if len(ratios) else None
        measured = float(ratios[worst]) if len(ratios) and np.isfinite(ratios[worst]) else None
        return class_verdict(
            self, classes, self.holds_on(classes), limit=self.delta, worst=worst, measured=measured
        )

    def __str__(self):
        return f"delta-disclosure of {self.of}, delta = {self.delta}"


def largest_log_ratios(histogram):
    """The largest |log(q / p)| of every class; infinite where it lacks a value of the table."""
    shares = histogram.counts / histogram.totals[histogram.owner]
    table_shares = histogram.overall / max(1, histogram.overall.sum())
    largest = np.zeros(len(histogram.start) - 1)
    np.maximum.at(largest, histogram.owner, np.abs(np.log(shares / table_shares[histogram.values])))
    largest[np.diff(histogram.start) < (histogram.overall > 0).sum()] = np.inf
    return largest


def judged_again(tally, promise):
    """Looks at one class and one value after the other, with counts of its own."""
    spread, overall = tally.spreads[promise.of], tally.whole(promise.of)
    counts = np.zeros((len(tally.people), len(overall)), dtype=np.int64)
    counts[spread.owner, spread.value] = spread.count
    broken = np.array([not _is_near(group, overall, promise.delta) for group in counts], dtype=bool)
    return second_verdict(promise, tally, broken, measured=None, limit=promise.delta)


def _is_near(group, overall, delta):
    for held, everywhere in zip(group.tolist(), overall.tolist(), strict=True):
        if everywhere and not held:
            return False
        if held and abs(log(held * int(overall.sum()) / (int(group.sum()) * everywhere))) >= delta:
            return False
    return True
