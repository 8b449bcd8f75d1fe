"""Samples for discovery: told by the rows themselves, and honest about what they are."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.system.errors import BadData, UsageError
from sfumato.table.spark.source import SparkSource
from table.spark.tables import read

pytestmark = pytest.mark.xdist_group("spark")

ROWS = 600
CELLS = {
    "who": [None if i % 50 == 0 else f"é{i // 3}" for i in range(ROWS)],
    "x": [float("nan") if i % 7 == 0 else (i % 5) / 2 for i in range(ROWS)],
    "terms": [["a", "b"] if i % 2 else None for i in range(ROWS)],
    "same": [str(i % 40) for i in range(ROWS)],
}


def rows_of(source, *names):
    table = read(source.frame.select(*names) if names else source.frame)
    return sorted(map(repr, zip(*table.values(), strict=True)))


def test_the_same_rows_whatever_spark_does(spark):
    table = pa.table(CELLS)
    once = spark.createDataFrame(table)
    upside_down = spark.createDataFrame(table.take(pa.array(range(ROWS - 1, -1, -1)))).repartition(3)
    chosen = SparkSource(once).sampled(200)
    assert chosen.sample_of == ROWS and 130 <= chosen.frame.count() <= 270
    assert rows_of(chosen) == rows_of(SparkSource(upside_down).sampled(200))
    assert rows_of(chosen) != rows_of(SparkSource(once).sampled(200, seed=1))
    people = rows_of(SparkSource(once).sampled(200, by="who"), "who")
    every = [repr((who,)) for who in CELLS["who"]]
    assert people == sorted(who for who in every if who in set(people)) and len(set(people)) > 40
    assert SparkSource(once).sampled(ROWS).sample_of is None


def test_what_a_sample_suggests_is_counted_on_all_rows(spark):
    source = SparkSource(spark.createDataFrame(pa.table(CELLS)))
    for names in (["who"], ["who", "x"], ["same"]):
        rows = [tuple(map(repr, row)) for row in zip(*(CELLS[name] for name in names), strict=True)]
        groups = Counter(rows)
        for k in (2, 4):
            assert source.exposed(names, k=k) == sum(n for n in groups.values() if n < k)
    with pytest.raises(BadData, match="lists"):
        source.exposed(["terms"], k=2)


def test_discovery_says_that_it_saw_a_sample(spark):
    table = spark.createDataFrame(pa.table({"same": CELLS["same"], "n": list(range(ROWS))}))
    with pytest.raises(BadData, match="--sample"):
        sf.discover(SparkSource(table, limit=100), k=2, mode="all")
    found = sf.discover(table, k=2, mode="all", sample=200)
    assert found.minimal == [("n",)] and found.sample_of == ROWS and found.rows < ROWS
    assert "a sample of a table of 600 rows" in str(found) and found.as_dict()["sample_of"] == ROWS
    with pytest.raises(UsageError, match="Spark"):
        sf.discover(pa.table({"a": ["x"]}), k=2, mode="all", sample=5)
    with pytest.raises(UsageError, match="at least one row"):
        sf.discover(table, k=2, mode="all", sample=0)
