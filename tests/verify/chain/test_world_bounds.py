"""Bounds that are proved and worlds that are found, against every solution of small systems; a solver that is
wrong, or lies, changes nothing that is claimed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.sum_systems import equations, solutions, systems
from sfumato.system.errors import BadData
from sfumato.verify.chain import proposals
from sfumato.verify.chain import worlds as world_bounds
from sfumato.verify.chain.proposals import LinearSolver, Proposal, SumSystem
from sfumato.verify.chain.worlds import WorldBounds, components_of, prove_empty, upper_bounds, world

MANY = settings(max_examples=4 * settings.default.max_examples)


def narrowed(system, **limits):
    bounds = WorldBounds(equations(system), **limits)
    bounds.narrow(lambda: np.ones(system.columns, bool))
    return bounds


def caps(system):
    return np.minimum.reduceat(system.total[system.sums], system.start[:-1])


@MANY
@given(systems())
def test_every_unknown_is_settled(system):
    every = solutions(system)
    if not len(every):
        with pytest.raises(BadData, match="no table of people"):
            narrowed(system)
        return
    found = narrowed(system)
    assert found.least.tolist() == found.most.tolist() == every.max(axis=0).tolist()


@MANY
@given(systems(), st.integers(0, 5), st.data())
def test_any_weights_prove_a_bound_that_holds(system, column, data):
    """Whatever a solver says, also within other bounds."""
    column %= system.columns
    high = caps(system)
    low = np.minimum(high, data.draw(st.lists(st.integers(0, 1), min_size=len(high), max_size=len(high))))
    number = st.one_of(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1 / 3, 1.0]), st.floats(-3, 3), st.just(np.nan))
    count = len(system.total)
    weights = np.array(data.draw(st.lists(number, min_size=count, max_size=count)))
    every, alone = solutions(system, low, high), np.zeros(system.columns, np.int64)
    [bound] = upper_bounds(system, weights, np.array([column]), (low, high), alone, 1)
    assert not len(every) or every[:, column].max() <= bound
    if prove_empty(system, weights, (low, high), alone, 1):
        assert not len(every)


@MANY
@given(systems(), st.data())
def test_only_worlds_are_taken_for_worlds(system, data):
    part = components_of(system.start, system.sums, len(system.total))
    number = st.one_of(
        st.integers(-1, 4).map(float), st.floats(-2, 5), st.sampled_from([np.nan, np.inf, 1e300])
    )
    amounts = np.array(data.draw(st.lists(number, min_size=system.columns, max_size=system.columns)))
    whole, right = world(system, amounts, caps(system), part, int(part.max()) + 1)
    every = {tuple(one) for one in solutions(system).tolist()}
    if right.all():
        assert tuple(whole.tolist()) in every
    for number in np.flatnonzero(right):
        mine = part == number
        rows = np.unique(system.sums[mine[system.owner]])
        added = [int(whole[system.owner[system.sums == r]].sum()) for r in rows]
        assert added == system.total[rows].tolist() and (whole[mine] >= 0).all()


def liar(seed):
    """A solver that answers anything."""
    random = np.random.default_rng(seed)

    def propose(self, aim, worth=None):  # noqa: ARG001
        columns = len(self._cost)
        rows = self._solver.getNumRow()
        amounts = random.choice([0.0, 1.0, 0.5, 2.0, np.nan], columns) if random.random() < 0.8 else None
        weights = random.choice([0.0, 1.0, -1.0, 0.3], rows) if random.random() < 0.8 else None
        return Proposal(amounts, weights, 1)

    return propose


@MANY
@given(systems(), st.integers(0, 10**6))
def test_a_solver_that_lies_is_believed_nothing(system, seed):
    every = solutions(system)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals.LinearSolver, "propose", liar(seed))
        patch.setattr(proposals.IntegerSolver, "propose", liar(seed + 1))
        try:
            found = narrowed(system, budget=20_000)
        except BadData:
            assert not len(every)
            return
    if len(every):
        truth = every.max(axis=0)
        assert (found.least <= truth).all() and (truth <= found.most).all()


HALVES = SumSystem(np.arange(0, 8, 2), np.array([0, 1, 1, 2, 0, 2]), np.ones(3, np.int64))


def test_a_corner_in_fractions_is_no_world():
    """Three numbers, and the sums of two of them are all 1: only halves fit."""
    assert LinearSolver(HALVES, np.ones(3, np.int64)).propose(np.array([0])).amounts.tolist() == [0.5] * 3
    with pytest.raises(BadData, match="no table of people"):
        narrowed(HALVES)


def test_sums_that_contradict_each_other_have_no_solution():
    system = SumSystem(np.array([0, 2]), np.array([0, 1]), np.array([1, 2]))
    with pytest.raises(BadData, match="no table of people"):
        narrowed(system)


def test_a_bound_that_whole_numbers_do_not_reach_is_lowered_by_branching(monkeypatch):
    """A fourth number beside the three, in a sum with each: two of them and one, or none."""
    rows = [{0, 1, 3}, {1, 2, 3}, {0, 2, 3}]
    sums = [[r for r, row in enumerate(rows) if v in row] for v in range(4)]
    start = np.cumsum([0, *map(len, sums)])
    system = SumSystem(start, np.concatenate(sums), np.full(3, 3, np.int64))
    looked = []
    honest = world_bounds._Branches._look
    monkeypatch.setattr(
        world_bounds._Branches, "_look", lambda self, half: looked.append(half) or honest(self, half)
    )
    monkeypatch.setattr(world_bounds._Bundle, "propose_whole", lambda *_: None)
    found = narrowed(system)
    assert found.most.tolist() == found.least.tolist() == solutions(system).max(axis=0).tolist()
    assert looked


def test_what_takes_too_long_stays_open():
    system = SumSystem(np.arange(0, 7, 2), np.array([0, 2, 1, 2, 0, 3]), np.array([2, 1, 2, 1]))
    found = narrowed(system, budget=0)
    assert (found.least < found.most).any()
