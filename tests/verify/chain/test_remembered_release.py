"""Trees of remembered releases: where nodes end, and what they are on a newer tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.tiny_chains import imprint, two
from sfumato.system.errors import RefusedByHistory
from sfumato.table.cut import Cut
from sfumato.verify.chain.releases import MarkedTree, _ends


@st.composite
def parents(draw):
    """Any tree whose parents are numbered first, the next node not always below the last one."""
    return np.array([-1, *(draw(st.integers(0, v)) for v in range(draw(st.integers(0, 12))))], np.int64)


@given(parents())
def test_nodes_end_after_the_last_one_below_them(parent):
    below = [{v} for v in range(len(parent))]
    for v in reversed(range(1, len(parent))):
        below[parent[v]] |= below[v]
    assert _ends(parent).tolist() == [max(some) + 1 for some in below]


def marked(marks, parent):
    nothing = np.zeros(len(parent), np.int64)
    return MarkedTree("q", np.array(marks, np.uint64), np.array(parent, np.int64), nothing, nothing, nothing)


@given(parents(), st.data())
def test_nodes_are_known_by_their_marks_on_a_newer_tree(parent, data):
    """In any order of numbers; refused are marks that occur twice, and leaves that became groups."""
    count = len(parent)
    marks = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=count, max_size=count))
    chosen = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True).map(sorted))
    newer, older = marked(marks, parent), marked([marks[v] for v in chosen], [-1] + [0] * (len(chosen) - 1))
    leaves = chosen[1:] or chosen
    if len(set(marks)) < count or set(parent[1:].tolist()) & set(leaves):
        with pytest.raises(RefusedByHistory):
            older.onto(newer)
    else:
        assert older.onto(newer).tolist() == chosen


def test_a_tree_is_laid_out_once_and_nobody_writes_to_it():
    """Releases share what is read: a change in one would change the others."""
    leaves = two("a", "b")
    [tree] = imprint([leaves], [("a", 0, 1), ("b", 0, 1)], [Cut.root(leaves)], 1).as_dict()["keys"]
    one, other = MarkedTree.of(tree), MarkedTree.of(dict(tree))
    assert one.parent is other.parent and one.high.tolist() == [2, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        one.parent[0] = 0
