"""A walk from the true world to others: each gives all counts, and what is decided with it is the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.tiny_chains import chains, exact, releases, table, two
from sfumato.models.continuous import worlds as candidates
from sfumato.models.continuous import worlds as world_walk
from sfumato.models.continuous.chain import History, release_under
from sfumato.models.continuous.swap_kernels import make_exchanges
from sfumato.models.continuous.worlds import (
    Decider,
    StepBudget,
    Worlds,
    WorldWalk,
    _Programs,
    decide,
    undecided,
    walk,
)
from sfumato.table.cut import Cut

LONGER = st.integers(3, 5).flatmap(lambda n: chains(count=n, rows=7, values=2))
MANY = settings(max_examples=3 * settings.default.max_examples)


def history_and_side(trees, people, cuts):
    """Everything but the last cuts was published before."""
    history = History.of(table(trees, people), releases(trees, people, cuts[:-1]), "since")
    return history, release_under(history, {f"q{j}": c for j, c in enumerate(cuts[-1])})


def begun(history, release):
    """The worlds of all releases, and a walk that begins with the true one."""
    overlap = Decider(history, 2).earlier.followed_by(release)
    worlds = Worlds(overlap)
    return worlds, _Programs(overlap, history, 2, 10**6)._true_world(worlds)


def adds_up(worlds, amounts):
    """Whether so many people in every entry give all published counts."""
    equations = worlds.equations
    owner = np.repeat(np.arange(len(amounts)), np.diff(equations.start))
    sums = np.zeros(len(equations.sums), np.int64)
    np.add.at(sums, equations.through, amounts[owner])
    heard = np.unique(equations.through)
    return np.array_equal(sums[heard], equations.sums[heard])


def hidden(seed, people=90):
    """People in a table of three columns of four values, another one hidden in each of three releases."""
    rng = np.random.default_rng(seed)
    trees = [two(*"abcd") for _ in range(3)]
    rows = rng.integers(0, [4, 4, 4, 2, 3], (people, 5)).tolist()
    listed = [(*("abcd"[x] for x in row[:3]), row[3], 1 + row[4]) for row in rows]
    cuts = [[Cut.root(t) if i == h else Cut.leaves(t) for i, t in enumerate(trees)] for h in range(3)]
    return trees, listed, cuts


def exchanged(walked, met, passed):
    """Everybody's entry after the exchanges that can be made: entries are looked up by all their sums."""
    sums, entry = walked._sums, walked._entry.copy()
    known = {tuple(row): e for e, row in enumerate(sums.tolist())}
    for a, b, shared in zip(met[::2].tolist(), met[1::2].tolist(), passed, strict=False):
        one, other = sums[entry[a]], sums[entry[b]]
        swapped = shared & ((one >= 0) == (other >= 0))
        new_one = known.get(tuple(np.where(swapped, other, one).tolist()))
        new_other = known.get(tuple(np.where(swapped, one, other).tolist()))
        if new_one is not None and new_other is not None:
            entry[a], entry[b] = new_one, new_other
    return entry


