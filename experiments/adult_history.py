"""UCI Adult as a chain of two releases, test rows first, training rows later, with the paper's own trees.

The trees are those of its authors' program for top-down specialization (reference [4] of the paper). They are
read where they lie: their licence does not let us bring them along.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np

from experiments.nested_trees import nested_trees
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

POSITIONS = {
    "workclass": 1,
    "education": 3,
    "marital": 5,
    "occupation": 6,
    "relationship": 7,
    "race": 8,
    "sex": 9,
    "country": 13,
}
"""Where the eight categorical columns are in the files."""

TREE_FILE = "adult_tds.hchy"
NAMES = {"marital": "martial-status", "country": "native-country"}
"""Columns that the file of trees calls otherwise."""

SENSITIVE = {"Sen1": ("country",), "Sen3": ("country", "education", "occupation")}
SIZES = {"200D2": 200, "2000D2": 2000, "allD2": 30_162}


@cache
def rows(path: Path) -> list[list[str]]:
    """The rows without a missing cell."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        found = [[cell.strip(" .\n") for cell in line.split(",")] for line in file]
    return [row for row in found if len(row) == 15 and "?" not in row]


def table(
    folder: Path,
    sensitive: str,
    later: int,
    *,
    batches: tuple[int, ...] = (1, 2),
) -> Microdata:
    """The test rows (batch 1) and the first `later` training rows (batch 2); a column tells them apart."""
    first, second = rows(folder / "adult.test.gz"), rows(folder / "adult.data.gz")[:later]
    everybody = [(*[row[i] for i in POSITIONS.values()], "1") for row in first if 1 in batches]
    everybody += [(*[row[i] for i in POSITIONS.values()], "2") for row in second if 2 in batches]
    every = [*first, *rows(folder / "adult.data.gz")]
    trees = nested_trees(folder / TREE_FILE)
    columns, codes = [], []
    for j, (name, position) in enumerate(POSITIONS.items()):
        secret = name in SENSITIVE[sensitive]
        tree = Taxonomy.flat(sorted({r[position] for r in every})) if secret else trees[NAMES.get(name, name)]
        columns.append(Column(name, Role.SENSITIVE if secret else Role.QUASI, tree))
        codes.append(np.array([tree.rank(row[j]) for row in everybody], np.int32))
    batch = Taxonomy.flat(["1", "2"])
    columns.append(Column("since", Role.IDENTIFIER, batch))
    codes.append(np.array([batch.rank(row[-1]) for row in everybody], np.int32))
    return Microdata.of_codes(columns, codes)
