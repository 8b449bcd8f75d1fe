"""How many recipients there may be, and how surely a leak that was generalized further names one of them, by
the number of quasi-identifiers and of levels.

The key columns of Adult are taken one after the other, each with its full tree or with the first levels of
it. Recipients get versions within 50 % of the best loss (k = 5, 5 % suppressed), and nobody can make the
version of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.adult import table_of

from experiments.drawing import draw_figure
from experiments.fingerprint_leaks import PatternAssignment, names_its_source
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.patterns import classify
from sfumato.recipients.versions import AvailableVersions
from sfumato.search.contract import Aim
from sfumato.system.presentation.charts import Lines
from sfumato.table.microdata import Column, Microdata
from sfumato.table.taxonomy import Taxonomy

K, SUPPRESS, TOLERANCE, MOST_RECIPIENTS = 5, Fraction(5, 100), Fraction(50, 100), 10
LEAKED, RAISED, TRIALS = 10, (0, 1, 2), 40
COLUMNS = (2, 3, 4, 5, 6, 7, 8, 9)
LEVELS = (2, 3, 4, 0)
"""How many levels of every tree are used; 0: all."""

Row = dict[str, Any]


def part_of(table: Microdata, columns: int, levels: int) -> Microdata:
    """The first key columns of a table, with trees of at most so many levels, the root included."""
    chosen, codes = [], []
    for column in table.keys[:columns]:
        tree = column.taxonomy if not levels else shallower(column.taxonomy, levels)
        rank = np.array([tree.rank(label) for label in column.taxonomy.leaf_labels], np.int32)
        chosen.append(Column(column.name, column.role, tree))
        codes.append(rank[np.repeat(table.codes(column.name), table.counts)])
    return Microdata.of_codes(chosen, codes)


def shallower(tree: Taxonomy, levels: int) -> Taxonomy:
    """The same values with the first levels above them, and the root."""
    kept = [tree.levels[i] for i in range(min(levels - 1, len(tree.levels) - 1))]
    labels: list[Any] = [tree.labels[0]]
    parents, place = [-1], {0: 0}
    for nodes in [*reversed(kept)]:
        for leaf, node in enumerate(nodes.tolist()):
            if node in place:
                continue
            above = next(
                int(up[leaf]) for up in [*kept, tree.levels[-1]] if tree.depth[up[leaf]] < tree.depth[node]
            )
            place[node] = len(labels)
            labels.append(tree.labels[node])
            parents.append(place[above])
    return Taxonomy.grow(labels, parents)


def measured(table: Microdata, trials: int) -> Row:
    """Recipients that can be served; and of leaks of ten rows, some columns raised by a level, which share
    names its source and nobody else."""
    patterns = classify(table, Promises((KAnonymity(K),)), Aim(SUPPRESS))
    found: Row = {"patterns": patterns.count, "recipients": 0} | {f"raised {r}": None for r in RAISED}
    if not patterns.allowed.any():
        return found
    family = AvailableVersions(patterns, RecipientRule(tolerance=TOLERANCE), "loss").family().tolist()
    found["recipients"] = len(family)
    assignment = PatternAssignment(patterns, family[:MOST_RECIPIENTS])
    if len(assignment.chosen) < 2 or min(map(len, assignment.published)) < LEAKED:
        return found
    for raised in RAISED:
        rng = np.random.default_rng(raised)
        named = [names_its_source(assignment, rng, LEAKED, raised=raised) for _ in range(trials)]
        found[f"raised {raised}"] = sum(named) / trials
    return found


def robustness(
    table: Microdata,
    columns: Sequence[int] = COLUMNS,
    levels: Sequence[int] = LEVELS,
    trials: int = TRIALS,
) -> Iterator[Row]:
    """One line per number of columns and of levels."""
    for some in columns:
        for deep in levels:
            part = part_of(table, some, deep)
            yield {"columns": some, "levels": deep or "all", **measured(part, trials)}


def figures(rows: Sequence[Row]) -> tuple[Lines, Lines]:
    """Recipients, and leaks that name their source, over the number of columns, by the number of levels."""

    def lines(name: str, title: str, key: str, axis: str) -> Lines:
        series: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            if row[key] is not None:
                series.setdefault(f"{row['levels']} levels", []).append((row["columns"], row[key]))
        return Lines(name, title, ("key columns", axis), series)

    served = lines("fingerprint-robustness-recipients", "Recipients served", "recipients", "recipients")
    named = lines(
        "fingerprint-robustness-named",
        "Leaks of ten rows, one column a level up, that name their source alone",
        "raised 1",
        "share",
    )
    return served, named


def main(data: Path, out: Path) -> list[Row]:
    found = []
    for row in robustness(table_of(data, sensitive=False)):
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        found.append(row)
    for figure in figures(found):
        draw_figure(figure, out)
    return found
