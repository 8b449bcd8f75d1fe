"""Who is in which class, from everybody's keys: against all ways to place them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.known_search import NOWHERE, _place
from sfumato.system.errors import BadData

pytestmark = pytest.mark.slow


def placements(fits, often, sizes):
    """All ways to give every key a class that it fits, with as many people as each class has rows."""
    options = [np.flatnonzero(row).tolist() for row in fits]
    for chosen in product(*options):
        if np.array_equal(np.bincount(chosen, often, len(sizes)), sizes):
            yield chosen


@given(data=st.data())
def test_what_is_placed_is_placed_so_in_every_way(data):
    keys, classes = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    often = np.array(data.draw(st.lists(st.integers(1, 3), min_size=keys, max_size=keys)))
    truth = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=keys, max_size=keys)))
    also = data.draw(st.lists(st.booleans(), min_size=keys * classes, max_size=keys * classes))
    fits = np.array(also).reshape(keys, classes)
    fits[np.arange(keys), truth] = True
    sizes = np.bincount(truth, often, classes).astype(np.int64)
    owner, lacking = _place(fits, often, sizes)
    every = list(placements(fits, often, sizes))
    for key, c in enumerate(owner.tolist()):
        assert c == NOWHERE or all(chosen[key] == c for chosen in every)
    for c in np.flatnonzero(lacking == 0).tolist():
        inside = {frozenset(k for k, goal in enumerate(chosen) if goal == c) for chosen in every}
        assert inside == {frozenset(np.flatnonzero(owner == c).tolist())}


def test_overlapping_boxes_are_told_apart_by_their_sizes():
    """Three people fit the coarse class alone, which is full then: two who fit both are in the fine one."""
    fits = np.array([[True, False], [True, True]])
    owner, lacking = _place(fits, np.array([3, 2]), np.array([3, 2]))
    assert owner.tolist() == [0, 1] and not lacking.any()


def test_other_people_are_refused():
    with pytest.raises(BadData, match="fit no class"):
        _place(np.array([[False, False]]), np.array([2]), np.array([2, 0]))
    with pytest.raises(BadData, match="fit no class"):
        _place(np.array([[True, False]]), np.array([3]), np.array([2, 0]))
    with pytest.raises(BadData, match="other people in the register than rows"):
        _place(np.array([[True, False]]), np.array([2]), np.array([2, 1]))
