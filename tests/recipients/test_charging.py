"""An innocent is charged in at most the stated share of traces, whatever is done without knowing symbols."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.recipients.charging import ERROR, NOTHING, Charges, charge, charge_drawn

DRAWS = 100_000


def versions(*lines):
    return np.array(lines, np.int8)


def scored_by_hand(shown, bias, line):
    """What a version scores: the definition, group by group."""
    score = 0
    for leaked, chance, own in zip(shown, bias, line, strict=True):
        if NOTHING in (leaked, own):
            continue
        rare = chance if leaked == 1 else 1 - chance
        score += (
            round(8 * ((1 - rare) / rare) ** 0.5) if own == leaked else -round(8 * (rare / (1 - rare)) ** 0.5)
        )
    return score


@given(st.data())
def test_the_tail_is_the_share_of_all_versions_that_score_as_much(data):
    groups = data.draw(st.integers(1, 6))
    shown = data.draw(st.lists(st.sampled_from([0, 1, NOTHING]), min_size=groups, max_size=groups))
    eighths = data.draw(st.lists(st.integers(1, 7), min_size=groups, max_size=groups))
    fair = data.draw(st.booleans())
    bias = [0.5 if fair else e / 8 for e in eighths]
    own = data.draw(st.lists(st.sampled_from([0, 1, NOTHING]), min_size=groups, max_size=groups))
    score, share = scored_by_hand(shown, bias, own), Fraction(0)
    for fresh in product((0, 1), repeat=groups):
        held = [NOTHING if mine == NOTHING else symbol for symbol, mine in zip(fresh, own, strict=True)]
        if scored_by_hand(shown, bias, held) >= score:
            chances = [Fraction(b) if s else 1 - Fraction(b) for s, b in zip(fresh, bias, strict=True)]
            share += np.prod(chances)
    tail = charge(np.array(shown, np.int8), np.array(bias), versions(own)).tails[0]
    assert share <= tail <= share * Fraction(1_000_001, 1_000_000)
    assert tail == share or not fair


@given(st.data())
def test_no_rule_of_leakers_charges_an_innocent_more_often_than_stated(data):
    """All worlds: two guilty versions, any leak made of them, and every version that an innocent may have."""
    groups, error = data.draw(st.integers(1, 6)), Fraction(data.draw(st.integers(1, 8)), 8)
    bit = st.lists(st.sampled_from([0, 1]), min_size=groups, max_size=groups)
    first, second = data.draw(bit), data.draw(bit)
    leak = data.draw(st.lists(st.sampled_from([0, 1, NOTHING]), min_size=groups, max_size=groups))
    worlds = [
        charge(np.array(leak, np.int8), np.full(groups, 0.5), versions(first, second, mine), error=error)
        for mine in product((0, 1), repeat=groups)
    ]
    assert Fraction(sum(2 in world.charged for world in worlds), len(worlds)) <= error / 3


@pytest.mark.parametrize("biased", [False, True])
def test_the_tail_is_what_100_000_fresh_versions_score(biased):
    rng = np.random.default_rng(11)
    groups = 40
    bias = np.sin(rng.uniform(0.15, np.pi / 2 - 0.15, groups)) ** 2 if biased else np.full(groups, 0.5)
    leak = (rng.random(groups) < bias).astype(np.int8)
    fresh = (rng.random((DRAWS, groups)) < bias).astype(np.int8)
    drawn = charge(leak, bias, fresh, error=Fraction(DRAWS))
    tails = np.array([float(tail) for tail in drawn.tails])
    for asked in (0.5, 0.1, 0.01, 0.001):
        hits = int((tails <= asked).sum())
        assert hits <= DRAWS * asked + 4 * (DRAWS * asked) ** 0.5
        at = tails[tails <= asked].max()  # tails are steps: the last one below is reached as often as it says
        assert abs(hits - DRAWS * at) <= 5 * (DRAWS * at) ** 0.5


def test_fair_coins_are_counted_exactly():
    shown, held = np.ones(300, np.int8), np.ones((1, 300), np.int8)
    held[0, :100] = 0
    tail = charge(shown, np.full(300, 0.5), held).tails[0]
    assert tail == Fraction(sum(comb(300, n) for n in range(200, 301)), 2**300)


def test_one_leaker_and_twenty_groups_are_enough_for_fifty_recipients():
    rng = np.random.default_rng(1)
    symbols = rng.integers(0, 2, (50, 20)).astype(np.int8)
    assert charge(symbols[7], np.full(20, 0.5), symbols).charged == (7,)


def test_groups_that_somebody_never_got_say_nothing_about_them():
    shown = np.ones(30, np.int8)
    late = np.full(30, NOTHING, np.int8)
    late[:3] = 1
    charges = charge(shown, np.full(30, 0.5), versions(shown, late))
    assert charges.groups == (30, 3)
    assert charges.charged == (0,)
    assert charges.tails[1] == Fraction(1, 8)


def test_a_leak_without_symbols_charges_nobody():
    nothing = np.full(4, NOTHING, np.int8)
    assert charge(nothing, np.full(4, 0.5), versions([0, 1, 0, 1]), error=Fraction(5)).charged == ()
    assert Charges((), (), (), Fraction(1, 1000)).charged == ()


@given(st.data())
def test_versions_drawn_from_a_pool_charge_no_innocent_more_often_than_stated(data):
    """Every way to give the others theirs: what an innocent got is one of those that are left."""
    size, others = data.draw(st.integers(2, 9)), data.draw(st.integers(0, 3))
    scores = np.array(data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)))
    guilty = data.draw(st.permutations(range(size)))[: min(others, size - 1)]
    left = [version for version in range(size) if version not in guilty]
    error = Fraction(data.draw(st.integers(1, 12)), 12)
    charged = [
        len(guilty) in charge_drawn(scores[[*guilty, mine]], scores, error=error).charged for mine in left
    ]
    assert Fraction(sum(charged), len(left)) <= error / (len(guilty) + 1)


def test_o_whoever_rebuilds_another_version_from_a_dependency_charges_nobody_else():
    """Town follows zip: alpha shows in every group whichever symbol they like, and hopes it is beta's."""
    groups = 12
    every = (np.arange(2**groups)[:, None] >> np.arange(groups) & 1).astype(np.int8)
    alpha, bias = every[1365], np.full(groups, 0.5)
    for leak in (every[0], every[-1], 1 - alpha):
        charged = [1 in charge(leak, bias, np.stack([alpha, beta])).charged for beta in every]
        assert 0 < sum(charged) <= len(every) * ERROR / 2
