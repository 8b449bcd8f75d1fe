"""Corrected values: the formula, the second judge and the attack against the enumeration of worlds."""

import os

import pytest

from oracles.corrected_values import (
    SAME,
    SHARED,
    CorrectedCase,
    corrected_chain,
    corrected_imprints,
    random_corrections,
)
from oracles.living_chains import LivingCase
from oracles.tiny_chains import two
from sfumato.attacks.chain.leavers import CorrectedValue
from sfumato.chains.corrections import corrected_candidates
from sfumato.chains.presence_cells import PresenceTargets
from sfumato.core.cut import Cut
from sfumato.core.leavers import Leavers
from sfumato.core.limits import AttackLimits
from sfumato.judge.chain.ruling import judge_departures
from sfumato.kernels.chains.overlaps import NO_OVERLAP

CASES = int(os.environ.get("SFUMATO_LIVING_CASES", "80"))
"""Random pairs of releases of each kind; thousands of them are an experiment of minutes."""


def random_cases(count, *, moves=()):
    for seed in range(count):
        case = random_corrections(seed, keys=2 if moves else 1 + seed % 2, moves=moves)
        if all(case.shown):
            yield case


def found_by_formula(chain):
    """The fewest candidates of whoever was corrected, and of everybody else; `None` where nobody can be."""
    corrected = corrected_candidates(chain)
    others = [n for cells in PresenceTargets(chain).all_cells() for n in cells.candidates.tolist() if n]
    return None if corrected == NO_OVERLAP else corrected, min(others)


@pytest.mark.parametrize(("leavers", "known"), [(Leavers.COUNTED, SAME), (Leavers.UNKNOWN, None)])
def test_the_formula_gives_what_the_worlds_give(leavers, known):
    for case in random_cases(CASES):
        exact = case.least(known), case.least(known, corrected=False)
        assert found_by_formula(corrected_chain(case, leavers)) == exact


def test_with_moves_no_more_is_counted_than_the_worlds_have():
    """Nobody moves and is corrected at once: pairs of classes for which both would be needed only add."""
    for case in random_cases(CASES, moves=(0,)):
        corrected, others = found_by_formula(corrected_chain(case, Leavers.UNKNOWN))
        exact = case.least(None)
        assert exact is None or corrected <= exact
        assert others == case.least(None, corrected=False)


@pytest.mark.parametrize("moves", [(), (0,)])
def test_judge_and_attack_certify_nothing_below_what_the_worlds_leave(moves):
    for case in random_cases(CASES, moves=moves):
        documents = [imprint.as_dict() for imprint in corrected_imprints(case, Leavers.UNKNOWN)]
        worlds = case.exact(None)
        for k in (1, 2, 3):
            held = judge_departures(documents, k, "unknown").holds
            assert held is (min(worlds.values()) >= k) or (moves and held is False)
        struck = CorrectedValue(tuple(corrected_imprints(case, Leavers.UNKNOWN)), 2).strike_imprints(
            AttackLimits.of(())
        )
        least = case.least(None)
        assert least is None or [f.breach for f in struck] == [True] or least >= 2


def one_corrected():
    """Five with flu and five with HIV, twice; one person is in both, and was corrected from flu to HIV."""
    tree = two("x", "y")
    plain = LivingCase([tree], [], [[Cut.root(tree)]] * 2)
    root = (int(Cut.root(tree).node_of[0]),)
    rows = [(root, s) for s in (0, 1) for _ in range(5)]
    people = [(rows[0], rows[5]), *((row, None) for row in rows[1:])]
    people += [(None, row) for row in [*rows[:5], *rows[6:]]]
    return CorrectedCase(plain, people)


def test_who_knows_how_many_are_in_both_finds_the_one_who_was_corrected():
    """Without the corrected ones nobody is shared, and ten records remain; with them one person is."""
    case = one_corrected()
    assert found_by_formula(corrected_chain(case, Leavers.COUNTED)) == (10, 10)
    root = case.people[0][0][0]
    assert case.exact(SHARED)["corrected from", root, root] == 2


@pytest.mark.parametrize("leavers", [Leavers.COUNTED, Leavers.TOTAL])
def test_where_numbers_of_people_are_known_corrected_values_are_not_certified(leavers):
    documents = [imprint.as_dict() for imprint in corrected_imprints(one_corrected(), leavers)]
    ruling = judge_departures(documents, 2, leavers.value)
    assert ruling.holds is None and ruling.open
    assert judge_departures(documents, 11, leavers.value).holds is False
