"""Withheld rows that fit a class after all: looked at together, or a few at a time."""

from fractions import Fraction

import pytest

from search.checks import crowded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search import best as withheld
from sfumato.search.contract import Aim
from sfumato.search.mondrian import mondrian


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("together", [1, 7])
def test_who_fits_is_the_same_however_many_are_looked_at_together(seed, together, monkeypatch):
    table = crowded(seed, rows=40, leaves=6, ordered=seed % 2 == 0)
    promises = Promises((KAnonymity(3), DistinctLDiversity("s0", 2)))
    aim = Aim(Fraction(1, 4), price=Fraction(1, 2))
    monkeypatch.setattr(withheld, "PAIRS_TOGETHER", 1 << 26)
    expected = mondrian(table, promises, aim)
    monkeypatch.setattr(withheld, "PAIRS_TOGETHER", together)
    found = mondrian(table, promises, aim)
    assert found.recoding.class_of.tolist() == expected.recoding.class_of.tolist()
    assert (found.loss, found.checked) == (expected.loss, expected.checked)


def test_departures_are_not_ranked_where_nobody_may_go(monkeypatch):
    monkeypatch.setattr(withheld, "_by_relief", None)
    outcome = mondrian(crowded(1), Promises((KAnonymity(3),)), Aim(Fraction(0), price=Fraction(1)))
    assert outcome.recoding.suppressed == 0
