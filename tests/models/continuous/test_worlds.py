"""How many people worlds can have in a cell, against all worlds of tiny chains."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from oracles.tiny_chains import BITS, CUBE, all_worlds, chains, exact, imprint, least, releases, shown, two
from sfumato.models.continuous import attack as target_bounds
from sfumato.models.continuous import worlds
from sfumato.models.continuous.attack import solve_targets
from sfumato.models.continuous.chain import Chain, last_finer_release
from sfumato.models.continuous.kernels import (
    DONE,
    NO_SOLUTION,
    YES,
    components_of,
    fill,
    raise_all,
    raise_by_search,
)
from sfumato.models.continuous.overlap import Equations, Overlap
from sfumato.models.continuous.worlds import Worlds
from sfumato.system.errors import BadData
from sfumato.table.cut import Cut

pytestmark = pytest.mark.slow

LONG = st.integers(3, 5).flatmap(lambda n: chains(count=n, rows=6, values=1))
K2 = {
    "columns": {"q0": {"role": "quasi"}, "q1": {"role": "quasi"}, "s": {"role": "sensitive"}},
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def solutions(start, through, sums, most):
    """Every way of giving whole numbers to variables so that all sums come out."""
    count = len(start) - 1

    def go(v, left):
        if v == count:
            if not any(left):
                yield ()
            return
        rows = through[start[v] : start[v + 1]]
        for amount in range(min(most[v], *(left[r] for r in rows)) + 1):
            rest = list(left)
            for r in rows:
                rest[r] -= amount
            for others in go(v + 1, rest):
                yield (amount, *others)

    return list(go(0, list(sums)))


def chain_of(trees, people, cuts):
    return Chain.of(releases(trees, people, cuts))


@settings(max_examples=60)
@given(LONG)
def test_releases_that_tell_nothing_new_leave_all_worlds_as_they_are(chain):
    """Everybody is bound by fewer releases, and the worlds are the same, person by person."""
    found = chain_of(*chain)
    cells = [Overlap(found).cells(t) for t in range(len(found))]
    system = Equations.of(Overlap(found))
    whole = [Overlap(found, every=True).cells(t) for t in range(len(found))]

    def values_below(nodes):
        """What nodes show: one with a single child shows what that shows."""
        pairs = zip(found.trees, np.atleast_2d(nodes).T, strict=True)
        return np.stack([np.stack([tree.low[n], tree.high[n]], 1) for tree, n in pairs], 1)

    kinds = []
    for time, number in zip(system.times.tolist(), system.cells.tolist(), strict=True):
        below = values_below(cells[time].table.nodes[number])
        [same] = np.flatnonzero((values_below(whole[time].table.nodes) == below).all(axis=(1, 2))).tolist()
        classes = whole[time].classes[same].tolist()
        kinds.append((time, tuple(tuple(found.releases[time + i].nodes[c]) for i, c in enumerate(classes))))
    reduced = {
        frozenset((kind, n) for kind, n in zip(kinds, world, strict=True) if n)
        for world in solutions(system.start, system.through, system.sums, system.most)
    }
    _, every = all_worlds(chain[0], shown(*chain), 0)
    assert reduced == {frozenset(world.items()) for world in every}


def test_a_release_tells_nothing_new_of_those_whom_a_finer_one_showed():
    tree = two("x", "y")
    root, leaves = [Cut.root(tree)], [Cut.leaves(tree)]
    people = [("x", 0, 1), ("y", 0, 2), ("x", 0, 3), ("y", 0, 4)]
    found = chain_of([tree], people, [root, leaves, root, leaves])
    assert last_finer_release(found) == [-1, -1, 1, 1]
    system = Equations.of(Overlap(found))
    assert system.binding == ((0, 1), (1,), (2, 3), (3,))


@st.composite
def systems(draw):
    """Whole numbers, and some sums of them."""
    count = draw(st.integers(1, 5))
    amounts = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    rows = draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1).map(sorted), min_size=1, max_size=4))
    rows += [[v] for v in range(count) if not any(v in row for row in rows)]
    through = [[r for r, row in enumerate(rows) if v in row] for v in range(count)]
    start = np.cumsum([0, *map(len, through)]).astype(np.int64)
    sums = np.array([sum(amounts[v] for v in row) for row in rows], np.int64)
    return start, np.array(list(itertools.chain(*through)), np.int32), sums


@given(systems())
def test_the_simplex_method_goes_as_far_as_any_solution(system):
    start, through, sums = system
    count = len(start) - 1
    caps = np.array([sums[through[a:b]].min() for a, b in itertools.pairwise(start)])
    every = np.array(solutions(start, through, sums, caps))
    low, high, part = np.zeros(count, np.int64), caps.copy(), components_of(start, through, len(sums))
    order = np.argsort(part, kind="stable")
    begin = np.searchsorted(part[order], np.arange(part.max() + 2)).astype(np.int64)
    parts, wanted = np.arange(part.max() + 1), np.ones(count, bool)
    steps_left = np.array([10**6], np.int64)
    answers = raise_all(parts, (order, begin), system, wanted, low, high, steps_left)
    truth = every.max(axis=0)
    assert (answers == DONE).all() and steps_left[0] > 0
    assert (low <= truth).all() and (truth <= high).all()
    if len(sums) <= 2:  # such sums are nested or share: no corner is in fractions
        assert (low == high).all()


def test_a_corner_in_fractions_is_not_taken_for_a_world():
    """Three numbers, and the sums of two of them are all 1: only halves fit."""
    system = (np.arange(0, 8, 2), np.array([0, 1, 1, 2, 0, 2], np.int32), np.ones(3, np.int64))
    members = (np.arange(3), np.array([0, 3]))
    low, high = np.zeros(3, np.int64), np.ones(3, np.int64)
    answers = raise_all(
        np.zeros(1, np.int64), members, system, np.ones(3, bool), low, high, np.array([10**6])
    )
    assert answers.tolist() == [DONE] and low.tolist() == [0] * 3 and high.tolist() == [0] * 3


def test_sums_that_contradict_each_other_have_no_solution():
    start, through = np.array([0, 2]), np.array([0, 1], np.int32)
    system = (start, through, np.array([1, 2]))
    members = (np.zeros(1, np.intp), np.array([0, 1]))
    low, high = np.zeros(1, np.int64), np.ones(1, np.int64)
    answers = raise_all(np.zeros(1, np.int64), members, system, np.ones(1, bool), low, high, np.array([99]))
    assert answers.tolist() == [NO_SOLUTION]


@given(systems())
def test_what_is_filled_in_adds_up(system):
    start, through, sums = system
    count = len(start) - 1
    order = np.argsort(through, kind="stable")
    member = np.repeat(np.arange(count, dtype=np.int32), np.diff(start))[order]
    begin = np.searchsorted(through[order], np.arange(len(sums) + 1))
    amount = np.empty(count + 1, np.int64)
    assert fill(start, through, sums, (begin, member), amount, np.array([10**6])) == YES
    assert sums_of(system, amount[:-1]).tolist() == sums.tolist()


def sums_of(system, amounts):
    """What the amounts of all variables come to."""
    start, through, sums = system
    found = np.zeros_like(sums)
    np.add.at(found, through, np.repeat(amounts, np.diff(start)))
    return found


@given(systems(), st.sampled_from([1, 5, 10**6]), st.sampled_from([0, 10, 10**6]))
def test_a_search_narrows_a_variable_to_what_all_solutions_say(system, tries, steps):
    """With enough steps exactly; with few, never beyond; and what it found last is a solution."""
    start, through, sums = system
    count, order = len(start) - 1, np.argsort(through, kind="stable")
    member = np.repeat(np.arange(count, dtype=np.int32), np.diff(start))[order]
    begin = np.searchsorted(through[order], np.arange(len(sums) + 1))
    most = np.array([min(sums[through[start[v] : start[v + 1]]]) for v in range(count)], np.int64)
    truth = np.array(solutions(start, through, sums, most)).max(axis=0)
    bounds, left = (np.zeros(count, np.int64), most, np.full(count, -1)), np.array([steps])
    for v in range(count):
        raise_by_search(v, (start, through, sums), (begin, member), bounds, tries, left)
    least, most, found = bounds
    assert (least <= truth).all() and (truth <= most).all()
    assert tries < 10**6 or steps < 10**6 or np.array_equal(least, most)
    assert (found == -1).all() or np.array_equal(sums_of(system, found), sums)


@given(LONG)
@example(CUBE)
def test_every_target_has_exactly_what_some_world_gives_it(chain):
    found, truth = chain_of(*chain), exact(*chain)
    overlap = Overlap(found, every=True)
    solved = Worlds(overlap)
    solved.solve(np.arange(len(solved.most)), worlds.StepBudget())
    least, most = solved.candidate_bounds()
    assert least.tolist() == most.tolist()
    every = [(time, row) for time, cells in enumerate(solved.cells) for row in cells.classes.tolist()]
    got = {}
    for (time, row), left in zip(every, most.tolist(), strict=True):
        shows = (tuple(found.releases[time + i].nodes[c].tolist()) for i, c in enumerate(row))
        got[time, tuple(shows)] = left
    assert {cell: n for cell, n in got.items() if n} == truth


@given(LONG, st.integers(1, 4), st.sampled_from([0, 5, 30, 10**6]))
def test_nothing_is_claimed_that_is_not_known(chain, k, steps):
    """However soon patience is used up: intervals hold the truth, and what is certain is exact."""
    truth = exact(*chain)
    policy = {**K2, "promises": [{"k-anonymity": {"k": k}}]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target_bounds, "MOST_STEPS", steps)
        got = sf.attack.correspondence(releases(*chain), policy)
        settled = solve_targets(got.chain, k)
    assert got.holds in (min(truth.values()) >= k, None)
    for time, (targets, known) in enumerate(zip(got.targets, settled, strict=True)):
        value = least(truth, time)
        if targets.certain:
            assert targets.least == value
        elif targets.seen:
            assert targets.least >= value
        assert known.few(k) <= sum(n < k for (t, _), n in truth.items() if t == time)
        bounds = (known.lowest or math.inf, known.highest or math.inf)
        assert bounds[0] <= (value or math.inf) <= bounds[1]
    if steps == 10**6:
        assert got.certain and got.open == 0 and got.holds is (min(truth.values()) >= k)


def test_what_stays_open_is_counted_and_said(monkeypatch):
    monkeypatch.setattr(target_bounds, "MOST_STEPS", 0)
    got = sf.attack.correspondence(releases(*CUBE), K3)
    assert got.holds is None and not got.certain and got.open == 8
    assert "if somebody can be there; 2 are asked; not known for 8 of 8 targets" in got.sentences[0]


K3 = {**K2, "columns": {**K2["columns"], "q2": {"role": "quasi"}}}


def test_a_target_below_k_is_seen_in_a_world():
    got = sf.attack.correspondence(releases(*CUBE), K3)
    assert got.holds is False and got.targets[0].few == 2 and "BROKEN" in got.sentences[0]


def test_too_many_targets_are_only_bounded(monkeypatch):
    monkeypatch.setattr(target_bounds, "MOST_ENTRY_PAIRS", 3)
    got = sf.attack.correspondence(releases(*CUBE))
    assert got.FA == 2 and not got.certain and not got.targets[0].seen
    assert "at most 2 candidates at worst, if somebody can be there" in got.sentences[0]
    more = {**K3, "promises": [{"k-anonymity": {"k": 3}}]}
    said = sf.attack.correspondence(releases(*CUBE), more)
    assert said.holds is False and said.sentences[0].endswith("3 are asked: below that by the bound")


def test_tables_that_agree_pair_by_pair_may_have_no_common_cause():
    """Two people each: a = b in the first, b = c in the second, a != c in the third."""
    hiding = [[Cut.root(t) if i == h else Cut.leaves(t) for i, t in enumerate(BITS)] for h in (2, 0, 1)]
    people = [["000", "111"], ["000", "111"], ["001", "110"]]
    found = [
        imprint(BITS, [(*p, 0, 1) for p in some], cuts, 1) for some, cuts in zip(people, hiding, strict=True)
    ]
    with pytest.raises(BadData, match="no table of people gives"):
        sf.attack.correspondence(found)


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_to_solve_a_larger_component_agree(seed, monkeypatch):
    """Sixty people in a table of three columns, another one hidden in each release."""
    rng = np.random.default_rng(seed)
    trees = [two(*"abcd") for _ in range(3)]
    people = [
        (*("abcd"[x] for x in row[:3]), 0, 1 + row[3]) for row in rng.integers(0, [4, 4, 4, 3], (60, 4))
    ]
    hiding = [[Cut.root(t) if i == h else Cut.leaves(t) for i, t in enumerate(trees)] for h in range(3)]
    overlap = Overlap(chain_of(trees, people, hiding))
    known = []
    for rounds in (((10**7, 0),), ((0, 10**5),), worlds.ROUNDS):
        monkeypatch.setattr(worlds, "ROUNDS", rounds)
        found = Worlds(overlap)
        found.solve(np.arange(len(found.most)), worlds.StepBudget(10**8))
        known.append(found)
    simplex, search, both = known
    assert (both.least == both.most).all()
    for one in (simplex, search):
        assert (one.least <= both.most).all() and (both.most <= one.most).all()
    assert (simplex.most == both.most).mean() > 0.9 and (search.least == both.most).mean() > 0.9


@settings(max_examples=60)
@given(chains(count=3, rows=8, values=3), st.integers(2, 4))
@example((BITS, [*CUBE[1], *((*p[:-2], 1, 1) for p in CUBE[1])], CUBE[2]), 2)
def test_no_entry_is_searched_of_a_target_that_is_decided(chain, k):
    """And what is decided that way is what solving everything decides."""
    overlap = Overlap(chain_of(*chain))
    whole, found, late, search = Worlds(overlap), Worlds(overlap), [], Worlds._search

    def searched(self, entry, tries, budget):
        least, most = self.candidate_bounds()
        late.append(not worlds.undecided(least, most, k)[self.targets[entry]])
        search(self, entry, tries, budget)

    whole.solve(np.arange(len(whole.most)), worlds.StepBudget())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worlds, "ROUNDS", ((0, 20_000), (0, 1_000_000)))
        patched.setattr(Worlds, "_narrow_by_walk", lambda *_: None)  # looks for a world to begin with
        patched.setattr(Worlds, "_search", searched)
        found.decide(k, worlds.StepBudget())
    assert not any(late)
    least, most = found.candidate_bounds()
    assert not worlds.undecided(least, most, k).any()
    exactly, same = whole.candidate_bounds()
    assert np.array_equal(exactly, same) and np.array_equal(
        (least > 0) & (most < k), (exactly > 0) & (exactly < k)
    )
