"""Rows that were counted are published without reading them again: the same bytes as a second pass writes."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from sfumato.system.memory import Memory
from sfumato.table import publication as published_columns
from sfumato.table.cut import Cut
from sfumato.table.form_of_source import RowSource
from sfumato.table.microdata import Coding, Role
from sfumato.table.recoding import Recoding, Rewriting
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.engines import codings, recodings
from table.test_versions import CountingReader

VALUES = {
    "text": [f"s{i}" for i in range(6)],
    "whole numbers": [9, 10, -3, 400, 0, 7],
    "floats": [9.5, 10.0, -3.25, 1e300, 0.0, 7.0],
    "dates": [date(2020, 1, 1 + i) for i in range(6)],
    "truth": [True, False, True, False, True, False],
}


def people(values, rows=2000, seed=3):
    """Some rows occur several times; some cells of every column are missing."""
    draw = np.random.default_rng(seed)
    held = pa.array([*values, None])
    return pa.table(
        {
            "s": held.take(pa.array(draw.integers(0, len(held), rows))),
            "a": pa.array([f"a{i}" if i else None for i in draw.integers(0, 30, rows)]),
            "t": pa.array([f"t{i}" for i in draw.integers(0, 3, rows)]),
            "b": pa.array(draw.integers(0, 9, rows)),
        }
    )


def both_ways(table, folder, *, ending, drop=(), person=None):
    """Returns the bytes of every recoding: from counted rows, and by a second pass of another source."""
    given, found = codings(["a", "b"], ["s", "t"]), []
    for i, number in enumerate(range(len(list(recodings(open_source(table).count(given)))))):
        once = RowSource(CountingReader(open_source(table).reader))
        recoding = list(recodings(once.count(given, person=person)))[number]
        counted = once.write(recoding, folder / f"{i}-counted.{ending}", drop=drop)
        assert once.reader.passes == 1
        read = open_source(table).write(recoding, folder / f"{i}-read.{ending}", drop=drop)
        found.append((counted.read_bytes(), read.read_bytes()))
    return found


@pytest.mark.parametrize("cells", [0, 4, 1000])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("values", VALUES)
def test_counted_rows_are_published_as_a_second_pass_would(values, ending, cells, monkeypatch, tmp_path):
    monkeypatch.setattr(published_columns, "CELLS_PER_ROW", cells)
    monkeypatch.setattr(published_columns, "ROWS_AT_A_TIME", 100)
    for counted, read in both_ways(people(VALUES[values]), tmp_path, ending=ending):
        assert counted == read


@pytest.mark.parametrize("drop", [["s"], ["t", "a"]])
def test_columns_that_are_dropped_are_not_published(drop, tmp_path):
    for counted, read in both_ways(people(VALUES["text"]), tmp_path, ending="csv", drop=drop):
        assert counted == read


def test_people_who_are_counted_and_not_published(tmp_path):
    table = people(VALUES["text"])
    table = table.append_column("p", pa.array([f"p{i % 500}" for i in range(len(table))]))
    for counted, read in both_ways(table, tmp_path, ending="csv", drop=["p"], person="p"):
        assert counted == read


def test_counted_rows_within_little_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(Memory, "room", 4096)
    monkeypatch.setattr(published_columns, "LEAST_ROWS", 50)
    for counted, read in both_ways(people(VALUES["text"]), tmp_path, ending="parquet"):
        assert counted == read


def test_values_that_share_a_leaf_are_read_again():
    table = pa.table({"a": ["x"] * 4, "s": [90, 93, 20, 93]})
    old = Taxonomy.grow(["*", "20", "old"], [-1, 0, 0], aliases={"90": 2, "93": 2})
    source = open_source(table)
    counted = source.count([*codings(["a"]), Coding("s", Role.SENSITIVE, lambda _: old)])
    recoding = Recoding.of_cuts(counted, {"a": Cut.leaves(counted.column("a").taxonomy)})
    assert source.recode(recoding)["s"].to_pylist() == [20, 90, 93, 93]


def test_copies_that_publish_different_things_are_read_again():
    source = open_source(pa.table({"a": ["x", "x"], "s": ["1", "1"]}))
    counted = source.count(codings(["a"], ["s"]))
    tree = Taxonomy.flat(["1", "2"])
    cuts = {"a": Cut.leaves(counted.column("a").taxonomy)}
    plain = Recoding.of_cuts(counted, cuts)
    new = {"s": Rewriting(tree, np.array([tree.rank("2"), tree.rank("1")], np.int32))}
    changed = Recoding(counted, plain.class_of, plain.low, plain.high, cuts, new)
    assert sorted(source.recode(changed)["s"].to_pylist()) == ["1", "2"]
    assert source.recode(plain)["s"].to_pylist() == ["1", "1"]


def test_rows_of_an_earlier_count_are_read_again():
    """The source remembers one count: that of other columns says nothing of these rows."""
    source = open_source(people(VALUES["text"]))
    table = source.count(codings(["a"], ["s", "t"]))
    source.count(codings(["b"]))
    recoding = next(recodings(table))
    assert source.recode(recoding).num_rows + recoding.suppressed == table.rows


def test_a_source_does_not_keep_counted_rows_alive():
    source = open_source(people(VALUES["text"]))
    counted = source.count(codings(["a", "b"], ["s", "t"]))
    remembered = source._last_count.rows
    assert remembered._words() is counted.words
    del counted
    assert remembered._words() is None
