"""Bounds that are proved and worlds that are found, against every solution of small systems; evidence that is
wrong, or a lie, changes nothing that is claimed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.chain_rulings import evidence_for
from oracles.sum_systems import equations, solutions, systems
from sfumato.models.continuous import evidence as search
from sfumato.models.continuous.evidence import WorldEvidence
from sfumato.system.errors import BadData
from sfumato.verify.chain.worlds import SumSystem, WorldBounds

MANY = settings(max_examples=4 * settings.default.max_examples)
EVERYTHING = 1 << 40
"""More candidates than anybody has: every unknown is then asked about."""


def narrowed(system, evidence=None):
    asked = equations(system)
    bounds = WorldBounds(asked)
    bounds.take(evidence_for(asked, EVERYTHING) if evidence is None else evidence)
    return bounds


def caps(system):
    return np.minimum.reduceat(system.total[system.sums], system.start[:-1])


@MANY
@given(systems())
def test_a_bound_and_a_world_for_whatever_decides(system):
    """Each unknown is a target of its own: it is known whether it can be, and the fewest are known."""
    every = solutions(system)
    if not len(every):
        with pytest.raises(BadData, match="no table of people"):
            narrowed(system)
        return
    found, truth = narrowed(system), every.max(axis=0)
    assert (found.least <= truth).all() and (truth <= found.most).all()
    assert ((found.least > 0) == (truth > 0)).all() and ((found.most > 0) == (truth > 0)).all()
    if truth.any():
        assert found.most[found.least > 0].min() == truth[truth > 0].min()


@MANY
@given(systems(), st.integers(0, 5), st.data())
def test_any_weights_prove_a_bound_that_holds(system, column, data):
    """Whoever hands them over, also within other bounds."""
    count, high = len(system.columns), caps(system)
    column %= count
    low = np.minimum(high, data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)))
    sums = len(system.total)
    weights = np.array(data.draw(st.lists(st.integers(-180, 180), min_size=sums, max_size=sums)), np.int64)
    every, over = solutions(system, low, high), data.draw(st.sampled_from([1, 2, 3, 60]))
    bound = system.bound(column, (column, (weights, over), -1, ()), low, high)
    assert not len(every) or every[:, column].max() <= bound
    if system.bound(-1, (-1, (weights, over), -1, ()), low, high) < 0:
        assert not len(every)


@MANY
@given(systems(), st.data())
def test_only_worlds_are_taken_for_worlds(system, data):
    count = len(system.columns)
    amounts = data.draw(st.lists(st.integers(-1, 4), min_size=count, max_size=count))
    every = {tuple(row) for row in solutions(system).tolist()}
    assert system.is_world(np.array(amounts, np.int64)) == (tuple(amounts) in every)
    assert not system.is_world(np.array(amounts, np.float64))
    assert not system.is_world(np.array([*amounts, 0], np.int64))


def lies(seed, system):
    """Evidence that says anything, of components that may not be there."""
    random = np.random.default_rng(seed)
    count, sums = len(system.columns), len(system.total)

    def proof(depth=2):
        column, split = int(random.integers(-1, count)), int(random.integers(-1, count + 2)) if depth else -1
        weights = random.integers(-2, 3, random.choice([sums, sums, 1])), int(random.integers(0, 4))
        return (
            column,
            weights,
            split,
            tuple(proof(depth - 1) for _ in range(random.integers(0, 5) if depth else 0)),
        )

    worlds = [
        (int(random.integers(0, 3)), random.integers(-1, 4, random.integers(1, count + 1))) for _ in range(9)
    ]
    return WorldEvidence(worlds, [(int(random.integers(0, 3)), proof()) for _ in range(9)])


@MANY
@given(systems(), st.integers(0, 10**6))
def test_evidence_that_lies_is_believed_nothing(system, seed):
    every = solutions(system)
    try:
        found = narrowed(system, lies(seed, system))
    except BadData:
        assert not len(every)
        return
    if len(every):
        truth = every.max(axis=0)
        assert (found.least <= truth).all() and (truth <= found.most).all()


HALVES = SumSystem(np.arange(3), np.arange(0, 8, 2), np.array([0, 1, 1, 2, 0, 2]), np.ones(3, np.int64))


def test_a_corner_in_fractions_is_no_world():
    """Three numbers, and the sums of two of them are all 1: only halves fit."""
    with pytest.raises(BadData, match="no table of people"):
        narrowed(HALVES)


def test_sums_that_contradict_each_other_have_no_solution():
    system = SumSystem(np.arange(1), np.array([0, 2]), np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(BadData, match="no table of people"):
        narrowed(system)


def test_a_bound_that_whole_numbers_do_not_reach_is_lowered_by_dividing():
    """The best corner of some unknown is in fractions, and no world is as good."""
    rows = [{0, 1, 2, 4}, {2, 5, 6}, {2, 3, 5}, {0, 1, 3, 4, 5, 6}]
    sums = [[r for r, row in enumerate(rows) if v in row] for v in range(7)]
    start = np.cumsum([0, *map(len, sums)])
    system = SumSystem(np.arange(7), start, np.concatenate(sums), np.array([4, 3, 4, 6]))
    evidence = evidence_for(equations(system), EVERYTHING)
    whole = next(proof for _, proof in evidence.proofs if proof[2] >= 0)
    found, truth = narrowed(system, evidence), solutions(system).max(axis=0)
    assert (found.least <= truth).all() and (truth <= found.most).all()
    nothing, high = np.zeros(7, np.int64), caps(system)
    assert system.bound(whole[0], whole, nothing, high) == truth[whole[0]]
    less = (*whole[:3], whole[3][:-1])
    assert system.bound(whole[0], less, nothing, high) == high[whole[0]], (
        "a proof that lacks a part proves nothing"
    )


def test_what_takes_too_long_stays_open(monkeypatch):
    monkeypatch.setattr(search, "WORK", 0)
    system = SumSystem(np.arange(3), np.arange(0, 7, 2), np.array([0, 2, 1, 2, 0, 3]), np.array([2, 1, 2, 1]))
    found = narrowed(system)
    assert (found.least < found.most).any()
