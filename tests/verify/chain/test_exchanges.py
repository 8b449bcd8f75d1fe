"""People who exchange sums: what comes out are worlds, and what was decided without them stays decided."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles.sum_systems import equations, solutions, systems
from oracles.tiny_chains import CUBE, chains, exact, releases, two
from sfumato.table.cut import Cut
from sfumato.verify.chain import proposals
from sfumato.verify.chain import proposals as exchanges
from sfumato.verify.chain import worlds as world_bounds
from sfumato.verify.chain.proposals import Exchanges, exchange_sums, same_sums
from sfumato.verify.chain.ruling import judge_chain
from sfumato.verify.chain.worlds import WorldBounds

MANY = settings(max_examples=4 * settings.default.max_examples)
LONGER = st.integers(3, 5).flatmap(lambda n: chains(count=n, rows=7, values=2))


def people_of(system):
    """Nobody yet, in a system where every sum is of a kind of its own."""
    made = equations(system)
    return Exchanges(system, made.kind, made.component)


def documents(chain):
    return [one.as_dict() for one in releases(*chain)]


def hidden(seed, people=90, columns=3, hide=1):
    """People in a table of some columns of four values, others of them hidden in each release."""
    rng = np.random.default_rng(seed)
    hiding = list(itertools.combinations(range(columns), hide))
    trees = [two(*"abcd") for _ in range(columns)]
    rows = rng.integers(0, [*[4] * columns, 2, len(hiding)], (people, columns + 2)).tolist()
    table = [(*("abcd"[x] for x in row[:columns]), row[-2], 1 + row[-1]) for row in rows]
    cuts = [[Cut.root(t) if i in some else Cut.leaves(t) for i, t in enumerate(trees)] for some in hiding]
    return trees, table, cuts


@MANY
@given(systems(), st.integers(0, 10**6))
def test_every_exchange_leads_to_a_world(system, seed):
    every = solutions(system)
    if not len(every):
        return
    people, random = people_of(system), np.random.default_rng(seed)
    people.begin(every[seed % len(every)])
    worlds = {tuple(one) for one in every.tolist()}
    for _ in range(8):
        wanted = random.integers(0, 2, system.columns, dtype=np.bool_)
        people.step(wanted)
        assert tuple(people.amounts.tolist()) in worlds
        people.look_around(wanted)
        assert tuple(people.amounts.tolist()) in worlds
    assert (people.least <= every.max(axis=0)).all()


@MANY
@given(systems(), st.integers(0, 10**6))
def test_a_lookup_that_is_wrong_is_believed_nothing(system, seed):
    every = solutions(system)
    if not len(every):
        return
    people, random = people_of(system), np.random.default_rng(seed)
    people._find = lambda key: random.integers(-1, system.columns, len(key))
    people.begin(every[seed % len(every)])
    worlds = {tuple(one) for one in every.tolist()}
    for _ in range(8):
        people.step(np.ones(system.columns, dtype=bool))
        people.look_around(np.ones(system.columns, dtype=bool))
        assert tuple(people.amounts.tolist()) in worlds
    assert (people.least <= every.max(axis=0)).all()


@given(st.lists(st.integers(-1, 2), min_size=12, max_size=12))
def test_sums_are_the_same_if_every_kind_is_exchanged_or_kept(numbers):
    rows = np.array(numbers).reshape(4, 3)
    kept = all(
        sorted((rows[0, kind], rows[1, kind])) == sorted((rows[2, kind], rows[3, kind])) for kind in range(3)
    )
    first, second, third, fourth = (np.array([n]) for n in range(4))
    assert same_sums(rows, (first, second), (third, fourth)).tolist() == [kept]


@settings(max_examples=3 * settings.default.max_examples)
@given(LONGER, st.integers(1, 4))
@example(CUBE, 2)
def test_the_ruling_is_what_all_worlds_say_in_the_smallest_chains_too(chain, k):
    truth = exact(*chain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world_bounds, "SMALL", 0)
        got = judge_chain(documents(chain), k)
    least = min(truth.values(), default=None)
    assert (got.least, got.certain, got.open) == (least, True, 0)
    assert got.few == sum(n < k for n in truth.values())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 3])
def test_exchanges_change_no_ruling(seed, k, monkeypatch):
    chain = documents(hidden(seed))
    got = judge_chain(chain, k)
    monkeypatch.setattr(exchanges, "LARGEST", 0)
    assert judge_chain(chain, k) == got


def test_more_is_decided_with_the_same_budget(monkeypatch):
    """Six releases that hide two of four columns each: thousands of unknowns in two components."""
    chain = documents(hidden(1, people=300, columns=4, hide=2))
    monkeypatch.setattr(world_bounds, "BUDGET", 60_000)
    decided = judge_chain(chain, 2).open
    monkeypatch.setattr(exchanges, "LARGEST", 0)
    assert decided < judge_chain(chain, 2).open


def test_more_kinds_than_bits(monkeypatch):
    """Sums that differ are written in several numbers where one has too few bits."""
    monkeypatch.setattr(exchanges, "BITS", 2)
    monkeypatch.setattr(exchanges, "PAIRS", 3)
    monkeypatch.setattr(exchanges, "MOST_CELLS", 20)
    chain = documents(hidden(2))
    got = judge_chain(chain, 3)
    monkeypatch.undo()
    assert judge_chain(chain, 3) == got


def test_exchanges_end_with_the_budget():
    system = equations_of_hidden()
    spent = []
    people = Exchanges(*system)
    people.begin(np.zeros(len(people.part), np.int64))
    exchange_sums(people, lambda _: np.ones(len(people.part), bool), lambda work: spent.append(work) or False)
    assert len(spent) == 1


def equations_of_hidden():
    """The equations of one chain, as exchanges take them."""
    kept = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorldBounds, "narrow", lambda self, _: kept.append(self.equations))
        judge_chain(documents(hidden(3)), 2)
    made = kept[0]
    return proposals.SumSystem(made.start, made.sums, made.total), made.kind, made.component


def test_no_unknown_has_two_sums_of_a_kind():
    system, kind, _ = equations_of_hidden()
    pairs = list(zip(system.owner.tolist(), kind[system.sums].tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
