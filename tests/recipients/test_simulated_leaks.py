"""Leaks of marked versions, made up by a seed: no innocent is charged, and few leakers are missed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from experiments.charging import KINDS, House, Leakers, calibration, hospital, outcome, power, simulated, told

from sfumato.recipients.charging import NOTHING
from sfumato.system.coins import Coins

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def house():
    return House(hospital(1_200))


def test_no_innocent_is_charged_and_leakers_are(house):
    rng = np.random.default_rng(4)
    outcomes = list(simulated(house, House(hospital(1_200, seed=2)), rounds=1, seed=4))
    outcomes += [outcome(house, kind, 1, 600, rng) for kind in KINDS]
    lines = {row["leak"]: row for row in told(outcomes)}
    assert lines["all"]["innocents charged"] == 0 and lines["another hospital"]["leaks"] == 1
    plain = [one for one in outcomes if one.leakers == 1 and one.kind in ("rows mixed", "renamed, reordered")]
    assert all(one.guilty for one in plain if one.groups >= 20)


def test_fresh_versions_reach_a_tail_no_more_often_than_it_says(house):
    rng = np.random.default_rng(5)
    tails = [outcome(house, kind, 2, 400, rng).tails for kind in ("rows mixed", "a quarter forged")]
    for of_leak in tails:
        for stated in (0.5, 0.1, 0.02):
            assert (of_leak <= stated).sum() <= 500 * stated + 4 * (500 * stated) ** 0.5
    drawn = calibration({"marks": np.concatenate(tails)})
    assert all(y <= x + 0.3 for x, y in drawn.series["marks"] if x > -2)


def test_twenty_groups_name_one_leaker_and_eighty_six_two(house):
    lines = {(row["leakers"], row["groups"]): row["a leaker charged"] for row in power(house, 20)}
    assert lines["one", 20] == 1 and lines["two", 86] >= 0.9


def test_biased_symbols_are_read_and_charged_like_fair_ones(house):
    biased = house.with_bias(Coins(b"biased"), 3)
    one = outcome(biased, "rows mixed", 1, 900, np.random.default_rng(6))
    assert one.guilty and not one.innocent
    assert (one.tails <= 0.05).mean() <= 0.1


def test_whoever_raises_both_columns_leaves_no_evidence(house):
    rng = np.random.default_rng(7)
    leak = KINDS["both columns raised"][0](Leakers(house, rng, house.symbols(rng, 1), house.order[:500]))
    assert (house.shown(pl.DataFrame(leak, strict=False)) == NOTHING).all()
