"""Other trees for Adult that are as plausible as ours, to see how far figures depend on them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from experiments.adult_history import TREES

MARITAL: dict[str, object] = {
    "as ours": TREES["marital"],
    "married now": {
        "Married": {
            "With-spouse": ["Married-civ-spouse", "Married-AF-spouse"],
            "Married-spouse-absent": None,
        },
        "Alone": {"Was-married": ["Divorced", "Separated", "Widowed"], "Never-married": None},
    },
    "partner present": {
        "Present": ["Married-civ-spouse", "Married-AF-spouse"],
        "Absent": {
            "Ever-married": ["Married-spouse-absent", "Separated", "Divorced", "Widowed"],
            "Never-married": None,
        },
    },
    "marriage ended": {
        "Once-married": {
            "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
            "Ended": ["Divorced", "Separated", "Widowed"],
        },
        "Never-married": None,
    },
}

RELATIONSHIP: dict[str, object] = {
    "as ours": TREES["relationship"],
    "spouses": {
        "Spouse": ["Husband", "Wife"],
        "Not-spouse": ["Own-child", "Other-relative", "Not-in-family", "Unmarried"],
    },
    "spouses, kin, others": {
        "Spouse": ["Husband", "Wife"],
        "Kin": ["Own-child", "Other-relative"],
        "Outside": ["Not-in-family", "Unmarried"],
    },
}

RACE: dict[str, object] = {
    "as ours": TREES["race"],
    "largest apart": {
        "White": None,
        "Not-white": ["Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
    },
    "flat": ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
}

NEAREST = {**TREES, "relationship": RELATIONSHIP["spouses, kin, others"], "race": RACE["largest apart"]}
"""The trees under which separately made releases come nearest to what the paper reports."""


def alternatives() -> Iterator[tuple[tuple[str, str, str], dict[str, object]]]:
    """Every choice of the three trees, named; three other trees of work classes changed no FA."""
    for names in itertools.product(MARITAL, RELATIONSHIP, RACE):
        marital, relationship, race = names
        chosen = {"marital": MARITAL[marital], "relationship": RELATIONSHIP[relationship], "race": RACE[race]}
        yield names, {**TREES, **chosen}
