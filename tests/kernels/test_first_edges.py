"""The edges that the search for keys begins with, against all differences of rows that share a value."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.enumeration import TreeSearch
from sfumato.discovery.quasi_identifiers.measures import ReducedTable
from sfumato.kernels import hitting_sets


def sampled(table, k):
    """Yields the edges that are known after each column, from the first on."""
    search = TreeSearch(table, k=k, t=table.rows, max_size=table.columns)
    for _ in range(table.columns):
        assert hitting_sets.walk(search.goal, search.stack, search.tree, 1) == hitting_sets.PAUSED
        yield [columns_in(words) for words in search.edges]


def columns_in(words):
    return frozenset(np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist())


def differences(codes, column, k):
    """Where k rows at even distances among those that share a frequent value of a column do not all agree."""
    for value in sorted(set(codes[column].tolist()) - {-1}):
        rows = np.flatnonzero(codes[column] == value).tolist()
        for first, second in combinations(range(len(rows)), 2):
            chosen = rows[first :: second - first][:k]
            if len(chosen) == k:
                cells = codes[:, chosen]
                yield frozenset(np.flatnonzero((cells < 0).any(1) | (cells != cells[:, :1]).any(1)).tolist())


def smallest(edges):
    return {edge for edge in edges if not any(other < edge for other in edges)}


@given(st.integers(1, 70), st.integers(2, 9), st.integers(2, 3), st.randoms(use_true_random=False))
def test_of_few_rows_all_smallest_differences_are_known_at_once(columns, rows, k, draw):
    cells = [[draw.randrange(draw.randint(2, 4)) for _ in range(rows)] for _ in range(columns)]
    table = ReducedTable.of(Coded.of_codes([f"c{j}" for j in range(columns)], np.array(cells)), k)
    known = set()
    for column, edges in enumerate(sampled(table, k)):
        fresh = smallest(set(differences(table.codes, column, k)))
        known |= {edge for edge in fresh if not any(other <= edge for other in known)}
        assert len(edges) == len(set(edges))
        assert set(edges) == known


@given(st.integers(2, 3), st.integers(0, 1 << 30))
def test_of_many_rows_some_differences_are_drawn(k, seed):
    draw = np.random.default_rng(seed)
    cells = [draw.integers(0, values, 60) for values in (2, 3, 9, 20)]
    table = ReducedTable.of(Coded.of_codes(list("abcd"), np.array(cells)), k)
    edges = next(iter(sampled(table, k)))
    assert edges
    assert set(edges) <= set(differences(table.codes, 0, k))
    assert smallest(set(edges)) == set(edges)


@given(st.integers(1, 6), st.integers(2, 30), st.randoms(use_true_random=False))
def test_the_size_of_the_smallest_set_is_known_at_any_time(columns, rows, draw):
    cells = [[draw.randrange(draw.randint(2, rows)) for _ in range(rows)] for _ in range(columns)]
    table = ReducedTable.of(
        Coded.of_codes([*map(str, range(columns)), "row"], np.array([*cells, range(rows)])), 2
    )
    search = TreeSearch(table, k=2, t=rows, max_size=table.columns)

    def look(found):
        sizes = [len(columns_in(words)) for words in search.words()]
        assert len(sizes) == found
        assert search.smallest == min(sizes, default=None)
        return True

    assert search.run(look, budget=1)
    assert search.smallest == 1
