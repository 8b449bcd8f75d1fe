"""Borders of what several tables say together: rounding, gaps, tables without keys."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.continuous.test_candidates import history_and_side
from oracles.tiny_chains import chains, exact, releases, two
from sfumato.models.continuous import worlds as swaps
from sfumato.models.continuous.chain import Chain
from sfumato.models.continuous.overlap import Overlap, candidates_of
from sfumato.models.continuous.worlds import decide
from sfumato.table.cut import Cut


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
