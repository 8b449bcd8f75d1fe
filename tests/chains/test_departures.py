"""Chains that people leave: worked examples, and formulas and program against the enumeration of worlds."""

import os

import pytest

from oracles.living_chains import LivingCase, bounds_of, living_chain, one_class, random_case
from oracles.tiny_chains import BITS, two
from sfumato.chains.corrections import corrected_candidates
from sfumato.chains.presence_cells import PresenceTargets
from sfumato.chains.presence_equations import decide_targets
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData
from sfumato.core.taxonomy import Taxonomy

CASES = int(os.environ.get("SFUMATO_LIVING_CASES", "25"))
"""Random chains of each kind; thousands of them are an experiment of minutes."""
FLU, HIV, COLD = 0, 1, 2
FIRST, SECOND, BOTH = (0,), (1,), (0, 1)


def left(case, known):
    """Presence -> the candidates of its targets, fewest first; formulas and worlds agree."""
    by_formula, by_worlds = bounds_of(case, known), case.exact(known)
    assert by_formula == by_worlds
    found = {}
    for (presence, _), n in by_formula.items():
        found.setdefault(presence, []).append(n)
    return {presence: sorted(some) for presence, some in found.items()}


def stayed(*counts, **more):
    """People of one class in two releases: (value, stayed, left, came)."""
    people = [
        (value, presence, n)
        for value, *numbers in counts
        for presence, n in zip((BOTH, FIRST, SECOND), numbers, strict=True)
    ]
    first = {value: stay + gone for value, stay, gone, _ in counts}
    second = {value: stay + came for value, stay, _, came in counts}
    return one_class(first, second, stay=people, **more)


def test_one_who_is_erased_stands_alone_where_departures_are_counted():
    case = stayed((FLU, 5, 0, 0), (HIV, 2, 1, 0))
    assert left(case, "counted") == {FIRST: [1], BOTH: [7]}
    assert left(case, "unknown")[FIRST] == [8]


def test_tables_that_look_as_if_they_only_grew():
    case = stayed((FLU, 1, 2, 4), (HIV, 0, 2, 4))
    assert left(case, "counted") == {FIRST: [5], SECOND: [9], BOTH: [2]}


def test_departures_that_are_harmless():
    case = stayed((FLU, 2, 2, 1), (HIV, 2, 2, 3))
    assert left(case, "counted") == {FIRST: [7], SECOND: [7], BOTH: [7]}
    case = stayed((FLU, 2, 2, 3), (HIV, 2, 2, 2))
    assert left(case, "counted") == {FIRST: [8], SECOND: [9], BOTH: [8]}


def test_the_paper_s_example_with_one_who_left():
    place, job = Taxonomy.flat(["UK", "France"]), Taxonomy.flat(["Lawyer", "Doctor"])
    people = [("UK", "Lawyer", FLU, {0, 1})] * 2 + [("UK", "Lawyer", FLU, {0})]
    people += [("France", "Lawyer", HIV, {0, 1})] * 2 + [("France", "Lawyer", HIV, {1})]
    people += [("France", "Doctor", FLU, {1})] * 2
    people += [("UK", "Doctor", HIV, {1}), ("UK", "Lawyer", HIV, {1})]
    first, second = [Cut.root(place), Cut.leaves(job)], [Cut.leaves(place), Cut.root(job)]
    case = LivingCase([place, job], people, [first, second])
    assert left(case, "counted") == {FIRST: [2], SECOND: [4, 5], BOTH: [4, 4]}
    assert left(case, "unknown")[FIRST] == [5]


def test_wards_are_told_apart_where_departures_are_counted_in_each():
    ward = two("a", "b")
    people = [("a", FLU, {0, 1})] * 4 + [("a", HIV, {0})]
    people += [("b", FLU, {0, 1})] * 3 + [("b", FLU, {0})] * 2 + [("b", FLU, {1})] * 2
    people += [("b", HIV, {0, 1})] * 2 + [("b", HIV, {0})] * 3 + [("b", HIV, {1})] * 3
    case = LivingCase([ward], people, [[Cut.leaves(ward)]] * 2)
    total, counted = left(case, "total"), left(case, "counted")
    assert total[FIRST][0] == 5 and total[SECOND][0] == 4
    assert counted[FIRST][0] == 1 and len(counted[SECOND]) == 1  # nobody new can be in ward a


