"""Two phases from table to plan: never a violating table, and what the plan says about it."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from oracles import beliefs as plain
from sfumato.search.term_removal import STATUS
from sfumato.system.errors import BadPolicy, Infeasible
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

E = {
    "Flu": ["fever", "cough", "headache"],
    "Cold": ["cough", "sneeze", "headache"],
    "Malaria": ["fever", "chills", "headache"],
    "Allergy": ["sneeze", "rash"],
}
KNOWN = list(E.items())
PEOPLE = {
    "age": [22, 24, 31, 35],
    "symptoms": ["fever;cough", "fever;cough;headache", "sneeze", "cough;headache"],
    "note": ["w", "x", "y", "z"],
}


def policy(k=2, search="mondrian", knowledge=E, terms=None, **asked):
    return {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [1, 10, 50], "from": 0, "to": 100}},
            "symptoms": {"role": "quasi-sensitive", "separator": ";"},
            "note": {"role": "insensitive"},
        },
        "promises": [
            *([{"k-anonymity": {"k": k}}] if k else []),
            {"quasi-sensitive": {"of": "symptoms", "knowledge": knowledge, **asked}},
        ],
        "protect": {"suppress": 0, "search": search, "terms": terms or {}},
    }


def groups(frame):
    """Published classes: the terms of their rows."""
    found = {}
    for row in frame.to_dicts():
        terms = tuple(t for t in (row["symptoms"] or "").split(";") if t)
        found.setdefault(row["age"], []).append(terms)
    return list(found.values())


@pytest.mark.parametrize("search", ["mondrian", "top-down", "lattice"])
def test_after_any_search(search):
    people = pl.DataFrame(PEOPLE)
    plan = sf.protect(people, policy(search=search, l=2, c=1))
    safe = plan.apply(people)
    assert all(plain.diverse(KNOWN, rows, 1, 2) for rows in groups(safe))
    assert sorted(safe["note"]) == ["w", "x", "y", "z"]
    assert plan.terms.status == ("suppressed", "satisfied")
    assert plan.terms.cost == (Fraction(1, 4), Fraction(0)) and all(plan.terms.proved)
    assert plan.terms.total == Fraction(1, 7) and plan.terms.removed == 2
    assert "T = 0.1429" in str(plan) and plan.as_dict()["terms"]["classes"]["suppressed"] == 1


def test_one_person_per_class_is_the_raw_table():
    people = pl.DataFrame(PEOPLE)
    plan = sf.protect(people, policy(k=None, l=2, c=1))
    assert plan.classes == 4
    assert all(plain.diverse(KNOWN, rows, 1, 2) for rows in groups(plan.apply(people)))


def test_generalization_alone():
    people = pl.DataFrame(PEOPLE)
    plan = sf.protect(people, policy(terms={"method": "keep"}, l=2, c="5/3"))
    assert plan.terms is None and plan.classes == 1
    assert sorted(plan.apply(people)["symptoms"]) == sorted(PEOPLE["symptoms"])


def test_classes_out_of_reach_are_merged():
    people = pl.DataFrame(PEOPLE)
    plan = sf.protect(people, policy(kind="closeness", t="1/10"))
    assert plan.terms.status == ("merged",) and plan.terms.removed == 0
    assert sorted(plan.apply(people)["symptoms"]) == sorted(PEOPLE["symptoms"])


def test_classes_out_of_reach_of_one_recoding_for_all_are_refused():
    with pytest.raises(Infeasible, match=r"2 rows in 1 class"):
        sf.protect(pl.DataFrame(PEOPLE), policy(search="top-down", kind="closeness", t="1/10"))


def test_classes_out_of_reach_may_be_left_out_if_the_policy_allows_it():
    sets = ["fever;cough", "fever;cough", "sneeze", "sneeze;rash"]
    people = pl.DataFrame({**PEOPLE, "age": [22, 22, 31, 31], "symptoms": sets})
    words = policy(search="top-down", kind="closeness", t="3/10", prior={"Flu": "9/10", "Allergy": "1/10"})
    with pytest.raises(Infeasible):
        sf.protect(people, words)
    words["protect"]["suppress"] = "1/2"
    plan = sf.protect(people, words)
    assert plan.suppressed == plan.terms.dropped == 2 and plan.classes == 1
    assert plan.apply(people).height == 2


def test_what_kept_a_column_from_being_finer_is_told_without_terms():
    assert "quasi-sensitive" not in str(sf.protect(pl.DataFrame(PEOPLE), policy(l=2, c=1)).explain())


def test_nothing_is_returned_that_no_merging_can_mend():
    with pytest.raises(Infeasible):
        sf.protect(pl.DataFrame(PEOPLE), policy(kind="closeness", t=0, prior={"Flu": 1}))


TERMS = sorted({t for terms in E.values() for t in terms} | {"unknown"})


@given(
    st.lists(
        st.tuples(st.integers(10, 60), st.sets(st.sampled_from(TERMS), max_size=4)), min_size=4, max_size=14
    ),
    st.sampled_from([{"l": 2, "c": 1}, {"l": 3, "c": 2}, {"kind": "closeness", "t": "1/4"}]),
    st.sampled_from(["exact", "adaptive", "plain"]),
    st.sampled_from(["inverse", "count"]),
    st.sampled_from([0, "1/4"]),
)
def test_every_published_class_keeps_the_promise(rows, asked, method, cost, margin):
    people = pl.DataFrame(
        {
            "age": [age for age, _ in rows],
            "symptoms": [";".join(sorted(terms)) for _, terms in rows],
            "note": [str(i) for i in range(len(rows))],
        }
    )
    terms = {"method": method, "cost": cost, "margin": margin}
    plan = sf.protect(people, policy(terms=terms, **asked))
    held = groups(plan.apply(people))
    assert sum(map(len, held)) == len(rows) and min(map(len, held)) >= 2
    if "l" in asked:
        assert all(plain.diverse(KNOWN, group, asked["c"], asked["l"]) for group in held)
    else:
        before = plain.prior(KNOWN, [sorted(terms) for _, terms in rows])
        assert dict(plan.policy.promises.members[1].prior.shares) == {k: v for k, v in before.items() if v}
        assert all(plain.squared_distance(KNOWN, group, before) <= Fraction(1, 16) for group in held)
    report = plan.terms
    assert len(report.status) == len(held) and set(report.status) <= set(STATUS)
    assert 0 <= report.total <= 1 and all(
        0 <= b <= c <= 1 for b, c in zip(report.bound, report.cost, strict=True)
    )


@pytest.mark.parametrize("asked", [{"l": 2, "c": 1}, {"kind": "closeness", "t": "1/3"}])
def test_the_order_of_rows_does_not_matter(asked):
    people = pl.DataFrame(PEOPLE)
    one, other = (sf.protect(p, policy(**asked)).apply(p) for p in (people, people.reverse()))
    assert one.equals(other)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("asked", [{"l": 2, "c": 1}, {"kind": "closeness", "t": "1/3"}])
def test_the_second_judge_agrees_on_the_bytes(tmp_path, suffix, asked):
    plan, verdicts = protect_file(pl.DataFrame(PEOPLE), policy(**asked), tmp_path / f"safe.{suffix}")
    assert [v.holds for v in verdicts] == [True, True]
    assert float(verdicts[1].measured) == pytest.approx(float(plan.verdicts[1].measured))


def test_a_margin_removes_more_than_it_must():
    people = pl.DataFrame({**PEOPLE, "symptoms": ["cough;headache"] * 4})
    plain_plan = sf.protect(people, policy(l=2, c=1))
    assert plain_plan.terms.removed == 0
    removed = [sf.protect(people, policy(terms={"margin": "1/2"}, l=2, c=1)).terms.removed for _ in range(8)]
    assert max(removed) > 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"l": 5, "c": 1}, "4 labels"),
        ({"l": 2, "c": 0}, "c"),
        ({"l": 2, "c": -1}, "c"),
        ({"l": 2, "c": 1, "knowledge": {}}, "empty"),
        ({"l": 2, "c": 1, "knowledge": {"Flu": ["a;b"], "Cold": ["a"]}}, "with the separator"),
        ({"kind": "closeness", "t": "1/3", "prior": "guess"}, "prior"),
    ],
)
def test_policies_that_are_refused_at_once(change, said):
    with pytest.raises(BadPolicy, match=said):
        sf.Policy.from_dict(policy(**change))


def test_roles_and_promises_belong_together():
    words = policy(l=2, c=1)
    words["columns"]["more"] = {"role": "quasi-sensitive"}
    with pytest.raises(BadPolicy, match="means nothing without"):
        sf.Policy.from_dict(words)
    words = policy(l=2, c=1)
    words["columns"]["note"]["separator"] = ";"
    with pytest.raises(BadPolicy, match="no such key"):
        sf.Policy.from_dict(words)
    words = policy(l=2, c=1)
    words["columns"]["who"] = {"role": "identifier"}
    with pytest.raises(BadPolicy, match="person"):
        sf.Policy.from_dict({**words, "person": "who"})


def test_a_policy_reads_the_same_after_writing(tmp_path):
    for asked in (
        {"l": 2, "c": 1},
        {"l": 3, "c": "1/2"},
        {"kind": "closeness", "t": "1/3", "prior": {"Flu": "5/8"}},
    ):
        made = sf.Policy.from_dict(policy(terms={"cost": "count", "seconds": 5}, **asked))
        (tmp_path / "p.yaml").write_text(made.to_yaml(), encoding="utf-8")
        again = sf.Policy.load(tmp_path / "p.yaml")
        assert again == made and again.digest == made.digest


def test_columns_of_zero_and_one(tmp_path):
    terms = sorted({t for held in E.values() for t in held})
    people = pl.DataFrame(
        {"age": PEOPLE["age"], **{t: [int(t in s.split(";")) for s in PEOPLE["symptoms"]] for t in terms}}
    )
    words = policy(l=2, c=1)
    del words["columns"]["symptoms"], words["columns"]["note"]
    words["columns"] |= {t: {"role": "quasi-sensitive", "set": "symptoms"} for t in terms}
    plan, verdicts = protect_file(people, words, tmp_path / "safe.csv")
    assert all(v.holds for v in verdicts) and plan.terms.total == Fraction(1, 7)
    safe = plan.apply(people)
    assert safe.columns == people.columns and safe.select(pl.sum_horizontal(terms).sum()).item() == 6
    assert sf.audit(safe, plan.policy).holds


def test_what_terms_give_away_before_and_after():
    people = pl.DataFrame(PEOPLE)
    before = sf.attack.quasi_sensitive(people, policy(l=2, c=1))
    assert before[0].breach and before[0].people == 2 and before[0].confidence == 1
    flu = next(f for f in before if f.details.get("label") == "Flu")
    assert (flu.people, flu.confidence, flu.details["belief before"]) == (2, 1, Fraction(5, 8))
    assert flu.details["change"] == Fraction(3, 8)
    plan = sf.protect(people, policy(l=2, c=1))
    after = sf.attack.quasi_sensitive(plan.apply(people), policy(l=2, c=1))
    assert not any(f.breach for f in after) and max(f.confidence for f in after) == Fraction(1, 2)
    odd = people.with_columns(symptoms=pl.Series(["fever;rash", *PEOPLE["symptoms"][1:]]))
    assert any(
        f.details.get("rows without a link") == 1 for f in sf.attack.quasi_sensitive(odd, policy(l=2, c=1))
    )


def test_an_audit_needs_the_prior():
    people = pl.DataFrame(PEOPLE)
    asked = policy(kind="closeness", t="1/3")
    plan = sf.protect(people, asked)
    safe = plan.apply(people)
    assert sf.audit(safe, asked).holds is None
    assert sf.audit(safe, plan.policy).holds is True
