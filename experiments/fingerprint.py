"""Fingerprints: the paper's tables and figures, and on Adult (ARX's hierarchies, 12,960 patterns) how many
recipients can be served, and how surely a leak names its source.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.adult import table_of

from experiments import fingerprint_paper
from experiments.drawing import draw_figure
from experiments.fingerprint_leaks import (
    LEAKS,
    TRIALS,
    PatternAssignment,
    by_generalization,
    by_size,
)
from experiments.pattern_charts import lattice_chart, level_tree, quality_map
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.pattern_quality import agreements
from sfumato.recipients.patterns import Patterns, classify
from sfumato.recipients.versions import AvailableVersions
from sfumato.search.contract import Aim
from sfumato.system.presentation.charts import Lines, save
from sfumato.table.microdata import Microdata

KS = (2, 5, 10, 20, 50, 100)
TOLERANCES = (0, 1, 2, 5, 10, 20, 50)
METRICS = ("height", "precision", "loss", "entropy", "discernibility")
COMPARED = (*METRICS, "discernibility-star")
SUPPRESS = (0, 5)

Row = dict[str, Any]


def main(data: Path, out: Path) -> list[Row]:
    table = table_of(data, sensitive=False)
    found = [*_told("paper", fingerprint_paper.main(out), out)]
    found += _told("capacity", capacity(table), out)
    found += _told("guarded", guarded(table), out)
    found += _told("agreement", agreement(table), out)
    draw_figure(_capacity_figure(found), out)
    patterns = classified(table, 5, 5)
    trees = [level_tree(c, set(c.taxonomy.labels), i + 1) for i, c in enumerate(table.keys)]
    maps = [lattice_chart(patterns, "loss"), quality_map(patterns, "loss", Fraction(5, 100))]
    save([*trees, *maps], out / "fingerprint-adult")
    leaked: list[Row] = []
    for name, assignment, leaks in (
        ("antichain", PatternAssignment.of(table, frame_proof=1, recipients=50), LEAKS),
        ("frame-proof", PatternAssignment.of(table, frame_proof=3, recipients=6), TRIALS),
    ):
        for part, rows in (
            ("size", list(by_size(assignment, leaks))),
            ("generalization", list(by_generalization(assignment, TRIALS))),
        ):
            found += _told(f"{name}-{part}", rows, out)
            leaked += [
                {"recipients": f"{len(assignment.chosen)}, {name}", **row} for row in found[-len(rows) :]
            ]
    _told("leaks", leaked, out)
    return found


def classified(table: Microdata, k: int, percent: int) -> Patterns:
    return classify(table, Promises((KAnonymity(k),)), Aim(Fraction(percent, 100)))


def capacity(table: Microdata) -> Iterator[Row]:
    """Recipients by k, suppression, metric and tolerance, none of whom can make another's version."""
    for percent in SUPPRESS:
        for k in KS:
            begin = time.process_time()
            patterns = classified(table, k, percent)
            seconds = time.process_time() - begin
            for metric in METRICS:
                versions = AvailableVersions(patterns, RecipientRule(quality=metric), metric)
                served = {f"{share} %": versions.most(Fraction(share, 100)) for share in TOLERANCES}
                allowed = int(patterns.allowed.sum())
                yield {
                    "k": k,
                    "suppress": f"{percent} %",
                    "allowed": allowed,
                    "metric": metric,
                    **served,
                    "CPU s": seconds,
                }


RULES = {
    "nobody frames another": RecipientRule(),
    "no two do": RecipientRule(frame_proof=2),
    "no three do": RecipientRule(frame_proof=3),
}


def guarded(table: Microdata) -> Iterator[Row]:
    """Recipients by what they are safe from, nothing suppressed; beyond one framer as many as were found."""
    for k in KS:
        patterns = classified(table, k, 0)
        for metric in ("height", "loss"):
            for name, rule in RULES.items():
                versions = AvailableVersions(patterns, rule, metric)
                served = {f"{share} %": versions.most(Fraction(share, 100)) for share in (0, 5, 10, 20)}
                yield {"k": k, "metric": metric, "safe": name, **served}


def agreement(table: Microdata) -> Iterator[Row]:
    """How far metrics agree on what is equally good, k = 5, 5 % suppressed, 5 % tolerance."""
    for one in agreements(classified(table, 5, 5), COMPARED, tolerance=Fraction(5, 100)):
        yield {
            "metrics": " / ".join(one.metrics),
            "adjusted Rand": float(one.together),
            "best class in common": float(one.best),
            "rank correlation": one.order,
        }


def _capacity_figure(rows: Iterable[Row]) -> Lines:
    """Capacity against tolerance by loss, 5 % suppressed."""
    chosen = [row for row in rows if row.get("metric") == "loss" and row.get("suppress") == "5 %"]
    series = {
        f"k = {row['k']}": [(float(share), float(row[f"{share} %"])) for share in TOLERANCES]
        for row in chosen
    }
    title = "Recipients that Adult serves, 5 % suppressed"
    return Lines("fingerprint-capacity", title, ("tolerance in loss, %", "recipients"), series)


def _told(name: str, rows: Iterable[Row], out: Path) -> list[Row]:
    """Print rows as they come, and keep them."""
    kept = []
    for row in rows:
        kept.append(row)
        print(f"  {name}: " + "  ".join(f"{key} {_shown(value)}" for key, value in row.items()), flush=True)
    path = out / f"fingerprint_{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in kept for key in row)))
        writer.writeheader()
        writer.writerows(kept)
    print(f"  written: {path}")
    return kept


def _shown(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
