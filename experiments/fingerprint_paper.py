"""Tables I to V and Figures 1 to 4 of Schrittwieser et al. 2011, as our code has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.fingerprint_leaks import issued_of, nodes_of, traced
from experiments.pattern_charts import lattice_chart, level_tree, quality_map, tracing_chart
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.recipients.pattern_quality import quality_classes
from sfumato.recipients.patterns import Patterns, classify
from sfumato.system.presentation.charts import save
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

GENDER = Taxonomy.grow(["p", "m", "f"], [-1, 0, 0])
ZIP = Taxonomy.grow(["10XX", "100X", "1004", "101X", "1015"], [-1, 0, 1, 0, 3])
PEOPLE_I = [("m", "19.03.1970"), ("m", "20.03.1970"), ("f", "18.04.1970"), ("f", "21.04.1970")]
PEOPLE_V = [
    ("m", "18.03.1970", "1004"),
    ("m", "19.03.1970", "1015"),
    ("f", "20.04.1970", "1004"),
    ("f", "21.04.1970", "1015"),
]
SETS = {"fireguard": (1, 2, 0), "police": (1, 1, 1), "ambulance": (0, 2, 1)}
LEAKS = (("p", "03.1970", "101X"), ("p", "03.1970", "1015"))
TWO = Promises((KAnonymity(2),))

Row = dict[str, Any]


def main(out: Path) -> list[Row]:
    """Print the tables, draw the figures."""
    one, five = classify(table_i(), TWO), classify(table_v(), TWO)
    rows = [*data_precision(one), *clusters(one), *sets(five), *leaks(five)]
    charts = [
        *(level_tree(c, set(c.taxonomy.labels), i + 1) for i, c in enumerate(one.table.keys)),
        lattice_chart(one, "height"),
        quality_map(one, "height"),
        tracing(five, LEAKS[1]),
    ]
    save(charts, out / "fingerprint-paper")
    return rows


def table_i() -> Microdata:
    return coded({"gender": GENDER, "birthdate": days([p[1] for p in PEOPLE_I])}, PEOPLE_I)


def table_v() -> Microdata:
    trees = {"gender": GENDER, "birthdate": days([p[1] for p in PEOPLE_V]), "zip": ZIP}
    return coded(trees, PEOPLE_V)


def days(dates: Sequence[str]) -> Taxonomy:
    """The day, the month, the year."""
    march, april = dates[:2], dates[2:]
    labels = ["1970", "03.1970", *march, "04.1970", *april]
    return Taxonomy.grow(labels, [-1, 0, 1, 1, 0, 4, 4])


def coded(trees: dict[str, Taxonomy], people: Sequence[Sequence[str]]) -> Microdata:
    columns = [Column(name, Role.QUASI, tree) for name, tree in trees.items()]
    codes = [np.array([c.taxonomy.rank(row[j]) for row in people], np.int32) for j, c in enumerate(columns)]
    return Microdata.of_codes(columns, codes)


def data_precision(patterns: Patterns) -> Iterator[Row]:
    """Table IV, and DM with k = 2; Tables I to III are the patterns (0, 0), (0, 2) and (1, 1)."""
    printed = {(0, 0): "I", (0, 2): "II", (1, 1): "III"}
    for at in range(patterns.count):
        levels = patterns.levels(at)
        yield {
            "what": f"Table IV {levels}" + (f" = Table {printed[levels]}" if levels in printed else ""),
            "Sam": str(patterns.value("height", at)),
            "Prec": str(patterns.value("precision", at)),
            "DM*": str(patterns.value("discernibility-star", at)),
            "DM": str(patterns.value("discernibility", at)),
            "k": int(patterns.k[at]),
        }


def clusters(patterns: Patterns) -> Iterator[Row]:
    """Classes of equal quality above k = 2; C1 of the paper is the second by height."""
    for metric in ("height", "precision", "discernibility-star", "discernibility"):
        for i, one in enumerate(quality_classes(patterns, metric), 1):
            members = [patterns.levels(at) for at in one.members]
            apart = [patterns.levels(at) for at in one.antichain()]
            yield {
                "what": f"{metric}, class {i}",
                "quality": str(one.quality),
                "patterns": members,
                "apart": apart,
            }


def sets(patterns: Patterns) -> Iterator[Row]:
    """Table V: what each set shows, and its k on all three columns and on the two that the text names."""
    table = patterns.table
    codes = np.stack([np.repeat(table.codes(c.name), table.counts) for c in table.keys], axis=1)
    for name, levels in {
        **SETS,
        "all three pooled": tuple(np.min(list(SETS.values()), axis=0).tolist()),
    }.items():
        nodes = nodes_of(table, codes, levels)
        shown = [
            " ".join(str(c.taxonomy.labels[v]) for c, v in zip(table.keys, row, strict=True)) for row in nodes
        ]
        _, two = np.unique(nodes[:, 1:], axis=0, return_counts=True)
        k = int(patterns.k[patterns.index(levels)])
        yield {
            "what": f"Table V {name} {levels}",
            "k": k,
            "k of birthdate, zip": int(two.min()),
            "rows": shown,
        }


def leaks(patterns: Patterns) -> Iterator[Row]:
    """Both leaks of Table V."""
    for leak in LEAKS:
        found = traced(patterns.table, issued_of(patterns.table, SETS), nodes_in(patterns, leak))
        yield {
            "what": f"leak {' '.join(leak)}",
            "alone": found.alone,
            **{f"could have written {name}": who for name, who in found.sources.items()},
        }


def nodes_in(patterns: Patterns, leak: Sequence[str]) -> np.ndarray:
    keys = patterns.table.keys
    return np.array([[c.taxonomy.node(text) for c, text in zip(keys, leak, strict=True)]])


def tracing(patterns: Patterns, leak: Sequence[str]) -> Any:
    """Figure 4: the levels of a leak beside those of the sets."""
    found = traced(patterns.table, issued_of(patterns.table, SETS), nodes_in(patterns, leak))
    trees = [c.taxonomy for c in patterns.table.keys]
    levels = [
        max(i for i, nodes in enumerate(tree.levels) if node in nodes)
        for tree, node in zip(trees, nodes_in(patterns, leak)[0].tolist(), strict=True)
    ]
    held = {
        name: [(f"level {mine}", mine <= theirs) for mine, theirs in zip(one, levels, strict=True)]
        for name, one in SETS.items()
    }
    verdicts = {name: "alone" if name in found.alone else "cleared" for name in SETS}
    return tracing_chart(patterns.names, [f"level {i}" for i in levels], held, verdicts)
