"""Neighbours of groups are the cheapest of those that are near in some order."""

from __future__ import annotations

from collections import Counter
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


@pytest.mark.parametrize("at_once", [1, 2, group_neighbours.ORDERS_TOGETHER])
@pytest.mark.parametrize(("reach", "kept", "most_orders"), [(1, 2, 9), (2, 3, 2), (3, 24, 9)])
@given(table=tables(rows=20, keys=3, leaves=6, min_rows=1), data=st.data())
def test_neighbours_are_the_cheapest_of_all_orders(at_once, reach, kept, most_orders, table, data):
    weights = {"q0": Fraction(data.draw(st.integers(0, 9)), 2)}
    groups = KeyGroups.of(with_ceilings(table, data), weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_neighbours, "ORDERS_TOGETHER", at_once)
        patch.setattr(group_neighbours, "REACH", reach)
        patch.setattr(group_neighbours, "KEPT", kept)
        patch.setattr(group_neighbours, "MOST_ORDERS", most_orders)
        near = neighbours_of(groups)
    assert near.dtype == np.int32
    assert near.tolist() == neighbours_one_by_one(groups, reach, kept, most_orders).tolist()


@pytest.mark.parametrize("together", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_orders_in_parts_give_the_same(seed, together, monkeypatch):
    groups = KeyGroups.of(crowded(seed, rows=400, keys=5, leaves=6), {})
    near = neighbours_of(groups)
    assert near.tolist() == neighbours_one_by_one(groups, 8, 24, 100).tolist()
    monkeypatch.setattr(group_neighbours, "ORDERS_TOGETHER", together)
    assert neighbours_of(groups).tolist() == near.tolist()


def test_neighbours_have_room_for_any_price():
    """Where prices and numbers do not fit 64 bits together, all that is barred costs the same."""
    table = crowded(1, rows=300, keys=60, leaves=6)
    tops = [
        replace(c, taxonomy=never_above(c.taxonomy, 1)) if c.role == "quasi" else c for c in table.columns
    ]
    groups = KeyGroups.of(Microdata.of_codes(tops, [table.codes(c.name) for c in tops]), {})
    groups = replace(groups, forest=groups.forest._replace(price=groups.forest.price << 11))
    exact = neighbours_one_by_one(groups, 8, 24, 60)
    cheap = 1 << (62 - 9)
    for group, (near, expected) in enumerate(zip(neighbours_of(groups), exact, strict=True)):
        prices = [price_of_common_box(groups, group, other) for other in expected]
        told = [price_of_common_box(groups, group, other) for other in near]
        assert [min(price, cheap) for price in told] == [min(price, cheap) for price in prices]


def grown_one_by_one(groups, near, seed, least, doubled, waiting):
    """The levels of the box around a group, each time that it has enough rows."""
    levels = [[list(map(int, nodes)) for nodes in column] for column in groups.levels]

    def met(one, other):
        pairs = zip(levels, groups.leaf[one].tolist(), groups.leaf[other].tolist(), strict=True)
        return [
            next(
                i for i, nodes in enumerate(column) if nodes[column[0].index(a)] == nodes[column[0].index(b)]
            )
            for column, a, b in pairs
        ]

    def price(vector):
        here = groups.leaf[seed].tolist()
        return sum(
            int(groups.forest.price[column[level][column[0].index(leaf)]])
            for column, level, leaf in zip(levels, vector, here, strict=True)
        )

    def joined(other):
        return [max(a, b) for a, b in zip(box, met(seed, other), strict=True)]

    box, members, waits, seen = [0] * len(levels), [seed], [], {seed}
    asked, made = 0, []
    for step in range(doubled + 1):
        while sum(int(groups.weight[m]) for m in members) < least << step:
            while len(waits) < waiting and asked < len(members):
                fresh = [o for o in near[members[asked]].tolist() if o >= 0 and o not in seen]
                seen.update(fresh)
                waits += fresh
                asked += 1
            if not waits:
                break
            place = min(range(len(waits)), key=lambda n: (price(joined(waits[n])), n))
            box = joined(waits[place])
            members.append(waits[place])
            last = waits.pop()
            if place < len(waits):
                waits[place] = last
        made.append(tuple(box))
    return made


@given(table=tables(rows=20, keys=3, leaves=6, min_rows=1), least=st.integers(1, 5))
def test_boxes_grow_by_whoever_costs_least(table, least):
    groups = KeyGroups.of(table, {})
    near = neighbours_of(groups)
    expected = Counter(
        vector
        for seed in range(len(groups))
        for vector in grown_one_by_one(groups, near, seed, least, group_neighbours.DOUBLED, 24)
    )
    found, counts = group_neighbours.promising_levels(groups, near, least)
    assert found.dtype == np.int32 and counts.dtype == np.int64
    assert dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True)) == expected
