"""Leaks of marked versions: how they are read, what may be done to a copy, and many made up by a seed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from experiments.charging import KINDS, House, Leakers, calibration, hospital, outcome, power, simulated, told

from sfumato.recipients.charging import NOTHING
from sfumato.recipients.trace_marks import MarkedLeak, MarkedRecipients, TextSpans, trace_marks
from sfumato.system.coins import Coins
from sfumato.system.errors import BadData, UsageError
from sfumato.table.source import open_source

pytestmark = pytest.mark.slow

NAMES = ("fire", "police", "ambulance")


@pytest.fixture(scope="module")
def house():
    return House(hospital(1_200))


@pytest.fixture(scope="module")
def symbols(house):
    return house.symbols(np.random.default_rng(3), len(NAMES))


@pytest.fixture
def traced(house, symbols):
    def call(leak, received=(1, 1, 1), **more):
        known = MarkedRecipients(NAMES, symbols == 1, np.array(received))
        return trace_marks(open_source(leak), house.base, known, **more)

    return call


@pytest.fixture
def police(house, symbols):
    return pl.DataFrame(house.cells(symbols[1]), strict=False)


def test_every_row_is_placed_with_its_own_group_where_one_alone_fits(house, police):
    leak = MarkedLeak.of(open_source(police), house.groups)
    group, fits = leak.placed(house.groups)
    assert fits.all()
    table = house.base.view(np.ones(len(house.base.rows), dtype=bool), marked=False, numbered=True)
    by_cells = {}
    for cells, own in zip(police.rows(), table.column("number_of_group").to_pylist(), strict=True):
        by_cells.setdefault(cells, set()).add(int(own))
    names = list(leak.texts)
    rows = zip(
        *([leak.texts[name][code] for code in leak.codes[name].tolist()] for name in names), strict=True
    )
    columns = [police.columns.index(name) for name in names]
    known = {tuple(cells[j] for j in columns): own for cells, own in by_cells.items()}
    placed = [(known[row], int(g)) for row, g in zip(rows, group.tolist(), strict=True) if g >= 0]
    assert len(placed) > 0.95 * len(group)
    assert all(g in own for own, g in placed)


def test_symbols_are_read_as_they_were_written(house, symbols, police):
    shown = house.shown(police)
    assert (shown != NOTHING).mean() > 0.98
    assert (shown == symbols[1])[shown != NOTHING].all()


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows,
        lambda rows: rows.sample(80, seed=1, shuffle=True),
        lambda rows: rows.rename({"job": "Beruf", "zip": "PLZ", "income": "INCOME"}),
        lambda rows: rows.drop("disease"),
        lambda rows: rows.with_columns(zip=pl.lit("*")),
        lambda rows: rows.with_columns(born=pl.lit(None, pl.String)),
        lambda rows: rows.with_columns(zip=pl.col("zip").str.slice(0, 1) + "****"),
        lambda rows: rows.with_columns(disease=pl.lit("unknown")),
        lambda rows: rows.drop("job", "sex"),
    ],
    ids=[
        "whole",
        "some",
        "renamed",
        "no values",
        "starred",
        "emptied",
        "wider",
        "overwritten",
        "columns gone",
    ],
)
def test_whatever_is_done_to_a_copy_its_holder_is_charged(traced, police, change):
    told = traced(change(police))
    assert told.charged == ("police",) and told.suspects[0].tail <= Fraction(1, 3000)
    assert told.undecided and str(told).startswith("traced to police: an innocent is charged in at most 1 of")


def test_rows_of_two_charge_both_and_nobody_else(house, symbols, traced):
    parts = [pl.DataFrame(house.cells(symbols[i]), strict=False) for i in (0, 2)]
    told = traced(pl.concat([parts[0][::2], parts[1][1::2]]))
    assert set(told.charged) == {"fire", "ambulance"}


def test_the_base_itself_names_nobody(house, traced):
    told = traced(pl.DataFrame(house.truth, strict=False))
    assert told.ours and told.groups == 0 and told.charged == ()
    assert "cannot be told apart" in str(told)


def test_another_hospital_is_not_ours(traced):
    other = House(hospital(900, seed=2))
    told = traced(pl.DataFrame(other.truth, strict=False).head(200))
    assert told.charged == () and told.rows["ours"] < 100


def test_groups_of_a_leak_that_others_got_a_report_on_are_no_evidence(traced, police):
    first = police.head(450)
    told = traced(police, reported=[open_source(first)])
    assert told.reported > 30 and told.groups + told.reported == traced(police).groups
    assert traced(first, reported=[open_source(police)]).groups == 0
    assert "left out: reported before" in str(told)


def test_who_came_later_is_not_held_to_groups_they_never_got(traced, police):
    told = traced(police, received=(1, 0, 1))
    late = next(suspect for suspect in told.suspects if suspect.recipient == "police")
    assert (late.groups, late.charged) == (0, False)


def test_a_column_can_be_named_and_must_be_there(traced, police):
    odd = police.rename({"sex": "x"})
    assert traced(odd, columns={"x": "sex"}).columns.renamed == {"sex": "x"}
    with pytest.raises(UsageError, match="no column 'y'"):
        traced(odd, columns={"y": "sex"})
    with pytest.raises(BadData, match="no column that can be read"):
        traced(pl.DataFrame({"colour": ["red"]}))
    with pytest.raises(BadData, match="no rows"):
        traced(police.head(0))


def test_texts_stand_for_what_lies_within_them():
    wide = TextSpans.of(["[0, 40)", "1970–1979", "01***", "*", "At home"])
    narrow = TextSpans.of(["[10, 20)", "1975-03", "012**", "[30, 50)", "At sea"])
    assert wide.cover(narrow).tolist() == [
        [True, False, False, False, False],
        [False, True, False, False, False],
        [False, False, True, False, False],
        [True] * 5,
        [False] * 5,
    ]


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