def test_companions_hide_one_who_is_erased():
    alone = stayed((FLU, 5, 0, 3), (HIV, 4, 1, 3))
    assert left(alone, "counted")[FIRST] == [2]
    hidden = stayed((FLU, 4, 1, 3), (HIV, 3, 2, 3))
    assert left(hidden, "counted") == {FIRST: [6], SECOND: [9], BOTH: [10]}


def test_somebody_who_returns_keeps_fewer():
    tables = ({FLU: 3, HIV: 3}, {FLU: 5, COLD: 4}, {HIV: 2, COLD: 4})
    people = [
        (FLU, (0,), 3),
        (HIV, (0,), 3),
        (FLU, (1,), 5),
        (COLD, (1,), 4),
        (HIV, (2,), 2),
        (COLD, (2,), 4),
    ]
    case = one_class(*tables, stay=people)
    assert left(case, "unknown") == {(0,): [6], (1,): [9], (2,): [6], (0, 1): [3], (1, 2): [4]}
    back = LivingCase(case.trees, case.people, case.cuts, returns=True)
    assert left(back, "unknown")[0, 2] == [2]


def test_somebody_who_moves_is_compared_with_every_place():
    place = two("x", "y")
    held = [("x", FLU)] * 3 + [("x", HIV)] * 2 + [("y", FLU)] * 2 + [("y", COLD)] * 3
    people = [(((p,), (p,)), s, frozenset({0, 1})) for p, s in held]
    finest = LivingCase([place], people, [[Cut.leaves(place)]] * 2, moves=(0,))
    assert left(finest, "unknown")[BOTH] == [2, 2, 5, 5]
    fixed = LivingCase([place], [(p, s, {0, 1}) for p, s in held], [[Cut.leaves(place)]] * 2)
    assert left(fixed, "unknown")[BOTH] == [5, 5]
    coarse = LivingCase([place], people, [[Cut.leaves(place)], [Cut.root(place)]], moves=(0,))
    assert left(coarse, "unknown")[BOTH] == [5, 5]


def test_one_corrected_value_stands_alone():
    case = stayed((FLU, 4, 0, 1), (HIV, 0, 1, 0))  # nobody left: the one HIV is Flu now
    assert corrected_candidates(living_chain(case, "counted")[0]) == 1


def test_other_columns_of_the_same_people_by_the_values_both_show():
    one, other = two("y", "o"), two("a", "b")
    people = [("y", "a", FLU), ("y", "a", FLU), ("y", "b", HIV), ("o", "a", HIV), ("o", "b", FLU)]
    people = [(*p, {0, 1}) for p in [*people, ("o", "b", COLD)]]
    cuts = [[Cut.leaves(one), Cut.root(other)], [Cut.root(one), Cut.leaves(other)]]
    case = LivingCase([one, other], people, cuts)
    assert left(case, "counted")[BOTH] == [2, 2, 3, 3]


def test_three_bits_each_hidden_once():
    counts = {"000": 1, "001": 1, "010": 1, "100": 1, "011": 2, "101": 2, "110": 2}
    people = [(*cell, FLU, {0, 1, 2}) for cell, n in counts.items() for _ in range(n)]
    hide = [
        [Cut.root(t) if i == hidden else Cut.leaves(t) for i, t in enumerate(BITS)] for hidden in range(3)
    ]
    case = LivingCase(BITS, people, hide)
    everywhere = tuple(
        tuple(int(cut.node_of[tree.rank("0")]) for tree, cut in zip(BITS, cuts, strict=True)) for cuts in hide
    )
    assert bounds_of(case, "unknown")[(0, 1, 2), everywhere] == 2
    assert decide_targets(PresenceTargets(living_chain(case, "counted")[0]), 2).holds is False
    assert decide_targets(PresenceTargets(living_chain(case, "unknown")[0]), 2).holds is True


