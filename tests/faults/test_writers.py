"""Releases that are safe alone and unsafe together: exactly one safe set is accepted."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


def test_four_writers_on_sqlite(stage, times):
    count = times(4, 200)
    told = stage("writers", count)
    assert told["entered"] == 2 * count


def test_four_writers_on_postgresql(stage, times, cluster):
    count = times(4, 200)
    told = stage("writers", count, url=cluster.database("writers"))
    assert told["entered"] == 2 * count


def test_four_writers_of_a_chain_on_sqlite(stage, times):
    """With the real promise: two people more, published beside those without them, would stand alone."""
    rounds = times(2, 10)
    told = stage("continuous_writers", rounds, script="chain_stage.py")
    assert told["exit 5"] == told["entered beside the first"] == 2 * rounds
    assert told["exit 4"] >= 3 * rounds // 2


def test_four_writers_of_a_chain_on_postgresql(stage, times, cluster):
    rounds, url = times(2, 10), cluster.database("chains")
    told = stage("continuous_writers", rounds, script="chain_stage.py", url=url)
    assert told["exit 5"] == told["entered beside the first"] == 2 * rounds
    assert told["exit 4"] >= 3 * rounds // 2
