"""Ranges that end at somebody's value: found in what an earlier version published, and nowhere now."""

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.adversaries.table import ExactEnds, exact_ends
from sfumato.policy.reference import judge_data
from sfumato.policy.taxonomies import rule_from
from sfumato.system.errors import BadData
from sfumato.testing.attacks import check_attack
from sfumato.verify.file import recheck
from sfumato.workflows.protect_file import protect_file

OLD = Path(__file__).parents[2] / "golden" / "raw_ranges"


def raw_values(published, raw):
    """How many raw dates and incomes stand in a published file."""
    shown = " ".join(str(cell) for column in ("born", "income") for cell in published[column])
    return sum(str(cell) in shown for column in ("born", "income") for cell in raw[column])


def test_it_keeps_the_rules_of_attacks():
    check_attack(ExactEnds())


def test_the_old_output_tells_exact_values():
    published, raw = pl.read_csv(OLD / "published.csv"), pl.read_csv(OLD / "people.csv")
    audit = sf.attack("exact-ends", OLD / "published.csv", OLD / "policy.yaml")
    found = {f.columns[0]: f for f in audit.findings}
    assert all(f.breach and f.confidence == 1 for f in found.values()) and set(found) == {"born", "income"}
    assert sum(f.people for f in found.values()) == 48 and raw_values(published, raw) >= 40
    assert not any(str(cell) in f.sentence for f in found.values() for cell in (*raw["born"], *raw["income"]))


def test_the_judge_refuses_the_old_output():
    policy = sf.Policy.load(OLD / "policy.yaml")
    with pytest.raises(BadData, match="texts of born are finer than the policy's levels"):
        recheck(OLD / "published.csv", judge_data(policy))
    for data in (OLD / "published.csv", pl.read_csv(OLD / "published.csv")):
        audit = sf.audit(data, policy)
        assert audit.holds is False and audit.verdicts[0].holds is False
        assert "finer" in audit.verdicts[0].promise


def test_the_new_output_withstands(tmp_path):
    policy, raw = OLD / "policy.yaml", pl.read_csv(OLD / "people.csv")
    plan, _ = protect_file(OLD / "people.csv", policy, tmp_path / "safe.csv")
    published = pl.read_csv(tmp_path / "safe.csv")
    assert plan.classes > 8 and raw_values(published, raw) == 0
    audit = sf.audit(tmp_path / "safe.csv", policy)
    assert audit.holds is True and not [f for f in audit.breaches if f.attack == "exact-ends"]


def test_a_class_of_one_date_publishes_its_year():
    people = pl.DataFrame({"born": ["1953-02-11"] * 4 + ["1961-05-06"] * 4, "s": list("xyzw") * 2})
    policy = {
        "columns": {"born": {"role": "quasi", "taxonomy": {"date": ["year"]}}, "s": {"role": "sensitive"}},
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"suppress": 0, "search": "mondrian"},
        "confirm": {"s": True},
    }
    assert set(sf.protect(people, policy).apply(people)["born"]) == {"1953", "1961"}
    policy["columns"]["born"]["taxonomy"] = {"date": ["day", "year"]}
    assert set(sf.protect(people, policy).apply(people)["born"]) == {"1953-02-11", "1961-05-06"}


@pytest.mark.parametrize(
    ("spec", "label", "values"),
    [
        ({"date": ["year"]}, "1953-02-11–1957-08-03", 2),
        ({"date": ["year"]}, "1953–1957", 0),
        ({"date": ["day", "year"]}, "1953-02-11–1957-08-03", 0),
        ({"intervals": [5], "from": 0, "to": 60}, "20–44", 0),
        ({"intervals": [5], "from": 0, "to": 60}, "20–43", 1),
        ({"intervals": [5], "from": 0, "to": 60}, "20-24", 0),
        ({"intervals": [5], "decimal": True}, "20–43.5", 2),
        ({"flat": ["low", "mid", "high"], "ordered": True}, "low–mid", 0),
    ],
)
def test_ends_that_are_values(spec, label, values):
    assert exact_ends(rule_from(spec), [label]).tolist() == [values]
