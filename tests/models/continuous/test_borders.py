"""Borders of what several tables say together: rounding, gaps, tables without keys."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.continuous.test_candidates import history_and_side
from oracles.tiny_chains import S, chains, exact, releases, table, two
from sfumato.models.continuous import worlds as swaps
from sfumato.models.continuous.chain import Chain
from sfumato.models.continuous.overlap import Overlap, candidates_of
from sfumato.models.continuous.people import (
    SCALE,
    SLACK,
    BelievedColumn,
    ExpectedCells,
    _Expected,
    _mixtures_kept,
    smallest_position,
)
from sfumato.models.continuous.worlds import decide
from sfumato.table.cut import Cut

LEAVES = len(S.leaves)


def expected(counts):
    """The expected histograms of some cells; an entry is (people of one, people of the other)."""
    owner = np.array([cell for cell, entries in enumerate(counts) for _ in entries], np.int32)
    values = np.array([v for entries in counts for v in range(len(entries))], np.int32)
    one = np.array([a for entries in counts for a, _ in entries], np.int64)
    other = np.array([b for entries in counts for _, b in entries], np.int64)
    cells = ExpectedCells(len(counts), owner, values, one, other, np.full(len(one), 97, np.int64))
    overall = np.ones(LEAVES, np.int64)
    return _Expected(cells, BelievedColumn("s", S, np.arange(LEAVES, dtype=np.int32), overall))


ENTRIES = st.lists(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=LEAVES),
    min_size=1,
    max_size=4,
)


@given(ENTRIES)
def test_whole_numbers_lie_below_what_is_expected_by_little(counts):
    found = expected(counts)
    rounded = found.rounded()
    place = 0
    for entries in counts:
        weights = [Fraction(a * b, 97) for a, b in entries]
        for weight in weights:
            scaled = weight / sum(weights) * SCALE
            assert 0 <= scaled - int(rounded[place]) <= SLACK
            place += 1


class Recording:
    """Keeps every histogram that it is asked about."""

    def __init__(self):
        self.asked = []

    def holds_on(self, classes):
        held = classes.histograms["s"]
        for i in range(len(held.start) - 1):
            some = slice(int(held.start[i]), int(held.start[i + 1]))
            self.asked.append(dict(zip(held.values[some].tolist(), held.counts[some].tolist(), strict=True)))
        return np.ones(len(held.start) - 1, dtype=bool)


@given(ENTRIES)
def test_what_is_expected_is_a_mixture_of_what_is_asked(counts):
    """Beside the rounded histogram, one with so much more of each value as all may lie above it together."""
    found, promise = expected(counts), Recording()
    rounded = found.rounded()
    _mixtures_kept(promise, found, rounded, np.arange(len(counts)))
    place = 0
    for entries in counts:
        below = {v: int(rounded[place + v]) for v in range(len(entries))}
        place += len(entries)
        for value in (None, *below):
            more = {v: n + (SLACK * len(below) if v == value else 0) for v, n in below.items()}
            assert promise.asked.pop(0) == {v: n for v, n in more.items() if n}
    assert not promise.asked


def test_numbers_of_nobody_are_no_positions():
    data = table((two("a", "b"),), [("a", 0, 1), ("a", 0, 1), ("b", 0, 1)])
    assert smallest_position(data, np.array([3, 1])) == 1
    assert smallest_position(data, np.array([2, 2])) == 3


def test_a_table_that_lacks_a_value_leaves_nobody_with_it():
    tree = two("a")
    first = releases((tree,), [("a", 0, 1), ("a", 1, 1)], [[Cut.root(tree)]])
    second = releases((tree,), [("a", 0, 1), ("a", 0, 1)], [[Cut.root(tree)]])
    overlap = Overlap(Chain.of([*first, *second]))
    alone = {0: np.zeros(1, np.int64), 1: np.zeros(1, np.int64)}
    assert candidates_of(overlap, 0, alone).tolist() == [1]


def test_every_release_is_looked_at_where_that_is_asked():
    tree = two("a", "b")
    people = [(leaf, 0, batch) for leaf in "ab" for batch in (1, 2, 3, 4)]
    chain = Chain.of(releases((tree,), people, [[Cut.root(tree)]] * 4))
    assert Overlap(chain, every=True).before(3) == [0, 1, 2]
    assert Overlap(chain).before(3) == [2]


@given(chains(count=3, rows=6), st.integers(1, 4))
def test_tables_without_keys(chain, k):
    _, people, cuts = chain
    bare = ((), [p[-2:] for p in people], [[] for _ in cuts])
    assert decide(*history_and_side(*bare), k).holds is (min(exact(*bare).values()) >= k)


def test_targets_of_tables_without_keys_have_a_place_in_every_cut(monkeypatch):
    shapes = []
    monkeypatch.setattr(swaps, "first_short", lambda *words: shapes.append(words[1].shape) or 1 << 30)
    history, _ = history_and_side((), [(0, 1), (1, 1), (0, 2), (0, 3)], [[], [], []])
    chain = Chain.of(releases((), [(0, 1), (1, 1), (0, 2)], [[], []]))
    (cells,) = [some for some in Overlap(chain).all_cells() if len(some.times)]
    targets = swaps.SwapTargets.of(cells, np.zeros(len(cells.times), np.int64))
    assert not list(swaps.Swaps(history, 1).each_short(chain, targets, 1)) and len(targets) > 1
    assert shapes == [(1, len(targets))]
