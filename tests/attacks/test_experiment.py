"""The experiments on made-up tables, small; `SFUMATO_HYPOTHESIS=soak` compares thousands."""

import os

import numpy as np
import polars as pl
import pytest
from experiments.joint_worlds import guessed, joint, rows_of, walk
from experiments.minimality import made_up
from experiments.minimality_agreement import SEARCHES, agreement
from experiments.suppressed_people import suppressed

import sfumato as sf
from sfumato.table.source import open_source
from sfumato.workflows.attack import known_search

pytestmark = pytest.mark.slow

TABLES = 210 if os.environ.get("SFUMATO_HYPOTHESIS") == "soak" else 3


def test_made_up_tables_are_decided_or_left_aside():
    rows = list(made_up(2, rows=3, seed=4))
    assert {row["attack"] for row in rows} == {"downcoding", "minimality"}
    assert all(row.get("decided", 0) + row.get("aside", 0) == 2 for row in rows)
    assert any(row.get("decided", 0) for row in rows)


@pytest.mark.parametrize("search", SEARCHES)
def test_what_drawn_worlds_tell_is_near_what_all_worlds_tell(search):
    for row in agreement(TABLES, seed=1, searches=(search,)):
        assert row["tables"] == TABLES
        assert abs(row["mean difference"]) < (0.02 if TABLES > 100 else 0.1)
        assert row["above"] <= TABLES // 3
        assert row["breaches estimated, not there"] <= TABLES // 50


TREE = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
BOTH_CLASSES = [
    ("a1", "x"),
    ("a1", "x"),
    ("a2", "y"),
    ("a2", "z"),
    ("b1", "x"),
    ("b1", "w"),
    ("b2", "y"),
    ("b2", "w"),
]
WONG = [("a1", "x"), ("a1", "x"), ("a2", "y"), ("a2", "z"), ("a2", "w"), ("a2", "v")]


@pytest.mark.parametrize("rows", [WONG, BOTH_CLASSES])
@pytest.mark.parametrize("search", ["top-down", "mondrian", "lattice"])
def test_a_walk_visits_worlds_as_often_as_all_of_them_say(rows, search):
    """What all worlds tell, listed, is what a long walk through whole tables tells."""
    columns = {"q": {"role": "quasi", "taxonomy": {"tree": TREE}}, "s": {"role": "sensitive"}}
    half = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}
    rules = sf.Policy.from_dict(
        {"columns": columns, "promises": [half], "protect": {"suppress": 0, "search": search}}
    )
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    safe = sf.protect(frame, rules).apply(frame)
    (finding,) = sf.attack.minimality(safe, rules, frame.select("q")).findings
    assert finding.details["method"] == "all worlds"
    counted = open_source(frame).count(rules.codings, missing=rules.missing)
    republish = known_search(rules, steps=1, seed=0).republish
    walks = [walk(counted, republish, sweeps=300, seed=i) for i in range(2)]
    _, alike = np.unique(rows_of(counted)[0], axis=0, return_inverse=True)
    assert abs(guessed(*walks, alike) - float(finding.details["after"])) < 0.05


def test_tables_of_many_people_are_walked_through():
    rows = list(joint(60, sweeps=2, seed=1, searches=("top-down",)))
    assert all(0 < row["together"] <= 1 and 0 <= row["deals kept"] <= 1 for row in rows)


def test_random_tables_with_suppressed_people_are_told_of():
    rows = list(suppressed(2, seed=3))
    ways = ("decided", "aside", "refused", "nobody suppressed")
    assert all(sum(row.get(way, 0) for way in ways) == 2 for row in rows)
    assert sum(row.get("decided", 0) for row in rows)
