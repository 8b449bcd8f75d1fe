"""Releases that are safe alone and unsafe together: exactly one safe set is accepted."""

from __future__ import annotations


def test_four_writers_on_sqlite(stage, times):
    count = times(4, 200)
    told = stage("writers", count)
    assert told["entered"] == 2 * count


def test_four_writers_on_postgresql(stage, times, cluster):
    count = times(4, 200)
    told = stage("writers", count, url=cluster.database("writers"))
    assert told["entered"] == 2 * count
