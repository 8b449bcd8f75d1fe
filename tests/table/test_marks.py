"""Marks are put in order and numbered as by both halves, also where the first halves of two are equal."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.releases.ledger.notices import mark_bytes, marks_of
from sfumato.table.keyed_hashes import KnownMarks, label_marks, leaf_marks, numbered_together, order_of_marks
from sfumato.table.taxonomy import Taxonomy
from sfumato.verify.chain.releases import in_order

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


def as_marks(pairs):
    return np.array(pairs, np.uint64).reshape(-1, 2)


@given(PAIRS)
def test_marks_are_in_order_by_both_halves(pairs):
    marks = as_marks(pairs)
    order, fresh = order_of_marks(marks)
    assert [tuple(row) for row in marks[order].tolist()] == sorted(pairs)
    assert [tuple(row) for row in marks[order[fresh]].tolist()] == sorted(set(pairs))
    assert [tuple(row) for row in marks[in_order(marks)].tolist()] == sorted(pairs)


@given(PAIRS, PAIRS)
def test_equal_marks_of_several_tables_get_equal_numbers(one, other):
    numbers, count = numbered_together([as_marks(one), as_marks(other)])
    known = sorted({*one, *other})
    assert count == len(known)
    assert [n.tolist() for n in numbers] == [[known.index(pair) for pair in some] for some in (one, other)]


def test_the_marks_of_leaves_are_those_of_their_labels_and_made_once():
    tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB", None], [-1, 0, 1, 1, 0, 0])
    assert np.array_equal(leaf_marks(tree), label_marks(tree.leaf_labels))
    assert leaf_marks(tree) is leaf_marks(tree)


@given(PAIRS, PAIRS)
def test_marks_are_looked_up_by_both_halves(asked, known):
    assert KnownMarks(as_marks(known)).hold(as_marks(asked)).tolist() == [pair in known for pair in asked]


@given(PAIRS)
def test_marks_of_people_are_stored_in_order_and_once(pairs):
    stored = marks_of(mark_bytes(as_marks(pairs)))
    assert [tuple(mark) for mark in stored.tolist()] == sorted(set(pairs))