def test_the_bound_may_be_too_high_and_the_program_is_not():
    tree = two("x", "y")
    people = [("x", FLU, {0, 1}), ("x", FLU, {1, 2}), ("x", FLU, {1})]
    case = LivingCase([tree], people, [[Cut.leaves(tree)], [Cut.root(tree)], [Cut.leaves(tree)]])
    only = (1,), ((0,),)
    assert bounds_of(case, "counted")[only] == 2 and case.exact("counted")[only] == 1
    chain = living_chain(case, "counted")[0]
    assert decide_targets(PresenceTargets(chain), 2).holds is False


def test_the_root_may_fail_where_finer_values_hold():
    tree = two("x", "y")
    people = [("x", FLU, {0}), ("x", HIV, {0})]
    people += [("y", FLU, {0, 1})] * 2 + [("y", COLD, {0, 1})] * 2
    coarse = LivingCase([tree], people, [[Cut.leaves(tree)], [Cut.root(tree)]])
    fine = LivingCase([tree], people, [[Cut.leaves(tree)]] * 2)
    assert left(coarse, "unknown")[BOTH] == [1, 4]  # the one in x is a phantom
    assert not decide_targets(PresenceTargets(living_chain(coarse, "unknown")[0]), 2).holds
    assert decide_targets(PresenceTargets(living_chain(fine, "unknown")[0]), 2).holds


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
@pytest.mark.parametrize("moves", [(), (1,)])
def test_two_releases_are_judged_exactly(known, moves):
    for seed in range(CASES):
        case = random_case(seed, count=2, rows=8, moves=moves, returns=known == "unknown")
        assert bounds_of(case, known) == case.exact(known)


def test_unknown_departures_are_judged_exactly_in_any_number_of_releases():
    for seed in range(CASES):
        case = random_case(seed, count=3, rows=7, returns=seed % 2 == 0)
        assert bounds_of(case, "unknown") == case.exact("unknown")


@pytest.mark.parametrize("known", ["counted", "total"])
def test_more_releases_are_bounded_and_decided(known):
    """Nothing is accepted that the worlds refute, nor refused as known; open cases are counted elsewhere."""
    for seed in range(CASES):
        case = random_case(seed, count=3, keys=1 + seed % 2, rows=8)
        exact, bound = case.exact(known), bounds_of(case, known)
        assert all(bound[kind] >= n for kind, n in exact.items())
        chain = living_chain(case, known)[0]
        for k in (1, 2, 3):
            decided = decide_targets(PresenceTargets(chain), k).holds
            assert decided is None or decided == (min(exact.values()) >= k)


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
def test_movers_in_three_releases_are_judged_by_the_worlds(known):
    """Also those who come back, where departures are unknown."""
    for seed in range(CASES):
        case = random_case(
            seed, count=3, rows=5, moves=(1,), returns=known == "unknown" and seed % 2 == 0, values=2
        )
        exact, bound = case.exact(known), bounds_of(case, known)
        assert bound == exact if known == "unknown" else all(bound[kind] >= n for kind, n in exact.items())
        targets = PresenceTargets(living_chain(case, known)[0])
        for k in (1, 2, 3):
            decided = decide_targets(targets, k).holds
            assert decided is None or decided == (min(exact.values()) >= k)


def test_more_shared_people_than_there_can_be_are_refused():
    chain, _ = living_chain(stayed((FLU, 5, 0, 0), (HIV, 2, 1, 0)), "counted")
    wrong = chain.followed_by(chain.releases[1], [chain.shared[0, 1] + 1, chain.shared[0, 1]])
    with pytest.raises(BadData, match="numbers of people that they share"):
        list(PresenceTargets(wrong).all_cells())
