"""Fingerprints on Adult (30,162 rows, ARX's hierarchies): every pattern classified, versions assigned.

    python -m benchmarks fingerprint [--data FOLDER]

Times are CPU seconds, the least of a few warm runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import TypeVar

from benchmarks.adult import DATA, K, table_of
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.pattern_quality import METRICS, expected_capacity, largest_antichain
from sfumato.recipients.patterns import Patterns, classify
from sfumato.recipients.versions import AvailableVersions
from sfumato.search.contract import Aim

REPEAT = 3
CLASSIFIED_IN = 1.5
"""CPU seconds for all patterns with every metric."""
RECIPIENTS = 50
ASSIGNED_IN = 2.0
"""CPU seconds for a version for each of so many."""

T = TypeVar("T")


def main(data: Path = DATA) -> list[dict[str, object]]:
    table = table_of(data, sensitive=False)

    def everything(suppress: Fraction) -> Patterns:
        patterns = classify(table, Promises((KAnonymity(K),)), Aim(suppress))
        for name in METRICS:
            patterns.metric(name)
        return patterns

    rows = []
    for suppress in (Fraction(0), Fraction(5, 100)):
        patterns, seconds = timed(lambda suppress=suppress: everything(suppress))
        counted = f"{patterns.count:,} patterns, {len(METRICS)} metrics, {patterns.allowed.sum():,} allowed"
        whole = patterns.count == prod(patterns.shape) == 12_960
        rows.append(figure(f"classify at {suppress}: {counted}", seconds, CLASSIFIED_IN, whole))
    widest, seconds = timed(lambda: largest_antichain(patterns.grid.T))
    right = len(widest) == expected_capacity(patterns.shape)
    rows.append(figure(f"largest antichain of all patterns: {len(widest):,}", seconds, None, right))
    return [*rows, *assigned(patterns)]


def assigned(patterns: Patterns) -> list[dict[str, object]]:
    """Versions for recipients; patterns are classified already."""
    rows = []
    jobs = [
        (RecipientRule("loss", Fraction(1, 2)), RECIPIENTS),
        (RecipientRule("height", Fraction(1, 2)), RECIPIENTS),
        (RecipientRule("height", Fraction(1, 5), 2), 5),
    ]
    for rule, count in jobs:
        metric = str(rule.quality)
        found, seconds = timed(lambda r=rule, n=count, m=metric: AvailableVersions(patterns, r, m).choose(n))
        said = f"{metric} within {float(rule.tolerance * 100):g} %, frame-proof {rule.frame_proof}"
        name = f"assign {count} recipients: {said}"
        rows.append(figure(name, seconds, ASSIGNED_IN, len(found) == count))
    return rows


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the least CPU seconds of a few warm runs."""
    work()
    seconds = []
    for _ in range(REPEAT):
        begin = time.process_time()
        found = work()
        seconds.append(time.process_time() - begin)
    return found, min(seconds)


def figure(name: str, seconds: float, most: float | None, right: bool) -> dict[str, object]:
    """A row of the table of benchmarks."""
    goal = "right" if most is None else f"<= {most} s"
    return {"name": name, "ours": seconds, "goal": goal, "ok": right and (most is None or seconds <= most)}
