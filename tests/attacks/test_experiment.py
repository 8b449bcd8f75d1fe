"""The experiments on made-up tables, small."""

import pytest
from experiments.minimality import made_up

pytestmark = pytest.mark.slow


def test_made_up_tables_are_decided_or_left_aside():
    rows = list(made_up(2, rows=3, seed=4))
    assert {row["attack"] for row in rows} == {"downcoding", "minimality"}
    assert all(row.get("decided", 0) + row.get("aside", 0) == 2 for row in rows)
    assert any(row.get("decided", 0) for row in rows)
