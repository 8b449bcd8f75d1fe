"""Descents with several limits of suppression find together what each of them finds alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.checks import class_promises, crowded
from search.test_controls import limited
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import EntropyLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search import best as withheld
from sfumato.search import mondrian
from sfumato.search.contract import Aim, Descents
from sfumato.search.refinement import ClassedRows
from sfumato.search.top_down import SMALLER_LIMITS, specialize, specialize_each, top_down
from sfumato.system.errors import Infeasible
from strategies import tables

LIMITS = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 5), Fraction(0))
PRICES = st.sampled_from([None, Fraction(1, 4), Fraction(1), Fraction(3)])
LOSSES = st.sampled_from(["loss", "discernibility"])
SEVERAL = crowded(3, rows=200, keys=4), Promises((KAnonymity(4), TCloseness("s0", Fraction(1, 3))))


def told(found):
    if isinstance(found, Infeasible):
        return str(found)
    recoding = found.recoding
    return recoding.class_of.tolist(), recoding.low.tolist(), recoding.cuts, found.loss, found.checked


def alone(table, promises, aim):
    try:
        return told(specialize(table, promises, aim))
    except Infeasible as refused:
        return told(refused)


def agree(table, promises, aim, limits=LIMITS):
    together = dict(specialize_each(table, promises, aim, limits))
    first = alone(table, promises, replace(aim, suppress=limits[0]))
    if isinstance(first, str):
        assert {told(found) for found in together.values()} == {first}
        return
    for number, limit in enumerate(limits):
        assert told(together[number]) == alone(table, promises, replace(aim, suppress=limit))


@given(tables(rows=14, keys=3, leaves=4, people=True), class_promises(), PRICES, LOSSES)
def test_each_finds_what_it_finds_alone(table, promises, price, loss):
    agree(table, promises, Aim(price=price, loss=loss))


@given(limited(tables(rows=12, keys=2, leaves=4)), class_promises(), st.data())
def test_also_where_some_rows_have_to_stay_and_columns_have_ceilings(table, promises, data):
    spared = data.draw(st.sampled_from(table.keys[1].taxonomy.labels))
    aim = Aim(price=Fraction(1), never_suppress={table.keys[1].name: (spared,)})
    agree(table, promises, aim)


def test_they_part_and_are_still_those_that_go_alone():
    table, promises = SEVERAL
    aim = Aim(Fraction(1, 10), price=Fraction(1))
    limits = (Fraction(1, 10), *SMALLER_LIMITS[1:-1])  # of 200 rows a thousandth is none
    together = dict(specialize_each(table, promises, aim, limits))
    single = [specialize(table, promises, replace(aim, suppress=limit)) for limit in limits]
    assert len({told(one)[3] for one in single}) > 1  # limits that matter
    assert [told(together[n]) for n in range(len(limits))] == [told(one) for one in single]
    best = min(single, key=lambda one: (one.loss, one.recoding.suppressed))
    chosen = top_down(table, promises, aim)
    assert np.array_equal(chosen.recoding.class_of, best.recoding.class_of)
    assert chosen.checked == sum(one.checked for one in single)


@pytest.mark.parametrize("rest", range(8))
@pytest.mark.parametrize(
    "promises",
    [
        Promises((KAnonymity(4), TCloseness("s0", Fraction(1, 3)))),
        Promises((EntropyLDiversity("s0", Fraction(2)),)),
    ],
)
def test_they_part_after_steps_that_were_set_aside_and_tried_again(promises, rest):
    """What is set aside comes again in all of them; where they part later, each goes on as if alone."""
    limits = tuple(Fraction(1, one) for one in (5, 10, 20, 50))
    for seed in range(rest, 40, 8):
        for rows, keys, leaves in ((60, 3, 4), (200, 4, 4), (300, 3, 8)):
            table = crowded(seed, rows=rows, keys=keys, leaves=leaves)
            for price in (None, Fraction(1, 2), Fraction(1)):
                agree(table, promises, Aim(price=price), (*limits, Fraction(0)))


def test_rows_are_looked_at_once_for_all_that_agree(monkeypatch):
    looked = []
    split = ClassedRows.split

    def noted(self, column, bounds):
        looked.append(int(bounds[-1] - bounds[0]))
        return split(self, column, bounds)

    monkeypatch.setattr(ClassedRows, "split", noted)
    table, promises = SEVERAL
    aim = Aim(Fraction(1, 10), price=Fraction(1))
    limits = (Fraction(1, 10), *SMALLER_LIMITS[:-1])
    list(specialize_each(table, promises, aim, limits))
    together = sum(looked)
    looked.clear()
    for limit in limits:
        specialize(table, promises, replace(aim, suppress=limit))
    assert together < sum(looked)


def test_what_was_found_before_is_not_looked_for_again(monkeypatch):
    table, promises = SEVERAL
    aim = Aim(price=Fraction(1), descents=Descents(table))
    first = dict(specialize_each(table, promises, aim, LIMITS[:2]))
    again = dict(specialize_each(table, promises, aim, LIMITS))
    assert again[0] is first[0] and again[1] is first[1]
    monkeypatch.setattr(ClassedRows, "of", None)
    assert dict(specialize_each(table, promises, aim, LIMITS)) == again


def test_progress_only_grows_and_ends_whole():
    table, promises = SEVERAL
    told_of = []
    aim = Aim(Fraction(1, 10), price=Fraction(1))
    top_down(table, promises, aim, progress=lambda what, done, total: told_of.append((what, done, total)))
    done = [done for _, done, _ in told_of]
    assert done == sorted(done) and done[-1] == told_of[-1][2]
    assert {(what, total) for what, _, total in told_of} == {("top-down", told_of[-1][2])}


@pytest.mark.parametrize(("most", "asked"), [(0, 0), (1 << 40, 1)])
def test_no_rows_are_guessed_that_could_not_be_tried(monkeypatch, most, asked):
    calls = []

    def guesses(*_, **__):
        calls.append(1)
        return iter(())

    monkeypatch.setattr(withheld, "_guesses", guesses)
    monkeypatch.setattr(mondrian, "MOST_WITHHELD_TRIED", most)
    table, promises = SEVERAL
    assert mondrian.mondrian(table, promises, Aim(Fraction(1, 10), price=Fraction(1))).recoding.count
    assert len(calls) == asked
