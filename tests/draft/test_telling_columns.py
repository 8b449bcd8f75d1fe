"""Columns that are published unchanged and tell a key are found in drafts, and warned of in policies."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.draft.functional_dependencies import told_rows
from sfumato.table.microdata import Role
from sfumato.table.observers import FirstTexts, RowObserver
from sfumato.table.source import open_source
from sfumato.workflows.confirm import check_policy

PROVINCES = ["north", "south", "east", "west"]
WEIGHTS = {
    "north": ("1225.5", "2451"),
    "south": ("3677.25",),
    "east": ("4502.5", "9005"),
    "west": ("2479.26",),
}
POLICY = {
    "columns": {
        "province": {"role": "quasi"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 40], "from": 0, "to": 80}},
        "weight": {"role": "insensitive"},
        "score": {"role": "insensitive"},
    },
    "promises": [{"k-anonymity": {"k": 3}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def people(rows=400, honest=0.0):
    """Survey weights that tell the province, but for a share of the rows."""
    chance = random.Random(1)
    table = {"province": [], "age": [], "weight": [], "score": []}
    for _ in range(rows):
        province = chance.choice(PROVINCES)
        table["province"].append(province)
        table["age"].append(str(chance.randrange(20, 60)))
        shown = chance.choice(PROVINCES) if chance.random() < honest else province
        table["weight"].append(chance.choice(WEIGHTS[shown]))
        table["score"].append(str(chance.randrange(5)))
    return pl.DataFrame(table)


def told_one_by_one(cells, keys):
    """For every row: is its key alone the most frequent among the others with its cell?"""
    told = 0
    for i, (cell, key) in enumerate(zip(cells, keys, strict=True)):
        others = Counter(k for j, (c, k) in enumerate(zip(cells, keys, strict=True)) if c == cell and j != i)
        best = others.most_common(1)
        told += bool(best) and [k for k, n in others.items() if n == best[0][1]] == [key]
    return told


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40))
def test_rows_are_told_as_one_by_one(rows):
    cells, keys = (np.array(side, np.int64) for side in zip(*rows, strict=True))
    assert told_rows(cells, keys) == told_one_by_one(cells.tolist(), keys.tolist())


def test_a_draft_makes_weights_that_tell_a_province_a_key():
    rule = sf.declare(people().rename({"weight": "survey_weight"})).columns["survey_weight"]
    assert rule.role is Role.QUASI
    assert "tells province in 400 of 400 rows" in rule.reason
    free = sf.declare(people(honest=0.5).rename({"weight": "survey_weight"})).columns["survey_weight"]
    assert free.role is Role.INSENSITIVE


def test_what_is_told_in_nearly_all_rows_is_warned_of():
    for share, warned in ((0.0, True), (0.05, True), (0.4, False)):
        found = [d for d in check_policy(POLICY, people(honest=share)) if d.name == "telling"]
        assert bool(found) is warned
        assert all(str(d.where) == "column weight" and "tells province in" in d.what for d in found)


@pytest.mark.parametrize("write", [pl.DataFrame.write_csv, pl.DataFrame.write_parquet])
def test_protect_and_release_warn_in_the_pass_that_counts(write, tmp_path):
    path = tmp_path / ("people.csv" if write is pl.DataFrame.write_csv else "people.parquet")
    write(people(), path)
    told = []
    sf.protect(path, POLICY, warn=lambda diagnosis: told.append(diagnosis.name))
    assert told.count("telling") == 1
    told.clear()
    ledger = f"sqlite:///{tmp_path}/ledger.db"
    sf.release(path, POLICY, ledger=ledger, into=tmp_path / "one", warn=lambda d: told.append(d.name))
    assert told.count("telling") == 1


def test_only_the_first_rows_are_shown_and_once():
    source, shown = open_source(people(300)), []
    reader = RowObserver(source.reader, ["weight"], lambda: FirstTexts(["weight"]), shown.append, most=100)
    for _ in range(2):
        assert sum(len(batch) for batch in reader.batches(["age"])) == 300
    assert [len(texts["weight"]) for texts in shown] == [100]


def test_missing_keys_and_columns_that_are_not_there_do_no_harm():
    table = people().with_columns(pl.when(pl.int_range(pl.len()) % 2 == 0).then("province").alias("province"))
    (found,) = [d for d in check_policy(POLICY, table) if d.name == "telling"]
    assert "200 of 200 rows" in found.what
    assert not any(d.name == "telling" for d in check_policy(POLICY, people().drop("weight")))
    assert not any(d.name == "telling" for d in check_policy(POLICY, people(12)))
