"""Classes that no removal can help, told before any search; several promises kept together."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from oracles import beliefs as plain
from sfumato.models.contract import Prior
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.search import term_removal as phase
from sfumato.search.class_term_removal import (
    METHODS,
    RemovalCosts,
    SolverBudget,
    TermLimit,
    out_of_reach,
    solve_class,
)
from sfumato.system.errors import BadPolicy, Infeasible, UsageError
from sfumato.workflows.protect_file import protect_file

F = Fraction
TERMS = "abcde"
ROWS = st.lists(st.sets(st.sampled_from(TERMS), max_size=4).map(sorted).map(tuple), min_size=1, max_size=3)
KNOWN = st.lists(
    st.tuples(st.sampled_from("VWXYZ"), st.sets(st.sampled_from(TERMS), min_size=1).map(sorted)),
    min_size=1,
    max_size=7,
)
NEAR = st.sampled_from([F(0), F(1, 5), F(1, 3), F(1, 2), F(3, 4)])
TARIFF = RemovalCosts("inverse", 4)


def close(known, before, t):
    return QuasiSensitiveCloseness("s", Knowledge.of(known), t=t, prior=Prior.of(before))


@given(ROWS, KNOWN, ROWS, NEAR)
def test_what_is_told_out_of_reach_is(rows, known, others, t):
    before = plain.prior(known, others)
    least = plain.cheapest(rows, lambda kept: plain.squared_distance(known, kept, before) <= t * t)
    told = out_of_reach(rows, TermLimit.of(close(known, before, t)), TARIFF, SolverBudget(rounds=200))
    assert not told or least is None
    if len(rows) == 1:
        assert told == (least is None)


def test_the_bound_tells_classes_of_several_rows():
    known = [("A", "ab"), ("B", "cd"), ("C", "ab")]
    before = {"A": F(0), "B": F(1), "C": F(0)}
    rows = [("a", "b"), ("a",), ("b",)]
    assert out_of_reach(rows, TermLimit.of(close(known, before, F(1, 2))), TARIFF, SolverBudget())
    assert not out_of_reach(rows, TermLimit.of(close(known, before, F(9, 10))), TARIFF, SolverBudget())


@given(ROWS, KNOWN, ROWS, NEAR, st.sampled_from([F(1, 2), F(1), F(3)]), st.integers(1, 4))
def test_both_kinds_at_the_least_cost(rows, known, others, t, c, few):
    before = plain.prior(known, [*rows, *others])
    limit = TermLimit.of(
        close(known, before, t), QuasiSensitiveDiversity("s", Knowledge.of(known), l=few, c=c)
    )

    def holds(kept):
        near = plain.squared_distance(known, kept, before) <= t * t
        return near and plain.diverse(known, kept, c, few)

    least = plain.cheapest(rows, holds)
    for method in METHODS:
        answer = solve_class(rows, limit, TARIFF, SolverBudget(method))
        assert answer.proved and answer.found == (least is not None)
        if answer.found:
            assert holds(list(answer.kept)) and plain.cost(rows, answer.kept) == least


def test_one_search_is_about_one_column_and_one_knowledge():
    one, other = (QuasiSensitiveDiversity("s", Knowledge.of([(x, "a")]), l=1, c=F(1)) for x in "AB")
    with pytest.raises(UsageError):
        TermLimit.of(one, other)


E = {
    "Flu": ["fever", "cough", "headache"],
    "Cold": ["cough", "sneeze", "headache"],
    "Malaria": ["fever", "chills", "headache"],
    "Allergy": ["sneeze", "rash"],
}
DRUGS = {"Heat": ["rest", "tea"], "Chill": ["tea", "spray"], "Itch": ["spray"]}
PEOPLE = {
    "age": [22, 24, 31, 35, 61, 65],
    "symptoms": ["fever;cough", "fever;cough;headache", "sneeze", "cough;headache", "rash", "rash;sneeze"],
    "drugs": ["rest", "rest;tea", "spray", "tea", "spray", "spray"],
}


def policy(*asked, search="mondrian", **protect):
    return {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [1, 10, 50], "from": 0, "to": 100}},
            "symptoms": {"role": "quasi-sensitive"},
            "drugs": {"role": "quasi-sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}, *({"quasi-sensitive": words} for words in asked)],
        "protect": {"suppress": 0, "search": search, **protect},
    }


SYMPTOMS = {"of": "symptoms", "knowledge": E}
MEDICINE = {"of": "drugs", "knowledge": DRUGS}


def groups(frame, column):
    found = {}
    for row in frame.to_dicts():
        terms = tuple(t for t in (row[column] or "").split(";") if t)
        found.setdefault(row["age"], []).append(terms)
    return list(found.values())


@pytest.mark.parametrize("method", METHODS)
def test_columns_and_promises_together(tmp_path, method):
    people = pl.DataFrame(PEOPLE)
    asked = policy(
        {**SYMPTOMS, "l": 2, "c": 1},
        {**SYMPTOMS, "kind": "closeness", "t": "1/2"},
        {**MEDICINE, "l": 2, "c": 1},
        terms={"method": method},
    )
    plan, verdicts = protect_file(people, asked, tmp_path / "safe.csv")
    assert len(verdicts) == 4 and all(v.holds for v in verdicts)
    safe = plan.apply(people)
    before = plain.prior(list(E.items()), [s.split(";") for s in PEOPLE["symptoms"]])
    for rows in groups(safe, "symptoms"):
        assert plain.diverse(list(E.items()), rows, 1, 2)
        assert plain.squared_distance(list(E.items()), rows, before) <= F(1, 4)
    assert all(plain.diverse(list(DRUGS.items()), rows, 1, 2) for rows in groups(safe, "drugs"))
    assert plan.terms.made_of == (1, 1) and 0 < plan.terms.total <= 1
    assert plan.terms.terms == sum(len(s.split(";")) for c in ("symptoms", "drugs") for s in PEOPLE[c])


def test_two_knowledge_tables_for_one_column_are_refused():
    with pytest.raises(BadPolicy, match="one knowledge"):
        sf.Policy.from_dict(
            policy({**SYMPTOMS, "l": 2, "c": 1}, {**MEDICINE, "of": "symptoms", "l": 2, "c": 1})
        )


def test_infeasible_classes_are_told_before_anything_is_searched(monkeypatch):
    def searched(*_, **__):
        raise AssertionError("a search began")

    monkeypatch.setattr(phase, "solve_classes", searched)
    people = pl.DataFrame(PEOPLE).drop("drugs")
    words = policy({**SYMPTOMS, "kind": "closeness", "t": "1/10"}, search="top-down")
    del words["columns"]["drugs"]
    with pytest.raises(Infeasible, match=r"6 rows in 3 classes") as refused:
        sf.protect(people, words)
    assert len(refused.value.values) == 3 and not any(v in str(refused.value) for v in refused.value.values)


def test_what_was_merged_is_told():
    people = pl.DataFrame(PEOPLE).drop("drugs")
    words = policy({**SYMPTOMS, "kind": "closeness", "t": "1/10"})
    del words["columns"]["drugs"]
    plan = sf.protect(people, words)
    report = plan.as_dict()["terms"]
    assert plan.terms.infeasible >= 1 and report["classes"]["infeasible"] == plan.terms.infeasible
    assert report["by_class"][0]["status"] == "merged" and report["by_class"][0]["made_of"] == 2
    assert "infeasible: " in str(plan) and "2 merged" in str(plan)
