"""The labels of the usefulness benchmark, and what it counts."""

from __future__ import annotations

import pandas as pd
import pytest
from benchmarks.usefulness import Story, judge_roles
from benchmarks.usefulness_jobs import cells_lost, fitted
from benchmarks.usefulness_tables import ROLES, LabelledTable, labelled_tables

import sfumato as sf
from sfumato.reports.paired_tables import read_tables
from sfumato.table.source import open_source

TABLES = list(labelled_tables())
POLICY = {
    "columns": {
        "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 100}},
        "sex": {"role": "quasi"},
        "pay": {"role": "insensitive"},
    },
    "promises": [{"k-anonymity": {"k": 4}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def people():
    ages = [20 + 7 * i % 60 for i in range(120)]
    return pd.DataFrame({"age": ages, "sex": ["f", "m"] * 60, "pay": [1000 + 30 * age for age in ages]})


def test_there_are_ten_tables_or_more():
    assert len(TABLES) >= 10
    assert len({table.name for table in TABLES}) == len(TABLES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_has_one_label(table):
    named = [column for key in ROLES for column in table.words.get(key, [])]
    assert len(named) == len(set(named))
    assert set(table.regression or []) | {table.model or named[0]} <= set(named)
    assert table.words.get("quasi")


def test_missed_columns_are_failures_and_caution_is_none():
    story = Story(LabelledTable("made", {"identifier": ["pay"], "quasi": ["age"], "neither": ["sex"]}))
    judge_roles(story, sf.Policy.from_dict(POLICY))
    assert story.failures == ["made: column pay: identifier, declared insensitive"]
    assert (story.figures["right"], story.figures["missed"]) == (1, 1)


def test_the_share_of_cells_lost_is_that_of_the_published_table():
    raw = people()
    for search in ("top-down", "local"):
        plan = sf.protect(raw, POLICY | {"protect": {"suppress": 0, "search": search}})
        told = sf.compare(raw, plan.apply(raw), plan.policy)
        assert cells_lost(plan) == (pytest.approx(told.table.share_lost), list(told.table.columns_lost))


def test_a_line_of_the_original_and_of_the_safe_table():
    raw = people()
    plan = sf.protect(raw, POLICY)
    before, after = fitted(
        read_tables(open_source(raw), open_source(plan.apply(raw)), plan.policy), ["pay", "age"]
    )
    assert before == pytest.approx([30])
    assert after is not None and 25 < after[0] < 35
    everything = raw.assign(age="*")
    assert (
        fitted(read_tables(open_source(raw), open_source(everything), plan.policy), ["pay", "age"])[1] is None
    )
