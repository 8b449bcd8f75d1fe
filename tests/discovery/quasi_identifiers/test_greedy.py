"""The greedy cover: a minimal set, a factor and a bound that exhaustive search bears out."""

import random
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.quasi_identifiers.test_minimal_sets import readings
from oracles.quasi_identifiers import coded, exposed, minimal_sets, projected, random_table
from sfumato.discovery.quasi_identifiers.coded import Reading
from sfumato.discovery.quasi_identifiers.descent import best_of_orders, greedy_cover, harmonic_bound

ALL = Reading.of(k=2, mode="all")


def planted_cover(columns=120, size=8, elements=200, seed=1):
    """Disjoint blocks hidden among smaller random sets: the blocks are the only cover of their size."""
    draw = random.Random(seed)
    order = list(range(elements))
    draw.shuffle(order)
    places = draw.sample(range(columns), size)
    table = {}
    for j in range(columns):
        if j in places:
            members = set(order[places.index(j) :: size])
        else:
            members = set(draw.sample(order, elements // size - 5))
        table[f"c{j}"] = [e if e in members else "none" for e in range(elements)] + ["none"]
    return table, {f"c{j}" for j in places}


@pytest.mark.parametrize("seed", range(4))
def test_the_set_is_minimal_and_its_bounds_hold(seed):
    draw = random.Random(500 + seed)
    for _ in range(60):
        table = random_table(draw, columns=6)
        for reading in readings(draw, draw.randint(1, 5)):
            every = minimal_sets(table, reading)
            found = greedy_cover(coded(table), reading)
            if not every:
                assert found.columns is None and found.reason
                continue
            assert found.columns in every
            smallest = min(map(len, every))
            assert found.lower_bound <= smallest
            assert not found.proved or len(found.columns) == smallest
            if found.factor is not None:
                assert len(found.columns) <= found.factor * smallest


@given(st.integers(0, 10**9), st.integers(2, 4))
def test_every_step_takes_the_column_that_leaves_fewest_alike(seed, k):
    table = random_table(random.Random(seed))
    found = greedy_cover(coded(table), Reading.of(k=k, mode="all"))
    taken = []
    for step in found.steps:
        left = {name: alike(table, [*taken, name], k) for name in table}
        assert step.alike == min(left.values()) == left[step.column]
        assert step.told_apart == alike(table, taken, k) - step.alike
        taken.append(step.column)
    assert not found.steps or exposed(table, taken, k) == len(projected(table, taken))


def alike(table, columns, k):
    rows = projected(table, columns)
    return sum(comb(rows.count(row), k) for row in set(rows))


def test_a_planted_cover_that_random_orders_miss():
    table, planted = planted_cover()
    found = greedy_cover(coded(table), ALL)
    assert set(found.columns) == planted and len(planted) == 8
    assert found.lower_bound >= 5
    assert len(best_of_orders(coded(table), ALL, orders=50, seed=0).columns) > 2 * len(planted)


def test_the_factor_is_a_logarithm_of_the_rows():
    table, _ = planted_cover()
    assert 9 < found_factor(table) < 1 + 2 * 5.31  # ln 201 = 5.303…
    no_cover = greedy_cover(coded(table), Reading.of(k=2, fraction="1/2"))
    assert no_cover.factor is None and no_cover.columns


def found_factor(table):
    return greedy_cover(coded(table), ALL).factor


def test_harmonic_numbers_are_bounded_from_above():
    total = Fraction(0)
    for d in range(1, 400):
        total += Fraction(1, d)
        assert total <= harmonic_bound(d) < total + Fraction(1, 2)
