"""Withdrawals, retirements, changes of keys and restorations are killed before their statements.

In a soak before every one of them, else before every ninth.
"""

from __future__ import annotations

import pytest

CHANGES = ("withdraw", "retire", "rotate", "restore", "erase")


@pytest.mark.parametrize("change", CHANGES)
def test_killed_at_statements(stage, times, change):
    assert stage(change, times(9, 1), script="life_stage.py")["killed"] >= times(2, 18)


@pytest.mark.parametrize("change", CHANGES)
def test_killed_at_statements_with_postgresql(stage, times, cluster, change):
    url = cluster.database(f"life_{change}")
    assert stage(change, times(9, 1), script="life_stage.py", url=url)["killed"] >= times(2, 18)
