"""Chains of small tables, drawn: who comes, returns, moves, leaves and is erased, and what rows hold."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from itertools import count

import polars as pl

from sfumato.models.contract import Promises
from sfumato.models.registry import make
from sfumato.policy.chain import ChainRule
from sfumato.policy.person import PersonRule
from sfumato.policy.policy import Policy

TOWNS = ["Ahus", "Bro", "Cora", "Dorn"]
COLUMNS = {
    "person": {"role": "identifier"},
    "day": {"role": "identifier"},
    "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 0, "to": 40}},
    "town": {"role": "quasi", "taxonomy": {"tree": {"north": TOWNS[:2], "south": TOWNS[2:]}}},
    "illness": {"role": "sensitive"},
    "nights": {"role": "insensitive"},
}
KEYS, UNCHANGED = ("age", "town"), ("illness", "nights")
PROMISES = (
    # what is promised, and values of which so many people have each
    ([{"l-diversity": {"of": "illness", "l": 2, "kind": "distinct"}}], ("ab", "aaab", "aaaaaabc")),
    ([{"l-diversity": {"of": "illness", "l": 3, "kind": "distinct"}}], ("abc", "aabbcd")),
    ([{"l-diversity": {"of": "illness", "l": 2, "kind": "entropy"}}], ("aabbcd", "abcd")),
    ([{"confidence-bounding": {"of": "illness", "confidence": "2/3"}}], ("aabcd", "aabb")),
    ([{"alpha-k-anonymity": {"of": "illness", "alpha": "3/4", "k": 2}}], ("aab", "aabc")),
    (
        [
            {"l-diversity": {"of": "illness", "l": 2, "kind": "distinct"}},
            {"confidence-bounding": {"of": "nights", "confidence": "3/4"}},
        ],
        ("aab", "abcd"),
    ),
)


# Tales: everything about a chain but coins ----------------------------------------------------------------


@dataclass(frozen=True)
class Visit:
    """A row of a table: its number, whose it is, when, and what is known of it."""

    number: int
    person: str
    day: int
    age: str
    town: str


@dataclass(frozen=True)
class Tale:
    """Tables of the same people, one after the other, what their rows hold, and the policy.

    `has` gives what a row of a table holds, by release and number; `erased` who is erased before which
    release.
    """

    tables: tuple[tuple[Visit, ...], ...]
    has: dict[tuple[int, int], tuple[str, int]]
    policy: Policy
    erased: dict[int, str] = field(default_factory=dict)

    @property
    def people(self) -> list[str]:
        return sorted({visit.person for table in self.tables for visit in table})

    def frame(self, release: int) -> pl.DataFrame:
        """The table that is handed in for a release."""
        rows = [
            {
                **{name: cell for name, cell in vars(visit).items() if name != "number"},
                **dict(zip(UNCHANGED, self.has[release, visit.number], strict=True)),
            }
            for visit in self.tables[release]
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def policy_of(draw: random.Random, promises: list) -> Policy:
    """A policy for small tables: k of two or three, blind where it can be, any rule of a chain."""
    unchanged = {"nights": {"role": "sensitive"}} if len(promises) > 1 else {}
    chain = {
        "shows": draw.choice(["everybody", "everybody", "newcomers"]),
        "leavers": draw.choice(["linger", "withheld"]),
        "again": draw.choice(["bare", "bare", "withheld"]),
        **({"hold": 9} if draw.random() < 0.2 else {}),
    }
    return Policy.from_dict(
        {
            "columns": {**COLUMNS, **unchanged},
            "promises": [{"k-anonymity": {"k": draw.choice([2, 2, 2, 3])}}, *promises],
            "protect": {
                "search": "best",
                "suppress": draw.choice([0, 0, "10%", "25%"]),
                "grouping": draw.choice(["blind", "blind", "default"]),
            },
            "confirm": dict.fromkeys(unchanged, True),
            "missing": "own-value",
            "person": {"column": "person", **({"by": "day"} if draw.random() < 0.7 else {})},
            "chain": chain,
        }
    )


def tale_of(seed: int) -> Tale:
    """A chain of one to three releases: growth, several rows, returns, moves, leavers, an erasure."""
    draw = random.Random(seed)
    promises, mixtures = draw.choice(PROMISES)
    policy, tables, rows, erased, number = policy_of(draw, promises), [], [], {}, 0
    few, numbers = draw.random() < 0.5, count()
    for release in range(draw.choice([1, 2, 2, 3])):
        people = sorted({visit.person for visit in rows})
        if people and draw.random() < 0.3:
            erased[release] = draw.choice(people)
        gone = {*draw.sample(people, min(len(people), draw.choice([0, 0, 1, 2]))), *erased.values()}
        rows = [visit for visit in rows if visit.person not in gone]
        if rows and draw.random() < 0.3:
            place = draw.randrange(len(rows))
            rows[place] = replace(rows[place], age=str(draw.randrange(40)))
        for _ in range(draw.choice([8, 8, 10, 12, 13, 16, 16, 17, 20, 24, 25, 32])):
            number += 1
            for visit in range(draw.choice([1, 1, 1, 1, 2, 3])):
                rows.append(
                    _visit(
                        draw, next(numbers), f"p{number:02d}", 10 * release + draw.choice([0, visit]), few=few
                    )
                )
        for person in draw.sample(people, min(len(people), 3)):
            if person not in gone:
                rows.append(_visit(draw, next(numbers), person, 10 * release + 5, few=few))
        draw.shuffle(rows)
        tables.append(tuple(rows))
    values = draw.choice(mixtures)
    of_row = {visit.number: (draw.choice(values), draw.randrange(3)) for table in tables for visit in table}
    has = {
        (release, visit.number): of_row[visit.number]
        for release, table in enumerate(tables)
        for visit in table
    }
    return Tale(tuple(tables), has, policy, erased)


def _visit(draw: random.Random, number: int, person: str, day: int, *, few: bool) -> Visit:
    ages = [3, 14, 15, 27, 33] if few else range(40)
    return Visit(number, person, day, str(draw.choice(ages)), draw.choice(TOWNS))


def biographies(draw: random.Random) -> Tale:
    """A table of people who have one row, two or three, all of which show values."""
    promises, mixtures = draw.choice(PROMISES[:2])
    policy = policy_of(draw, promises)
    kept = Promises((make("k-anonymity", {"k": 2}), *list(policy.promises)[1:]))
    policy = replace(policy, promises=kept, people=PersonRule(None, by="day"), chain=ChainRule())
    rows = [
        _visit(draw, 3 * person + day, f"p{person:02d}", day, few=draw.random() < 0.5)
        for person in range(draw.choice([40, 48, 64]))
        for day in range(2 if draw.random() < 0.5 else draw.choice([1, 2, 3]))
    ]
    draw.shuffle(rows)
    values = draw.choice(mixtures)
    return Tale(
        (tuple(rows),), {(0, row.number): (draw.choice(values), draw.randrange(3)) for row in rows}, policy
    )