@MANY
@given(LONGER, st.integers(0, 1000))
def test_exchanges_are_those_that_a_look_at_all_entries_allows(chain, seed):
    _, walked = begun(*history_and_side(*chain))
    rng = np.random.default_rng(seed)
    for _ in range(4):
        met = rng.permutation(walked.people)
        passed = rng.integers(0, 2, (walked.people // 2, walked._sums.shape[1]), dtype=np.bool_)
        expected = exchanged(walked, met, passed)
        known = walked._key, walked._keys, walked._order
        make_exchanges(met, walked._entry, passed, walked._sums, walked._drawn, known)
        assert walked._entry.tolist() == expected.tolist()


@MANY
@given(LONGER)
def test_every_step_leads_to_a_world(chain):
    worlds, walked = begun(*history_and_side(*chain))
    assert adds_up(worlds, walked.amounts)
    for _ in range(6):
        walked.step()
        assert adds_up(worlds, walked.amounts)
    assert (walked.seen <= worlds.most).all()


@given(LONGER, st.integers(0, 10**6))
def test_a_lookup_that_is_wrong_is_not_followed(chain, seed):
    worlds, walked = begun(*history_and_side(*chain))
    random = np.random.default_rng(seed)
    walked._find = lambda keys: random.integers(-1, len(worlds.most), len(keys))
    for _ in range(6):
        walked.step()
        assert adds_up(worlds, walked.amounts)


@MANY
@given(LONGER, st.integers(2, 4))
def test_the_decision_is_the_truth_where_every_target_is_walked_to(chain, k):
    truth = min(exact(*chain).values()) >= k
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_REMEMBERED", {})
        patch.setattr(candidates, "NARROWEST", 0)
        patch.setattr(candidates, "MOST_PEOPLE_PER_TARGET", 10**9)
        patch.setattr(candidates, "SMALL_PROGRAM", 0)
        history, release = history_and_side(*chain)
        assert decide(history, release, k).holds is truth
        old = [p for p in chain[1] if p[-1] < len(chain[2])]
        fewest = min(exact(chain[0], old, chain[2][:-1]).values(), default=k)
        assert Decider(history, k)._before.holds is (fewest >= k)


@pytest.mark.parametrize("seed", range(4))
def test_a_walk_changes_no_decision(seed, monkeypatch):
    said = []
    for most in (0, 10**9):
        monkeypatch.setattr(candidates, "_REMEMBERED", {})
        monkeypatch.setattr(candidates, "NARROWEST", 0)
        monkeypatch.setattr(candidates, "MOST_PEOPLE_PER_TARGET", most)
        said.append([decide(*history_and_side(*hidden(seed)), k).holds for k in (2, 3)])
    assert said[0] == said[1]


def test_a_walk_shows_most_of_what_can_be():
    worlds, walked = begun(*history_and_side(*hidden(0)))
    walk(walked, lambda seen: int((seen == 0).sum()))
    assert 2 * (walked.seen > 0).sum() > 3 * (walked.amounts > 0).sum()
    assert (walked.seen <= worlds.most).all()


def test_nobody_walks_alone():
    history, release = history_and_side(*hidden(0))
    worlds, _ = begun(history, release)
    releases_of = np.zeros(len(worlds.equations.sums), np.int64)
    walked = WorldWalk(worlds.equations, releases_of, np.zeros(len(worlds.most), np.int64))
    walk(walked, lambda _: 1)
    assert not walked.seen.any()


def test_what_earlier_releases_leave_is_decided_once_whoever_is_new(monkeypatch):
    """The second table has other newcomers of values that are known; a fresh decision says the same."""
    trees, people, cuts = hidden(5)
    others = [(*p[:-1], p[-1]) if p[-1] < 3 else (p[1], p[0], *p[2:]) for p in people]
    assert others != people
    monkeypatch.setattr(candidates, "_REMEMBERED", {})
    first = Decider(history_and_side(trees, people, cuts)[0], 2)._before
    second = Decider(history_and_side(trees, others, cuts)[0], 2)
    with monkeypatch.context() as patch:
        patch.setattr(Decider, "_decision", None)
        assert second._before is first
    monkeypatch.setattr(candidates, "_REMEMBERED", {})
    assert Decider(history_and_side(trees, others, cuts)[0], 2)._before == first


def test_other_people_in_earlier_releases_are_decided_apart(monkeypatch):
    trees, people, cuts = hidden(5)
    monkeypatch.setattr(candidates, "_REMEMBERED", {})
    Decider(history_and_side(trees, people, cuts)[0], 2)._before  # noqa: B018
    swapped = [(p[1], p[0], *p[2:]) for p in people]
    history = history_and_side(trees, swapped, cuts)[0]
    asked = []
    honest = Decider._decision
    monkeypatch.setattr(Decider, "_decision", lambda *given: asked.append(1) or honest(*given))
    Decider(history, 2)._before  # noqa: B018
    assert asked


@pytest.mark.parametrize("seed", range(4))
def test_worlds_are_narrowed_to_the_same_by_a_walk(seed, monkeypatch):
    """Without data a walk begins with a world that is searched for; no bound contradicts another."""
    found = []
    for most in (0, 10**9):
        monkeypatch.setattr(world_walk, "MOST_PEOPLE_PER_ENTRY", most)
        worlds = begun(*history_and_side(*hidden(seed)))[0]
        worlds.decide(3, StepBudget(10**7))
        found.append(undecided(*worlds.candidate_bounds(), 3).sum())
        worlds.solve(np.arange(len(worlds.most)), StepBudget(10**8))
        found.append((worlds.least.tolist(), worlds.most.tolist()))
    assert found[:2] == found[2:]


@given(LONGER, st.integers(2, 4))
def test_worlds_that_are_walked_decide_as_all_worlds_do(chain, k):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world_walk, "MOST_PEOPLE_PER_ENTRY", 10**9)
        worlds = begun(*history_and_side(*chain))[0]
        worlds.decide(k, StepBudget(10**7))
    least, most = worlds.candidate_bounds()
    truth = sorted(exact(*chain).values())
    assert int((least > 0).sum()) == len(truth)
    assert int(((least > 0) & (most < k)).sum()) == sum(n < k for n in truth)
