"""How many recipients there may be, and how many leaked rows identify one, by the number of quasi-identifiers
and of levels.

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
from sfumato.core.microdata import Column, Microdata
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy
from sfumato.policy.recipients import RecipientRule
from sfumato.promises import KAnonymity
from sfumato.protection.patterns.patterns import classify
from sfumato.protection.recipients.assignment import AvailableVersions
from sfumato.protection.recipients.leaked_rows import identifying_rows
from sfumato.protection.searches.search import Aim
from sfumato.show.chart import Lines

K, SUPPRESS, TOLERANCE, MOST_RECIPIENTS = 5, Fraction(5, 100), Fraction(50, 100), 10
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


def measured(table: Microdata) -> Row:
    """Recipients that can be served, and the mean number of rows that identify one of at most ten."""
    patterns = classify(table, Promises((KAnonymity(K),)), Aim(SUPPRESS))
    rule = RecipientRule(tolerance=TOLERANCE)
    if not patterns.allowed.any():
        return {"patterns": patterns.count, "recipients": 0, "rows": None, "unidentified": None}
    family = AvailableVersions(patterns, rule, "loss").family().tolist()
    cuts = [patterns.cuts(index) for index in family[:MOST_RECIPIENTS]]
    needed = []
    for i, own in enumerate(cuts):
        others = [other for j, other in enumerate(cuts) if j != i]
        found = identifying_rows(f"R{i}", Recoding.of_cuts(table, own), others)
        needed.append(found.by_size.get(1))
    known = [n for n in needed if n is not None]
    return {
        "patterns": patterns.count,
        "recipients": len(family),
        "rows": sum(known) / len(known) if known else None,
        "unidentified": len(needed) - len(known) if len(cuts) > 1 else None,
    }


def robustness(
    table: Microdata, columns: Sequence[int] = COLUMNS, levels: Sequence[int] = LEVELS
) -> Iterator[Row]:
    """One line per number of columns and of levels."""
    for some in columns:
        for deep in levels:
            yield {"columns": some, "levels": deep or "all", **measured(part_of(table, some, deep))}


def figures(rows: Sequence[Row]) -> tuple[Lines, Lines]:
    """Recipients and identifying rows, over the number of columns, one line per number of levels."""

    def lines(name: str, title: str, key: str, axis: str) -> Lines:
        kinds = dict.fromkeys(str(row["levels"]) for row in rows)
        series = {
            f"{kind} levels": [
                (row["columns"], row[key])
                for row in rows
                if str(row["levels"]) == kind and row[key] is not None
            ]
            for kind in kinds
        }
        return Lines(name, title, ("key columns", axis), {k: v for k, v in series.items() if v})

    served = lines("fingerprint-robustness-recipients", "Recipients served", "recipients", "recipients")
    leaked = lines("fingerprint-robustness-rows", "Leaked rows that identify one of ten", "rows", "rows")
    return served, leaked


def main(data: Path, out: Path) -> list[Row]:
    found = []
    for row in robustness(table_of(data, sensitive=False)):
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        found.append(row)
    for figure in figures(found):
        draw_figure(figure, out)
    return found
