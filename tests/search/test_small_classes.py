"""Lattices without suppression, where single classes refuse nodes: against all nodes of small tables."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles.exhaustive_lattice import exhaustive
from search.test_wide_lattice import WANTED, WEIGHTS, found_within
from sfumato.kernels.lattice import first_row, have_enough, mark_rows
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search import lattice as small_classes
from sfumato.search.contract import Aim
from sfumato.search.frontier import RollUp
from sfumato.search.lattice import SmallClasses
from sfumato.search.loss import MEASURES
from sfumato.search.node_cost import node_cost
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import tables

ALWAYS = {"FEWEST_FOR_SMALL_CLASSES": 0}
SIZES = [Promises((KAnonymity(k),)) for k in (2, 3, 5)]


def sizes_at(table, levels):
    """The rows of every class at a node, and which class each distinct row is in."""
    cuts = {c.name: Cut.level(c.taxonomy, i) for c, i in zip(table.keys, levels, strict=True)}
    owner, _ = classes_under(table, cuts)
    return np.bincount(owner, table.counts, owner.max(initial=-1) + 1).astype(np.int64), owner


def of_rows(table, levels):
    """How many rows the class of every distinct row has at a node."""
    sizes, owner = sizes_at(table, levels)
    return sizes[owner]


def traced(make):
    """The bytes that are held after something was made."""
    tracemalloc.start()
    try:
        made = make()
        return tracemalloc.get_traced_memory()[0] if made is not None else 0
    finally:
        tracemalloc.stop()


def small_at_a_coarser_node():
    """A table with a class that is small where one column is general, and is not of its lowest leaves."""
    key = Taxonomy.grow(["*", "a", "b"], [-1, 0, 0])
    columns = [Column(f"q{j}", Role.QUASI, key) for j in range(3)]
    rows = np.repeat([[0, 0, 0], [0, 1, 1], [1, 1, 1]], [14, 1, 1], axis=0)
    return Microdata.of_codes(columns, [column.astype(np.int32) for column in rows.T])


def above(levels, tops):
    """Every node one level above this one."""
    for j, (level, top) in enumerate(zip(levels, tops, strict=True)):
        if level < top:
            yield (*levels[:j], level + 1, *levels[j + 1 :])


@pytest.mark.parametrize("lines", [small_classes.FEWEST_LINES, 4])
@given(
    table=tables(rows=14, keys=3, min_rows=1, people=True),
    wanted=st.sampled_from([*SIZES, *WANTED]),
    loss=st.sampled_from(sorted(MEASURES)),
    weights=WEIGHTS,
)
def test_the_node_is_found_that_the_rule_names(lines, table, wanted, loss, weights):
    aim = Aim(Fraction(0), loss, weights=weights)
    expected = exhaustive(table, wanted, aim)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_classes, "FEWEST_LINES", lines)
        patch.setattr(small_classes, "MOST_WORDS", 1)
        found = found_within(ALWAYS, table, wanted, aim)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.optimal and found.bound is None
        assert tuple(found.levels.values()) == expected.levels
        assert found.recoding.suppressed == expected.suppressed


@given(
    table=tables(rows=14, keys=3, min_rows=1),
    wanted=st.sampled_from(SIZES),
    loss=st.sampled_from(["loss", "entropy"]),
)
def test_without_steps_the_best_so_far_is_between_the_bound_and_what_else_there_is(table, wanted, loss):
    aim = Aim(Fraction(0), loss)
    expected = exhaustive(table, wanted, aim)
    found = found_within(ALWAYS | {"MOST_GROUPED": 30}, table, wanted, aim)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.loss >= expected.score * (1 - 1e-9)
        assert found.bound is None or found.bound <= expected.score * (1 + 1e-9)
        assert not found.optimal or found.loss == pytest.approx(expected.score)


@example(table=small_at_a_coarser_node(), least=2)
@given(table=tables(rows=16, keys=3, min_rows=1), least=st.integers(2, 5))
def test_a_class_is_raised_as_far_as_it_stays_too_small(table, least):
    cost, rollup = node_cost(table, Aim()), RollUp(table, ())
    tops = tuple(c.taxonomy.height for c in table.keys)
    known = SmallClasses(table, cost.steps, least)
    for levels in product(*(range(top + 1) for top in tops)):
        sizes, _ = sizes_at(table, levels)
        raised = list(known.met(rollup, rollup.at(levels), levels))
        assert bool(raised) == bool((sizes < least).any())
        for node in raised:
            assert all(i <= j for i, j in zip(levels, node, strict=True))
            here = of_rows(table, node)
            enough_above = [of_rows(table, coarser) >= least for coarser in above(node, tops)]
            assert np.logical_and.reduce([here < least, *enough_above]).any()
        again = known.refused(levels)
        assert (again is not None) or not raised
        if again is not None:
            assert (sizes_at(table, again)[0] < least).any()


@given(table=tables(rows=16, keys=3, min_rows=1), least=st.integers(2, 5))
def test_what_is_held_is_what_is_said_to_be_held(table, least):
    cost = node_cost(table, Aim())
    held = traced(lambda: SmallClasses(table, cost.steps, least))
    assert held <= SmallClasses.bytes_held(table) + 20_000


@given(
    codes=st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=200
    ),
    spans=st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 3), st.integers(0, 4)),
    least=st.integers(1, 40),
)
def test_rows_that_two_nodes_have_in_common_are_counted(codes, spans, least):
    first, second, counts = (np.array(each) for each in zip(*codes, strict=True))
    marks = np.empty((2, -(-len(codes) // 64)), np.uint64)
    mark_rows(first.astype(np.int32), spans[0], spans[1], marks[0])
    mark_rows(second.astype(np.int32), spans[2], spans[3], marks[1])
    inside = (first >= spans[0]) & (first < spans[1]) & (second >= spans[2]) & (second < spans[3])
    enough, words = have_enough(marks, np.array([0, 1]), counts.astype(np.int64), least)
    assert enough == (counts[inside].sum() >= least)
    assert first_row(marks, np.array([0, 1])) == (np.flatnonzero(inside)[0] if inside.any() else -1)
    assert 1 <= words <= marks.shape[1]
