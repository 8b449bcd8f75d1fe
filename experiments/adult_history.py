"""UCI Adult as a chain of two releases: test rows first, training rows later; trees of the usual shapes."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.taxonomy import Taxonomy

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

TREES: dict[str, object] = {
    "workclass": {
        "With-pay": {
            "Private": None,
            "Government": {"Federal-gov": None, "Non-federal": ["Local-gov", "State-gov"]},
            "Self-employed": ["Self-emp-not-inc", "Self-emp-inc"],
        },
        "Without": ["Without-pay", "Never-worked"],
    },
    "education": {
        "School": {
            "Junior": {"Early": ["Preschool", "1st-4th"], "Middle": ["5th-6th", "7th-8th"]},
            "Senior": {"Lower": ["9th", "10th"], "Upper": ["11th", "12th", "HS-grad"]},
        },
        "Beyond": {
            "Undergraduate": {
                "College": ["Some-college", "Bachelors"],
                "Associate": ["Assoc-voc", "Assoc-acdm"],
            },
            "Graduate": {"Professional": ["Prof-school", "Masters"], "Research": ["Doctorate"]},
        },
    },
    "marital": {
        "Once-married": {
            "Together": ["Married-civ-spouse", "Married-AF-spouse"],
            "Apart": ["Divorced", "Separated", "Widowed", "Married-spouse-absent"],
        },
        "Single": ["Never-married"],
    },
    "occupation": {
        "White-collar": ["Exec-managerial", "Prof-specialty", "Adm-clerical", "Sales", "Tech-support"],
        "Blue-collar": [
            "Craft-repair",
            "Machine-op-inspct",
            "Transport-moving",
            "Handlers-cleaners",
            "Farming-fishing",
        ],
        "Service": ["Other-service", "Protective-serv", "Priv-house-serv", "Armed-Forces"],
    },
    "relationship": {
        "In-family": ["Husband", "Wife", "Own-child", "Other-relative"],
        "Outside": ["Not-in-family", "Unmarried"],
    },
    "race": {"Larger": ["White", "Black"], "Smaller": ["Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]},
    "sex": ["Female", "Male"],
}

SENSITIVE = {"Sen1": ("country",), "Sen3": ("country", "education", "occupation")}
SIZES = {"200D2": 200, "2000D2": 2000, "allD2": 30_162}


def grown(branches: object) -> Taxonomy:
    """A tree from nested mappings and lists."""
    labels: list[str | None] = ["*"]
    parent = [-1]

    def add(node: object, above: int) -> None:
        names = node.items() if isinstance(node, dict) else [(name, None) for name in node]  # type: ignore[attr-defined]
        for name, below in names:
            labels.append(name)
            parent.append(above)
            if below is not None:
                add(below, len(labels) - 1)

    add(branches, 0)
    return Taxonomy.grow(labels, parent)


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
    trees: Mapping[str, object] = TREES,
) -> Microdata:
    """The test rows (batch 1) and the first `later` training rows (batch 2); a column tells them apart."""
    first, second = rows(folder / "adult.test.gz"), rows(folder / "adult.data.gz")[:later]
    everybody = [(*[row[i] for i in POSITIONS.values()], "1") for row in first if 1 in batches]
    everybody += [(*[row[i] for i in POSITIONS.values()], "2") for row in second if 2 in batches]
    every = [*first, *rows(folder / "adult.data.gz")]
    columns, codes = [], []
    for j, (name, position) in enumerate(POSITIONS.items()):
        secret = name in SENSITIVE[sensitive]
        tree = Taxonomy.flat(sorted({r[position] for r in every})) if secret else grown(trees[name])
        columns.append(Column(name, Role.SENSITIVE if secret else Role.QUASI, tree))
        codes.append(np.array([tree.rank(row[j]) for row in everybody], np.int32))
    batch = Taxonomy.flat(["1", "2"])
    columns.append(Column("since", Role.IDENTIFIER, batch))
    codes.append(np.array([batch.rank(row[-1]) for row in everybody], np.int32))
    return Microdata.of_codes(columns, codes)
