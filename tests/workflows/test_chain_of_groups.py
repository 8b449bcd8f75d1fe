"""Releases of chains of groups, held against a judge in plain Python."""

from __future__ import annotations

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles.chains_of_groups import Claim, Rules, judge_files, judge_step
from sfumato.inputs import open_table
from sfumato.policy.policy import Policy
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible
from sfumato.system.progress import silent
from sfumato.table.base import BARE_ROW, GROUP, PERSON, RELEASE
from sfumato.table.known_rows import hashes_of_people
from sfumato.workflows.grown_base import grow
from sfumato.workflows.protect import plan_table

TOWNS = ["Ahus", "Bro", "Cora", "Dorn"]
ILLNESSES = ["flu", "cold", "TB", None]
COLUMNS = {
    "person": {"role": "identifier"},
    "day": {"role": "identifier"},
    "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 0, "to": 40}},
    "town": {"role": "quasi", "taxonomy": {"tree": {"north": TOWNS[:2], "south": TOWNS[2:]}}},
    "sex": {"role": "quasi"},
    "illness": {"role": "sensitive"},
    "nights": {"role": "insensitive"},
}
RULES = Rules(keys=("age", "town", "sex"), unchanged=("illness", "nights"), k=2, l=2)


def policy_of(rules, grouping="default", *, search="best"):
    chain = {"shows": rules.shows, "leavers": rules.leavers, "again": rules.again, "hold": rules.hold}
    return Policy.from_dict(
        {
            "columns": COLUMNS,
            "promises": [
                {"k-anonymity": {"k": rules.k}},
                {"l-diversity": {"of": "illness", "l": rules.l, "kind": "distinct"}},
            ],
            "protect": {"search": search, "suppress": "30%", "grouping": grouping},
            "missing": "own-value",
            "person": {"column": "person", **({"by": rules.by} if rules.by else {})},
            "chain": chain,
        }
    )


@st.composite
def visits(draw, person, day):
    return {
        "person": person,
        "day": day,
        "age": str(draw(st.integers(0, 39))),
        "town": draw(st.sampled_from(TOWNS)),
        "sex": draw(st.sampled_from("fm")),
        "illness": draw(st.sampled_from(ILLNESSES)),
        "nights": draw(st.integers(0, 3)),
    }


@st.composite
def sources(draw):
    """Tables of the same people, one after the other: they come, return, leave, and move."""
    tables, rows, number = [], [], 0
    for release in range(1, draw(st.integers(2, 4)) + 1):
        people = sorted({row["person"] for row in rows})
        left = set(draw(st.lists(st.sampled_from(people), max_size=3))) if people else set()
        rows = [row for row in rows if row["person"] not in left]
        if rows:
            for place in draw(st.lists(st.integers(0, len(rows) - 1), max_size=2)):
                rows[place] = {**rows[place], "age": str(draw(st.integers(0, 39)))}
        for _ in range(draw(st.integers(4 if release == 1 else 0, 14))):
            number += 1
            for visit in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
                rows.append(draw(visits(f"p{number}", 10 * release + visit)))
        back = draw(st.lists(st.sampled_from(people), max_size=4)) if people else []
        for person in back:
            rows.append(draw(visits(person, 10 * release + draw(st.integers(5, 9)))))
        if not rows:
            return tables
        rows = draw(st.permutations(rows))
        tables.append(list(rows))
    return tables


def claims_of(base, people):
    """The rows of a base, and whose they are."""
    names = dict(zip(hashes_of_people(people).to_pylist(), people, strict=True))
    own = [base.rows.column(name).to_pylist() for name in (PERSON, GROUP, RELEASE, BARE_ROW)]
    cells = zip(*(base.rows.column(name).to_pylist() for name in RULES.published), strict=True)
    return [
        Claim(names[person], group, release, bare, row)
        for person, group, release, bare, row in zip(*own, cells, strict=True)
    ]


def file_of(table):
    """The rows of a view, and whether each is bare."""
    marks = table.column("bare_row").to_pylist() if "bare_row" in table.column_names else ["no"] * len(table)
    cells = zip(*(table.column(name).to_pylist() for name in RULES.published), strict=True)
    return [(row, mark == "yes") for row, mark in zip(cells, marks, strict=True)]


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sources(),
    st.sampled_from(("everybody", "newcomers")),
    st.sampled_from(("linger", "withheld")),
    st.sampled_from(("bare", "bare", "withheld")),
    st.sampled_from((0, 0, 8)),
    st.sampled_from(("day", "day", None)),
    st.sampled_from((1, 2)),
    st.sampled_from(("default", "blind", "informed")),
    st.binary(min_size=4, max_size=4),
)
def test_random_chains_keep_the_rules(tables, shows, leavers, again, hold, by, diversity, grouping, key):
    rules = Rules(
        RULES.keys,
        RULES.unchanged,
        k=2,
        l=diversity,
        shows=shows,
        leavers=leavers,
        again=again,
        hold=hold,
        by=by,
    )
    policy, base, before, files, seen = policy_of(rules, grouping), None, [], [], []
    people = sorted({row["person"] for table in tables for row in table})
    for table in tables:
        source = open_table(pl.DataFrame(table, infer_schema_length=None), None, policy)
        try:
            coins = Coins(key).of(str(len(seen)))
            grown = grow(
                source, policy, policy.chain, base, coins, plan_rows=plan_table, marks=coins, progress=silent
            )
        except Infeasible:
            continue
        base = grown.base
        seen.append(table)
        shown = base.shown() & base.is_new if shows == "newcomers" else base.shown()
        claims = claims_of(base, people)
        files.append(file_of(base.view(shown)))
        judge_step(rules, seen, before, claims, files[-1])
        before = claims
    if shows == "everybody" and leavers == "linger":
        judge_files(rules, files)
