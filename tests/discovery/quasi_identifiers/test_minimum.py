"""The smallest quasi-identifiers are the smallest of all minimal ones, and proved."""

import random

import pytest

from discovery.quasi_identifiers.test_minimal_sets import readings
from oracles.quasi_identifiers import coded, minimal_sets, random_table
from sfumato.discovery.quasi_identifiers.coded import Limits, Reading
from sfumato.discovery.quasi_identifiers.minimum import minimum


@pytest.mark.parametrize("seed", range(6))
def test_minimum_is_the_exhaustive_one(seed):
    draw = random.Random(200 + seed)
    for _ in range(60):
        table = random_table(draw, columns=6)
        for reading in readings(draw, draw.randint(1, 5)):
            every = minimal_sets(table, reading)
            found = minimum(coded(table), reading)
            size = min(map(len, every), default=None)
            assert found.size == size
            assert list(found.sets) == [s for s in every if len(s) == size]
            assert found.complete
            assert found.proved == (size is not None)
            assert bool(found.reason) == (size in (None, 0))


def test_a_large_minimum_is_reached_by_ruling_out_the_sizes_below():
    """Column j alone tells row j from the last row, so all twelve are needed."""
    table = {f"c{j}": [int(i == j) for i in range(13)] for j in range(12)}
    found = minimum(coded(table), Reading.of(k=2, mode="all"))
    assert found.sets == (tuple(table),)
    assert (found.lower_bound, found.proved) == (12, True)


def test_a_number_of_results_keeps_the_proof():
    table = {f"c{j}": [draw % (j + 2) for draw in range(40)] for j in range(9)}
    reading = Reading.of(k=2, mode="all")
    every = minimum(coded(table), reading)
    some = minimum(coded(table), reading, limits=Limits(1))
    assert some.proved and some.sets[0] in every.sets
    assert some.complete == (len(every.sets) == 1)
