"""Adult with eight categorical columns, all free: nobody says which is identifying and which is secret.

Education, country, sex and salary use the hierarchy files that come with the data (education has four
levels, country three); the other trees are written here. Seven columns mix values that can be observed with
values that cannot; sex can be observed altogether.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

TREES: dict[str, Any] = {
    "workclass": {
        "Paid": {
            "Private": ["Private"],
            "Self-employed": ["Self-emp-not-inc", "Self-emp-inc"],
            "Government": ["Federal-gov", "Local-gov", "State-gov"],
        },
        "Unpaid": ["Without-pay", "Never-worked"],
    },
    "marital-status": {
        "Partnered": {
            "Living together": ["Married-civ-spouse", "Married-AF-spouse"],
            "Living apart": ["Married-spouse-absent", "Separated"],
        },
        "Single": {"Once married": ["Divorced", "Widowed"], "Unmarried": ["Never-married"]},
    },
    "occupation": {
        "Office": ["Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"],
        "Manual": {
            "Industry": ["Craft-repair", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"],
            "Land": ["Farming-fishing"],
        },
        "Service": {
            "Homes": ["Priv-house-serv", "Other-service"],
            "Uniform": ["Protective-serv", "Armed-Forces"],
        },
    },
    "race": {
        "Majority": ["White"],
        "Minority": ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other"],
    },
}
FILES = ("sex", "education", "native-country", "salary-class")

GUARDED: dict[str, list[str]] = {
    "marital-status": ["Divorced", "Separated", "Married-spouse-absent"],
    "education": ["Primary School", "9th", "10th"],
    "native-country": ["Mexico", "Cuba", "Haiti", "Iran", "Vietnam", "Cambodia", "Laos", "El-Salvador"],
    "workclass": ["Unpaid", "Self-emp-inc"],
    "occupation": ["Uniform", "Priv-house-serv"],
    "race": ["Amer-Indian-Eskimo", "Other"],
    "salary-class": [">50K"],
}
"""The guarding set of every column: the highest nodes that cover what is sensitive."""

COLUMNS = (
    "sex",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)


def policy(
    data: Path, threat: Fraction, *, columns: tuple[str, ...] = COLUMNS, more: tuple[Any, ...] = ()
) -> dict[str, Any]:
    """A policy for the Adult table in `data`; columns that are left out are insensitive."""
    rules: dict[str, Any] = {
        name: {"role": "insensitive"} for name in ("age", *COLUMNS) if name not in columns
    }
    for name in columns:
        file = {"file": str((data / "adult" / f"adult_hierarchy_{name}.csv").resolve())}
        rules[name] = {
            "role": "free",
            "taxonomy": file if name in FILES else {"tree": TREES[name]},
            "sensitive": GUARDED.get(name, []),
        }
    return {
        "columns": rules,
        "promises": [{"freeform": {"threat": threat}}, *more],
        "protect": {"search": "top-down", "suppress": 0},
    }
