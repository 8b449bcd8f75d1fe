"""Visitors of a clinic, for chains of groups: who comes, returns and leaves is told by the tests."""

from __future__ import annotations

import random

import polars as pl

COLUMNS = {
    "person": {"role": "identifier"},
    "day": {"role": "identifier"},
    "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20, 40], "from": 0, "to": 80}},
    "town": {"role": "quasi", "taxonomy": {"tree": {"north": ["Ahus", "Bro"], "south": ["Cora", "Dorn"]}}},
    "illness": {"role": "sensitive"},
    "nights": {"role": "insensitive"},
}


def policy(*, k=3, diversity=2, person="person", by=None, columns=(), **chain):
    """A policy of a chain of groups; `columns` are other words about some of them."""
    return {
        "columns": {**COLUMNS, **dict(columns)},
        "promises": [
            {"k-anonymity": {"k": k}},
            {"l-diversity": {"of": "illness", "l": diversity, "kind": "distinct"}},
        ],
        "protect": {"suppress": "10%"},
        "missing": "own-value",
        **({"person": {"column": person, **({"by": by} if by else {})}} if person else {}),
        "chain": chain,
    }


def visits(people, day, *, seed=0, **more):
    """One visit of each of these people on a day; `more` are cells that all of them have."""
    chance = random.Random(f"{seed} {day} {people}")
    return [
        {
            "person": f"p{number}",
            "day": day,
            "age": chance.randint(0, 79),
            "town": chance.choice(["Ahus", "Bro", "Cora", "Dorn"]),
            "illness": chance.choice(["flu", "cold", "TB", "burn"]),
            "nights": chance.randint(0, 4),
            **more,
        }
        for number in people
    ]


def table(*parts):
    """Visits as a table."""
    return pl.DataFrame([row for part in parts for row in part], infer_schema_length=None)


FIRST = visits(range(40), 1)
RETURNED = visits(range(0, 40, 5), 2)
SECOND = visits(range(100, 120), 2)
