"""Units of people and what they show: from quasi-identifiers and coins alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from search.blind_people import (
    ANYBODY,
    DISEASES,
    SOME_LEFT_OUT,
    TWO,
    members,
    numbers,
    people_table,
)
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search.blind_groups import (
    BLOCK_UNITS,
    MORE_UNITS,
    covers,
    group_people,
    make_units,
)
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import SUPPRESSED
from sfumato.table.taxonomy import Taxonomy, never_above
from strategies import cases, taxonomies

# Units ----------------------------------------------------------------------------------------------------


@cases(40)
@given(
    rows=st.integers(8, 400),
    people=st.integers(2, 6),
    seed=st.integers(0, 10_000),
    aim=st.sampled_from([ANYBODY, SOME_LEFT_OUT]),
    places=st.integers(1, 6),
)
def test_units_kinds_and_blocks_are_as_they_should_be(rows, people, seed, aim, places):
    table = people_table(rows, seed=seed, places=places)
    units = make_units(table, people, aim, Coins(b"units"))
    assume(units is not None)
    whose = members(table, units.unit_of)
    assert sorted(whose) == list(range(units.count))
    sizes = np.array([len(whose[unit]) for unit in range(units.count)])
    assert np.array_equal(sizes, units.size)
    assert people <= sizes.min()
    assert sizes.max() <= 2 * people - 1
    for unit in range(units.count):
        codes = np.stack([table.codes(c.name)[units.unit_of == unit] for c in table.keys], axis=1)
        assert np.array_equal(codes.min(axis=0), units.first[unit])
        assert np.array_equal(codes.max(axis=0), units.last[unit])
    for kind in np.unique(units.kind):
        assert len(set(sizes[units.kind == kind])) == 1
        lengths = sorted(
            np.bincount(units.block[units.kind == kind])[np.unique(units.block[units.kind == kind])]
        )
        assert lengths[:-1] == [BLOCK_UNITS] * (len(lengths) - 1)
        assert lengths[-1] == BLOCK_UNITS or (
            lengths[-1] % BLOCK_UNITS and lengths[-1] < 2 * MORE_UNITS + BLOCK_UNITS
        )
    per_block = np.bincount(units.block)
    assert np.array_equal(units.can_join, per_block == BLOCK_UNITS)
    assert int((units.unit_of == SUPPRESSED).sum()) <= aim.allowed(table)


@pytest.mark.parametrize("rows", range(240, 252))
def test_whatever_the_number_of_people_nobody_is_left_out_where_nobody_may_be(rows):
    """A number that four does not divide leaves people over, who make one block of more units."""
    table = people_table(rows, seed=rows)
    for people in (3, 5):
        units = make_units(table, people, ANYBODY, Coins(b"units"))
        assert units is not None
        assert (units.unit_of != SUPPRESSED).all()


@pytest.mark.parametrize("places", [1, 6])
def test_no_group_crosses_a_ceiling(places):
    """Ages may not be coarser than a node of twenty: neither units nor joins put more into one box."""
    trees = (never_above(numbers(40, per_node=20), 1), Taxonomy.flat([f"t{i}" for i in range(places)]))
    table = people_table(300, seed=7, trees=trees, shares=[0.6, 0.3, 0.05, 0.05])
    promises = Promises((KAnonymity(3), DistinctLDiversity("disease", 3)))
    outcome, how = group_people(table, promises, ANYBODY, "blind", Coins(b"ceiling"))
    assert how.blind
    recoding = outcome.recoding
    assert (recoding.low[:, 0] // 20 == (recoding.high[:, 0] - 1) // 20).all()


@pytest.mark.parametrize("rows", [0, 1, 3, 7])
def test_few_people_make_no_units(rows):
    outcome, how = group_people(people_table(rows), TWO, ANYBODY, "default", Coins(b"few"))
    assert outcome is None
    assert not how.blind
    with pytest.raises(Infeasible, match="cannot be grouped blindly"):
        group_people(people_table(rows), TWO, ANYBODY, "blind", Coins(b"few"))


def test_a_k_above_the_number_of_people_makes_no_units():
    promises = Promises((KAnonymity(50), DistinctLDiversity("disease", 2)))
    outcome, how = group_people(people_table(40), promises, ANYBODY, "default", Coins(b"k"))
    assert outcome is None
    assert "too few people" in how.reason


def test_people_who_are_all_alike_are_told_apart_by_coins_alone():
    table = people_table(64, trees=(numbers(1), Taxonomy.flat(["t0"])))
    units = [make_units(table, 4, ANYBODY, Coins(key)) for key in (b"one", b"one", b"another")]
    first, again, other = (set(members(table, made.unit_of).values()) for made in units)
    assert first == again
    assert first != other


def test_a_table_without_quasi_identifiers_is_not_grouped():
    table = Microdata.of_codes(
        [Column("disease", Role.SENSITIVE, DISEASES)], [np.zeros(50, np.int32)], person=np.arange(50)
    )
    outcome, how = group_people(table, TWO, ANYBODY, "default", Coins(b"none"))
    assert outcome is None
    assert how.reason == "there are no quasi-identifiers"


def test_one_quasi_identifier_is_enough():
    table = people_table(200)
    alone = Microdata.of_codes(
        [table.columns[0], table.columns[2]],
        [table.codes("age"), table.codes("disease")],
        person=table.person,
    )
    outcome, how = group_people(alone, TWO, ANYBODY, "blind", Coins(b"one column"))
    assert how.blind
    assert outcome.recoding.classes(outcome.recoding.class_of, ["disease"]).people.min() >= 2


# Boxes ----------------------------------------------------------------------------------------------------


@cases(150)
@given(tree=taxonomies(leaves=7), ends=st.tuples(st.integers(0, 6), st.integers(0, 6)), ranges=st.booleans())
def test_a_box_covers_its_rows_by_the_narrowest_node_or_range(tree, ends, ranges):
    count = len(tree.leaves)
    low, last = sorted(min(end, count - 1) for end in ends)
    start, stop = (
        int(edge[0]) for edge in covers(tree, np.array([low]), np.array([last + 1]), ranges=ranges)
    )
    assert start <= low
    assert last < stop
    nodes = {(int(tree.low[node]), int(tree.high[node])) for node in range(len(tree.labels))}
    around = [(a, b) for a, b in nodes if a <= low and last < b]
    if (start, stop) in nodes:
        narrowest = min(b - a for a, b in around)
        assert stop - start <= narrowest
    else:
        assert ranges
        assert tree.ordered
        begins, ends_at = tree.range_cells()
        assert start in set(begins.tolist())
        assert stop in set(ends_at.tolist())
    tree.describe(start, stop)


def test_a_range_ends_at_nodes_and_never_at_values():
    tree = numbers(40, range_level=1)
    low, high = covers(tree, np.array([3, 6, 12]), np.array([12, 8, 13]), ranges=True)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [(0, 15), (5, 10), (12, 13)]


def test_a_range_never_holds_missing_cells():
    tree = Taxonomy.grow(
        ["*", "0-1", "0", "1", "2-3", "2", "3", None], [-1, 0, 1, 1, 0, 4, 4, 0], ordered=True
    )
    missing = tree.rank(None)
    for low in range(len(tree.leaves)):
        for high in range(low + 1, len(tree.leaves) + 1):
            start, stop = (int(e[0]) for e in covers(tree, np.array([low]), np.array([high]), ranges=True))
            if start <= missing < stop:
                assert (start, stop) in {(0, len(tree.leaves)), (missing, missing + 1)}
