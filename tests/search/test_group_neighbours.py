"""Neighbours of groups are the cheapest of those that are near in some order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.checks import crowded
from sfumato.search import local as group_neighbours
from sfumato.search.key_groups import KeyGroups
from sfumato.search.local import neighbours_of
from sfumato.table.microdata import Microdata
from sfumato.table.taxonomy import never_above
from strategies import tables


def with_ceilings(table, data):
    """The same table, some columns of which may not be published above a level."""
    columns = [
        replace(c, taxonomy=never_above(c.taxonomy, data.draw(st.integers(0, c.taxonomy.height))))
        if data.draw(st.booleans())
        else c
        for c in table.columns
    ]
    return Microdata.of_codes(columns, [table.codes(c.name) for c in columns])


def price_of_common_box(groups, one, other):
    """What a row loses in the lowest box over two groups, by walking up from the leaves."""
    parent, end, price = (array.tolist() for array in groups.forest)
    total = 0
    for begin, leaf in zip(groups.leaf[one].tolist(), groups.leaf[other].tolist(), strict=True):
        node = begin
        while not node <= leaf < end[node]:
            node = parent[node]
        total += price[node]
    return total


def neighbours_one_by_one(groups, reach, kept, most_orders):
    """All that `neighbours_of` says, from sorted lists of tuples."""
    count, columns = groups.leaf.shape
    met = [set() for _ in range(count)]
    for last in (columns - 1, *range(min(columns, most_orders) - 1)):
        order = [j for j in range(columns) if j != last] + [last]
        places = sorted(range(count), key=lambda g: groups.leaf[g, order].tolist())
        for place, group in enumerate(places):
            met[group].update(places[max(0, place - reach) : place + reach + 1])
    near = np.full((count, kept), -1, np.int32)
    for group in range(count):
        others = sorted((price_of_common_box(groups, group, o), o) for o in met[group] - {group})[:kept]
        near[group, : len(others)] = [other for _, other in others]
    return near


@pytest.mark.parametrize("at_once", [0, group_neighbours.MOST_ENTRIES_AT_ONCE])
@pytest.mark.parametrize(("reach", "kept", "most_orders"), [(1, 2, 9), (2, 3, 2), (3, 24, 9)])
@given(table=tables(rows=20, keys=3, leaves=6, min_rows=1), data=st.data())
def test_neighbours_are_the_cheapest_of_all_orders(at_once, reach, kept, most_orders, table, data):
    weights = {"q0": Fraction(data.draw(st.integers(0, 9)), 2)}
    groups = KeyGroups.of(with_ceilings(table, data), weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_neighbours, "MOST_ENTRIES_AT_ONCE", at_once)
        patch.setattr(group_neighbours, "REACH", reach)
        patch.setattr(group_neighbours, "KEPT", kept)
        patch.setattr(group_neighbours, "MOST_ORDERS", most_orders)
        near = neighbours_of(groups)
    assert near.dtype == np.int32
    assert near.tolist() == neighbours_one_by_one(groups, reach, kept, most_orders).tolist()


@pytest.mark.parametrize("limit", ["MOST_ENTRIES_AT_ONCE", "MOST_KEYS"])
@pytest.mark.parametrize("seed", range(4))
def test_orders_one_by_one_give_the_same(seed, limit, monkeypatch):
    """Where all orders would take much memory, or prices leave no room for the number of a group."""
    groups = KeyGroups.of(crowded(seed, rows=400, keys=5, leaves=6), {})
    near = neighbours_of(groups)
    assert near.tolist() == neighbours_one_by_one(groups, 8, 24, 100).tolist()
    monkeypatch.setattr(group_neighbours, limit, 0)
    monkeypatch.delattr(group_neighbours, "nearest_groups")
    assert neighbours_of(groups).tolist() == near.tolist()
