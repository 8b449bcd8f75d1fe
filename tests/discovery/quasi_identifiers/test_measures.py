"""Counts and ratios of a set of columns, from their definitions."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest

from oracles.quasi_identifiers import coded, exposed, projected, random_table
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.measures import k_test, measure
from sfumato.system.errors import UsageError


@pytest.mark.parametrize("seed", range(3))
def test_measures_against_pairs_of_rows(seed):
    draw = random.Random(300 + seed)
    for _ in range(100):
        table = random_table(draw)
        columns = tuple(draw.sample(list(table), draw.randint(0, len(table))))
        k = draw.randint(1, 5)
        found = measure(coded(table), columns, k=k)
        cells = projected(table, columns)
        sizes = Counter(cells)
        assert found.exposed == exposed(table, columns, k)
        assert (found.groups, found.rows) == (len(sizes), len(cells))
        assert (found.smallest, found.largest) == (
            min(sizes.values(), default=0),
            max(sizes.values(), default=0),
        )
        pairs = list(combinations(cells, 2))
        apart = sum(a != b for a, b in pairs)
        assert found.separation == (Fraction(apart, len(pairs)) if pairs else None)
        assert found.distinct_ratio == (Fraction(len(sizes), len(cells)) if cells else None)
        assert found.share == (Fraction(found.exposed, len(cells)) if cells else 0)


def test_one_grouping_decides_k_anonymity_of_every_projection():
    draw = random.Random(12)
    for _ in range(60):
        table = random_table(draw, columns=4)
        k = draw.randint(2, 4)
        anywhere = any(
            exposed(table, s, k) for size in range(len(table) + 1) for s in combinations(table, size)
        )
        assert k_test(coded(table), k=k).k_anonymous == (not anywhere)


def test_bad_calls():
    table = Coded.of_columns({"a": [1]})
    with pytest.raises(UsageError, match="no such column"):
        measure(table, ["b"], k=2)
    with pytest.raises(UsageError, match="at least 1"):
        measure(table, ["a"], k=0)
