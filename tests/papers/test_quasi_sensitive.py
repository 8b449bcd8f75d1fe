"""A group of two patients with different symptoms and one possible disease, worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from oracles import beliefs as plain
from sfumato.models.contract import Prior
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.search.class_term_removal import RemovalCosts, SolverBudget, TermLimit, solve_class
from sfumato.table.classes import Classes, histogram
from sfumato.table.microdata import text_of
from sfumato.table.taxonomy import Taxonomy

F = Fraction
E = [
    ("Flu", ("fever", "cough", "headache")),
    ("Cold", ("cough", "sneeze", "headache")),
    ("Malaria", ("fever", "chills", "headache")),
    ("Allergy", ("sneeze", "rash")),
]
R1, R2 = ("fever", "cough"), ("fever", "cough", "headache")
GROUP = [R1, R2]
TABLE = [R1, R2, ("sneeze",), ("cough", "headache")]
KNOWN = Knowledge.of(E)
MEAN = {"Flu": F(5, 8), "Cold": F(1, 4), "Allergy": F(1, 8), "Malaria": F(0)}
COUNT = {"Flu": F(1, 2), "Cold": F(1, 3), "Allergy": F(1, 6), "Malaria": F(0)}


def classes(*groups, column="symptoms"):
    texts = sorted({text_of(row) for group in groups for row in group})
    owner = np.array([i for i, group in enumerate(groups) for _ in group])
    codes = np.array([texts.index(text_of(row)) for group in groups for row in group], np.int32)
    held = histogram(Taxonomy.flat(texts), owner, codes, np.ones(len(codes), np.int64), len(groups))
    return Classes(held.totals, held.totals, {column: held})


def diverse(rows, c, l, known=KNOWN):  # noqa: E741
    return bool(QuasiSensitiveDiversity("symptoms", known, l=l, c=c).holds_on(classes(rows))[0])


def test_different_symptoms_one_disease():
    assert KNOWN.linked(R1) == KNOWN.linked(R2) == ("Flu",)
    assert plain.posterior(E, GROUP)["Flu"] == 1
    assert plain.widest(E, GROUP, 1) == 1
    assert diverse(GROUP, F(1), 1) and not diverse(GROUP, F(1), 2)


def test_without_fever_in_one_row():
    shorter = [R1, ("cough", "headache")]
    assert plain.posterior(E, shorter) == {"Flu": F(3, 4), "Cold": F(1, 4), "Malaria": 0, "Allergy": 0}
    assert diverse(shorter, F(3), 2) and plain.diverse(E, shorter, 3, 2)
    assert not diverse(shorter, F(299, 100), 2) and not plain.diverse(E, shorter, F(299, 100), 2)
    assert plain.cost(GROUP, shorter) == F(1, 10)
    assert plain.cost(GROUP, [("cough",), R2]) == F(3, 20)


@pytest.mark.parametrize("method", ["plain", "adaptive", "exact"])
@pytest.mark.parametrize(
    ("c", "l", "least"), [(3, 2, F(1, 10)), (1, 2, F(1, 4)), (1, 3, F(7, 10)), (1, 4, F(1))]
)
def test_cheapest_removals(method, c, l, least):  # noqa: E741
    assert plain.cheapest(GROUP, lambda kept: plain.diverse(E, kept, c, l)) == least
    limit, costs = (
        TermLimit.of(QuasiSensitiveDiversity("symptoms", KNOWN, l=l, c=F(c))),
        RemovalCosts("inverse", 3),
    )
    answer = solve_class(GROUP, limit, costs, SolverBudget(method))
    assert answer.found and answer.proved
    assert plain.cost(GROUP, answer.kept) == costs.share(answer.cost, [2, 3]) == least
    assert diverse(answer.kept, F(c), l)


def test_five_of_four_labels_cannot_be():
    assert not QuasiSensitiveDiversity("symptoms", KNOWN, l=5, c=F(1)).reachable
    assert plain.cheapest(GROUP, lambda kept: plain.diverse(E, kept, 1, 5)) is None
    limit = TermLimit.of(QuasiSensitiveDiversity("symptoms", KNOWN, l=5, c=F(1)))
    answer = solve_class(GROUP, limit, RemovalCosts("inverse", 3), SolverBudget())
    assert not answer.found and answer.proved


@pytest.mark.parametrize(("rule", "shares"), [("mean", MEAN), ("count", COUNT)])
def test_priors(rule, shares):
    assert plain.prior(E, TABLE, rule) == shares
    promise = QuasiSensitiveCloseness("symptoms", KNOWN, t=F(1), prior=rule)
    assert promise.bound(classes(TABLE)).prior == Prior.of(shares)


def test_distances():
    promise = QuasiSensitiveCloseness("symptoms", KNOWN, t=F(1)).bound(classes(TABLE))
    assert plain.squared_distance(E, GROUP, MEAN) == promise.verdict(classes(GROUP)).measured == F(7, 32)
    assert promise.verdict(classes(TABLE)).measured == 0
    counted = QuasiSensitiveCloseness("symptoms", KNOWN, t=F(1), prior="count").bound(classes(TABLE))
    assert counted.verdict(classes(TABLE)).measured > 0


def test_removing_more_may_break_what_held():
    known = [("A", "123"), ("B", "1"), ("C", "2"), ("D", "34"), ("Z", "34")]
    rows = [("1",), ("2",), ("3", "4")]
    for wise, made in ((plain.diverse, known), (None, Knowledge.of(known))):
        for kept, truth in ((rows, True), ([*rows[:2], ("3",)], False)):
            held = wise(made, kept, F(3, 4), 2) if wise else diverse(kept, F(3, 4), 2, made)
            assert held is truth


def test_closeness_out_of_reach():
    promise = QuasiSensitiveCloseness("symptoms", KNOWN, t=F(1, 10), prior=Prior.of(MEAN))
    rows = [("sneeze", "rash")]
    assert plain.cheapest(rows, lambda kept: plain.squared_distance(E, kept, MEAN) <= F(1, 100)) is None
    for method in ("plain", "adaptive", "exact"):
        answer = solve_class(rows, TermLimit.of(promise), RemovalCosts("inverse", 2), SolverBudget(method))
        assert not answer.found and answer.proved
