"""Adversaries who look for people that left, came back, moved or were corrected."""

from dataclasses import replace

from oracles.living_chains import LivingCase, imprints, one_class, random_case
from oracles.tiny_chains import two
from sfumato.attacks.chain.correspondence import correspondence
from sfumato.attacks.chain.leavers import CorrectedValue, Leaver, Mover, Returner
from sfumato.core.cut import Cut
from sfumato.core.limits import AttackLimits

NOTHING = AttackLimits.of(())
FLU, HIV, COLD = 0, 1, 2
ERASED = one_class(
    {FLU: 5, HIV: 3}, {FLU: 5, HIV: 2}, stay=[(FLU, (0, 1), 5), (HIV, (0, 1), 2), (HIV, (0,), 1)]
)
"""Somebody with HIV was erased, and nobody came."""


def struck(attack, releases, k):
    return [(f.details["candidates"], f.breach) for f in attack(tuple(releases), k).strike_imprints(NOTHING)]


def test_the_leaver_is_found_where_departures_are_counted():
    assert struck(Leaver, imprints(ERASED, "counted"), 5) == [(1, True)]
    assert struck(Leaver, imprints(ERASED, "total"), 5) == [(1, True)]
    assert struck(Leaver, imprints(ERASED, "unknown"), 5) == [(8, False)]


def test_an_imprint_that_was_edited_hides_from_the_old_rule_what_the_leaver_finds():
    """As if the erased row had never been published: the rule for growing tables is content with seven."""
    first, second = imprints(ERASED, "counted")
    plain = replace(second, departures=None, after=())
    edited = replace(first, departures=None, counts=plain.counts)
    assert correspondence([edited, plain], k=5).holds is True
    assert struck(Leaver, [first, second], 5) == [(1, True)]


def test_published_tables_alone_tell_nothing_of_departures():
    plain = [replace(i, departures=None, after=()) for i in imprints(ERASED, "counted")]
    assert struck(Leaver, plain, 5) == [(8, False)]


def test_who_came_back_is_found_where_that_may_be():
    people = [("x", s, {j}) for s, j, n in [(FLU, 0, 3), (HIV, 0, 3)] for _ in range(n)]
    people += [
        ("x", s, {j}) for s, j, n in [(FLU, 1, 5), (COLD, 1, 4), (HIV, 2, 2), (COLD, 2, 4)] for _ in range(n)
    ]
    tree = two("x", "y")
    case = LivingCase([tree], people, [[Cut.root(tree)]] * 3, returns=True)
    assert struck(Returner, imprints(case, "unknown"), 3) == [(2, True)]
    stays = replace(case, returns=False)
    assert struck(Returner, imprints(stays, "unknown"), 3) == []


def test_who_moved_is_found_where_that_may_be():
    held = [("x", FLU)] * 3 + [("x", HIV)] * 2 + [("y", FLU)] * 2 + [("y", COLD)] * 3
    tree = two("x", "y")
    people = [(((p,), (p,)), s, frozenset({0, 1})) for p, s in held]
    case = LivingCase([tree], people, [[Cut.leaves(tree)]] * 2, moves=(0,))
    assert struck(Mover, imprints(case, "unknown"), 4) == [(2, True)]
    fixed = LivingCase([tree], [(p, s, {0, 1}) for p, s in held], [[Cut.leaves(tree)]] * 2)
    assert struck(Mover, imprints(fixed, "unknown"), 4) == []


def test_whose_value_was_corrected_is_found_where_that_may_be():
    case = one_class({FLU: 4, HIV: 1}, {FLU: 5}, stay=[(FLU, (0, 1), 4), (FLU, (1,), 1), (HIV, (0,), 1)])
    assert struck(CorrectedValue, imprints(case, "counted", corrected=True), 5) == [(1, True)]
    assert struck(CorrectedValue, imprints(case, "counted"), 5) == []


def test_attacks_find_what_the_worlds_hold():
    for seed in range(12):
        known = ("counted", "total", "unknown")[seed % 3]
        case = random_case(seed, count=2 + seed % 2, rows=6)
        exact = case.exact(known)
        newest = case.count - 1
        gone = [n for (presence, _), n in exact.items() if presence[-1] != newest]
        stay = [n for (presence, _), n in exact.items() if presence[-1] == newest]
        found = struck(Leaver, imprints(case, known), 3)
        assert any(breach for _, breach in found) == any(n < 3 for n in gone)
        joint = correspondence(imprints(case, known), k=3)
        assert joint.holds == all(n >= 3 for n in stay)
