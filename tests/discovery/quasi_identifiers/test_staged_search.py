"""Searches that end before their end: the small sets are there, no set twice, and every claim is true."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.quasi_identifiers import coded, minimal_sets, random_table
from sfumato.discovery.quasi_identifiers import enumeration as level_search
from sfumato.discovery.quasi_identifiers.coded import Limits, Reading
from sfumato.discovery.quasi_identifiers.enumeration import StagedSearch, TreeSearch, minimal
from sfumato.discovery.quasi_identifiers.measures import QuasiIdentifierQuestion, ReducedTable


def run_stages(table, reading, budget, steps_per_run, max_size=None):
    """Returns a search that was run within a budget of steps, whether it ended, and its sets by name."""
    question = QuasiIdentifierQuestion.of(coded(table), reading)
    if question.settled or question.terms.t == question.terms.rows:
        return None
    reduced, limits = ReducedTable.of(question.table, question.terms.k), Limits(budget=budget)
    bound = reduced.columns if max_size is None else min(max_size, reduced.columns)
    k, t = question.terms.k, question.terms.t
    search = StagedSearch(reduced, k=k, t=t, max_size=bound, limits=limits, steps_per_run=steps_per_run)
    ended = search.run(lambda found: limits.allow(found, search.steps), fits=limits.fits)
    sets = list(question.named(search.words(), reduced))
    for part in (search._tree, search._levels):
        assert set(question.named(part.words(), reduced)) <= set(sets)
    return search, ended, sets


@given(st.integers(0, 2**32))
def test_whatever_was_found_is_minimal_and_small_sets_are_complete(seed):
    draw = random.Random(seed)
    table = random_table(draw, columns=8, rows=40)
    count = draw.randint(1, 30)
    reading = Reading.of(k=draw.randint(2, 5), count=count)
    largest = draw.choice([None, 4, 5])
    ran = run_stages(table, reading, draw.randint(1, 60_000), draw.choice([1, 300, 5_000]), largest)
    if ran is None:
        return
    search, ended, sets = ran
    expected = minimal_sets(table, reading, largest)
    assert len(set(sets)) == len(sets)
    assert set(sets) <= set(expected)
    known = [columns for columns in expected if ended or len(columns) <= search.sizes_done]
    assert set(known) <= set(sets)


def test_all_stages_are_gone_through_and_agree_with_all_subsets():
    draw = random.Random(3)
    table = {f"c{j}": [draw.randrange(2 + j % 2) for _ in range(60)] for j in range(10)}
    reading = Reading.of(k=3, fraction="1/2")
    expected = minimal_sets(table, reading)
    stages = set()
    for budget in (200, 20_000, 100_000, 400_000, 10**9):
        search, ended, sets = run_stages(table, reading, budget, 100)
        stages.add((ended, search.sizes_done))
        if ended:
            assert sets == expected
        assert set(sets) <= set(expected)
        assert {s for s in expected if len(s) <= search.sizes_done} <= set(sets)
    assert {True, False} == {ended for ended, _ in stages}
    assert max(done for _, done in stages) == 3


def test_small_sets_of_a_wide_table_are_listed_though_the_tree_does_not_end():
    draw = np.random.default_rng(5)
    table = {f"c{j:02d}": draw.integers(0, 2 + j % 5, 400).tolist() for j in range(28)}
    reading = Reading.of(k=2, mode="any")
    found = minimal(coded(table), reading, limits=Limits(budget=1 << 25))
    assert not found.complete and found.complete_to >= 2
    small = [columns for columns in found.sets if len(columns) <= found.complete_to]
    assert small == minimal_sets(table, reading, found.complete_to)
    assert len(set(found.sets)) == len(found.sets)


@pytest.mark.parametrize("reading", [Reading.of(k=3, fraction="1/2"), Reading.of(k=2, mode="all")])
def test_steps_are_what_was_done_however_often_the_limits_are_looked_at(reading):
    draw = random.Random(4)
    table = {f"c{j}": [draw.randrange(2 + j % 3) for _ in range(60)] for j in range(9)}
    table["number"] = [i // 2 for i in range(60)]
    question = QuasiIdentifierQuestion.of(coded(table), reading)
    assert not question.settled
    reduced = ReducedTable.of(question.table, question.terms.k)
    steps, found = set(), set()
    for at_once in (1, 700, 1 << 22):
        tree = TreeSearch(reduced, k=question.terms.k, t=question.terms.t, max_size=reduced.columns)
        assert tree.run(lambda _: True, budget=at_once)
        steps.add(tree.steps)
        found.add(tree.found)
    assert len(steps) == len(found) == 1
    assert min(steps) > reduced.rows


@pytest.mark.parametrize("cells", [1, 50, 1000])
def test_how_many_cells_are_looked_at_at_once_changes_nothing(monkeypatch, cells):
    draw = random.Random(8)
    for _ in range(15):
        table = random_table(draw, columns=7, rows=40)
        reading = Reading.of(k=2, count=draw.randint(1, 20))
        whole = minimal(coded(table), reading, max_size=3)
        with monkeypatch.context() as patch:
            patch.setattr(level_search, "CELLS_AT_ONCE", cells)
            assert minimal(coded(table), reading, max_size=3) == whole
