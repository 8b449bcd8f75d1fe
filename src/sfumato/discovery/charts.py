"""The charts of a discovery: exposure by columns known, contribution by column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.discovery.evidence import DiscoveryEvidence
from sfumato.discovery.quasi_identifiers.partition import Partition
from sfumato.show.chart import Chart

MOST_STEPS = 8
"""Columns that are added one after the other."""
MOST_BARS = 30
"""Columns that one chart shows."""


@dataclass(frozen=True)
class GrowthStep:
    """So many records are exposed to somebody who knows these columns."""

    columns: tuple[str, ...]
    exposed: int


def growth(scan: DiscoveryEvidence) -> tuple[GrowthStep, ...]:
    """How fast exposure grows with what somebody knows: the strongest next column, one at a time.

    Columns that name people by themselves, or tell all rows apart, are left out: they end the story at once.
    Of equally strong columns the first in the table is taken.
    """
    table = scan.table
    gone = {f.column for f in scan.identifiers if (f.direct and f.convincing) or f.kind == "unique"}
    left = [j for j, name in enumerate(table.names) if name not in gone] or list(range(len(table.names)))
    current = Partition.whole(table.rows, scan.k)
    chosen: list[int] = []
    steps = [GrowthStep((), current.exposed)]
    while left and len(steps) <= MOST_STEPS and len(current.rows):
        options = [(j, current.refined(table.codes[j], table.sizes[j])) for j in left]
        best, finer = max(options, key=lambda option: (_exposed(option[1]), -option[0]))
        if finer is None or (finer.exposed, len(finer.bounds)) == (current.exposed, len(current.bounds)):
            break
        current = finer
        chosen.append(best)
        left.remove(best)
        steps.append(GrowthStep(tuple(table.names[j] for j in chosen), current.exposed))
    return tuple(steps)


def _exposed(groups: Partition | None) -> int:
    return -1 if groups is None else groups.exposed


def _label(step: GrowthStep) -> str:
    return f"{len(step.columns)}: + {step.columns[-1]}" if step.columns else "0"


def charts(scan: DiscoveryEvidence) -> tuple[Chart, Chart]:
    """The exposed share by the number of columns known; the contribution of each column."""
    steps = growth(scan)
    shares = tuple((_label(s), float(Fraction(s.exposed, scan.rows or 1))) for s in steps)
    exposed = Chart(
        "exposed-by-size",
        f"Records in groups smaller than {scan.k}, by how many columns are known",
        "line",
        ("columns known, the strongest first", "exposed share of all records"),
        shares,
        tuple(", ".join(s.columns) or "nothing" for s in steps),
        percent=True,
    )
    score = scan.risk is not None
    parts = [(name, float(share)) for name, share in scan.contribution.items()][:MOST_BARS]
    contribution = Chart(
        "contribution-by-column",
        "Share of the risk score that a column is part of" if score else "Minimal sets that a column is in",
        "bars",
        ("column", "share of the score" if score else "share of the minimal sets"),
        tuple(parts),
        tuple(f"alone it exposes {scan.alone[name]:,} records" for name, _ in parts),
        percent=True,
    )
    return exposed, contribution
