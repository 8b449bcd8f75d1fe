"""One minimal set by leaving out columns: the paper's answer, in one pass."""

import random
from fractions import Fraction
from itertools import permutations
from math import comb

import pytest

from discovery.quasi_identifiers.test_minimal_sets import readings
from oracles.quasi_identifiers import (
    coded,
    is_quasi_identifier,
    minimal_sets,
    paper_loop,
    random_table,
)
from sfumato.discovery.quasi_identifiers.coded import Coded, Limits, Reading
from sfumato.discovery.quasi_identifiers.descent import best_of_orders, descend
from sfumato.system.errors import UsageError


@pytest.mark.parametrize("seed", range(6))
def test_same_answer_as_the_loop_of_the_paper_in_fewer_tests(seed):
    draw = random.Random(seed)
    for _ in range(80):
        table = random_table(draw)
        for reading in readings(draw, draw.randint(1, 5)):
            found = descend(coded(table), reading)
            if not is_quasi_identifier(table, tuple(table), reading):
                assert found.columns is None and found.reason
                continue
            columns, tests = paper_loop(table, reading)
            assert found.columns == columns
            assert len(found.steps) == len(table) <= max(tests, len(table))
            for step in found.steps:
                assert step.without not in step.remaining
                assert is_quasi_identifier(table, step.remaining, reading) == step.holds


def test_every_order_leads_to_a_minimal_set_and_together_they_reach_all():
    draw = random.Random(4)
    for _ in range(25):
        table = random_table(draw, columns=4)
        reading = Reading.of(k=2, mode="distinct")
        reached = set()
        for order in permutations(table):
            columns = descend(coded(table), reading, order=order).columns
            reached.add(None if columns is None else tuple(sorted(columns)))
        assert reached - {None} == set(minimal_sets(table, reading))


def test_an_order_names_every_column_once():
    with pytest.raises(UsageError, match="every column once"):
        descend(Coded.of_columns({"a": [1], "b": [2]}), Reading.of(k=2, mode="any"), order=["a"])


def test_the_stated_chance_is_a_lower_bound():
    """Over all orders of the columns, the share that finds a given minimum is at least 1 in C(m, q)."""
    draw = random.Random(9)
    for _ in range(20):
        table = random_table(draw, columns=4)
        reading = Reading.of(k=2, mode="any")
        sets = minimal_sets(table, reading)
        if not sets:
            continue
        smallest = [s for s in sets if len(s) == len(sets[0])]
        orders = list(permutations(table))
        ends = [tuple(sorted(descend(coded(table), reading, order=o).columns)) for o in orders]
        for target in smallest:
            assert Fraction(ends.count(target), len(orders)) >= Fraction(1, comb(len(table), len(target)))


def test_best_of_random_orders():
    draw = random.Random(2)
    table = {f"c{j}": [draw.randrange(3) for _ in range(30)] for j in range(7)}
    reading = Reading.of(k=2, mode="any")
    found = best_of_orders(coded(table), reading, orders=60, seed=1)
    assert found.columns in minimal_sets(table, reading)
    assert len(found.columns) == len(minimal_sets(table, reading)[0])
    assert found.orders == 60
    assert found.chance(1) == 1 - Fraction(6, 7) ** 60
    assert found.chance(8) == 0
    assert best_of_orders(coded(table), reading, orders=60, seed=1) == found
    nobody = best_of_orders(coded({"a": [1, 1]}), reading, orders=3, seed=1)
    assert nobody.columns is None and nobody.reason


def test_a_deadline_still_gives_one_answer():
    table = coded({"a": [1, 2, 3], "b": [1, 1, 2]})
    found = best_of_orders(
        table, Reading.of(k=2, mode="all"), orders=1000, seed=1, limits=Limits(deadline=0.0)
    )
    assert (found.columns, found.orders) == (("a",), 1)
