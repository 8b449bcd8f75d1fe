"""The experiments on made-up tables, small; `SFUMATO_HYPOTHESIS=soak` compares thousands."""

import os

import pytest
from experiments.minimality import made_up
from experiments.minimality_agreement import SEARCHES, agreement

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
