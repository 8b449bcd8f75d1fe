"""What a notebook asks for: roles instead of a policy file, changed copies, the index that a frame had."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.system.errors import BadPolicy, UsageError
from sfumato.table.microdata import Role

pytestmark = pytest.mark.slow


def people(rows=60):
    return pd.DataFrame(
        {
            "name": [f"Ann{i} Lee" for i in range(rows)],
            "age": [18 + 7 * i % 60 for i in range(rows)],
            "zip": [f"0{2130 + i % 7}" for i in range(rows)],
            "score": [i % 11 for i in range(rows)],
            "disease": ["flu", "gout", "burn"] * (rows // 3),
        }
    )


def told(policy):
    return [str(promise) for promise in policy.promises]


def test_roles_and_k_are_enough():
    raw = people()
    plan = sf.protect(raw, k=5, quasi=["age", "zip"], sensitive="disease", insensitive="score")
    roles = {name: rule.role.value for name, rule in plan.policy.columns.items()}
    assert roles == {
        "name": "identifier", "age": "quasi", "zip": "quasi", "score": "insensitive", "disease": "sensitive",
    }  # fmt: skip
    assert told(plan.policy) == ["k-anonymity, k = 5", "distinct l-diversity of disease, l = 2"]
    safe = plan.apply(raw)
    assert list(safe.columns) == ["age", "zip", "score", "disease"]
    assert safe.groupby(["age", "zip"]).size().min() >= 5
    assert sf.audit(safe, plan.policy).holds


def test_a_column_that_is_not_named_keeps_the_role_of_the_draft_unless_that_is_quasi():
    raw = people()
    drafted = sf.declare(raw)
    plan = sf.protect(raw, k=3, quasi="age")
    for name in ("name", "score", "disease"):
        assert plan.policy.columns[name].role is drafted.columns[name].role
    assert plan.policy.columns["name"].role is Role.IDENTIFIER
    assert drafted.columns["zip"].role is Role.QUASI
    assert plan.policy.columns["zip"].role is Role.INSENSITIVE
    assert "zip" in plan.policy.confirm
    assert "zip" in plan.unchanged
    both = sf.protect(raw, drafted, k=3, quasi="score")
    assert {n for n, rule in both.policy.columns.items() if rule.role is Role.QUASI} == {
        "age",
        "zip",
        "score",
    }
    assert both.policy.columns["score"].taxonomy is not None


def test_a_column_that_is_made_a_key_gets_a_taxonomy_from_the_data():
    raw = people().assign(income=[1000 + 37 * i for i in range(60)])
    rule = sf.protect(raw, k=3, quasi="income").policy.columns["income"]
    assert rule.role is Role.QUASI
    assert "intervals" in rule.taxonomy.spec


def test_numbers_that_are_promised():
    raw = people()
    plan = sf.protect(raw, k=4, l=3, quasi=["age"], sensitive=["disease"], insensitive=["zip", "score"])
    assert told(plan.policy) == ["k-anonymity, k = 4", "distinct l-diversity of disease, l = 3"]
    plan = sf.protect(raw, k=4, t="1/2", quasi=["age"], sensitive=["disease"], insensitive=["zip", "score"])
    assert told(plan.policy)[1].startswith("t-closeness of disease, t = 1/2")


def test_a_policy_and_something_else():
    raw = people()
    policy = sf.protect(raw, k=5, quasi=["age", "zip"], sensitive="disease", insensitive="score").policy
    other = sf.protect(raw, policy, k=10).policy
    assert told(other)[0] == "k-anonymity, k = 10"
    assert other == policy.with_(k=10)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({}, UsageError, "neither a policy nor a role"),
        ({"k": 2, "quasi": ["agee"]}, BadPolicy, "no column agee"),
        ({"k": 2, "quasi": ["age"], "sensitive": "age"}, UsageError, "as quasi and as sensitive"),
        ({"k": 0, "quasi": ["age"]}, BadPolicy, "k"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        sf.protect(people(), **call)


POLICY = sf.Policy.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10], "from": 0, "to": 100}},
            "job": {"role": "quasi"},
            "ill": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 5}}, {"l-diversity": {"of": "ill", "l": 3}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
)


def test_a_changed_copy_leaves_the_policy_alone():
    before = POLICY.digest
    changed = POLICY.with_(k=10, l=2, search="lattice", suppress="2%", weights={"age": 2})
    assert told(changed) == ["k-anonymity, k = 10", "distinct l-diversity of ill, l = 2"]
    assert changed.to_dict()["protect"]["weights"] == {"age": 2}
    assert POLICY.digest == before
    assert POLICY.with_() == POLICY
    again = sf.Policy.from_dict(changed.to_dict())
    assert again.digest == changed.digest


def test_controls_of_columns_are_changed_by_their_names():
    changed = POLICY.with_(at_most={"age": 1}, fixed={"job": 0}, never_suppress={"age": "20"})
    said = changed.to_dict()["columns"]
    assert (said["age"]["at-most"], said["age"]["never-suppress"], said["job"]["fixed"]) == (1, ["20"], 0)
    assert sf.Policy.from_dict(changed.to_dict()).digest == changed.digest
    assert changed.with_(at_most={"age": None}).columns["age"].controls.at_most is None


def test_promises_follow_the_roles():
    assert told(POLICY.with_(insensitive="ill")) == ["k-anonymity, k = 5"]
    moved = POLICY.with_(sensitive="job", t="1/5")
    assert told(moved)[-2:] == [
        "t-closeness of job, t = 1/5, equal distance",
        "t-closeness of ill, t = 1/5, equal distance",
    ]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"searching": "best"}, UsageError, "no searching"),
        ({"search": "bestt"}, BadPolicy, "bestt|search"),
        ({"suppress": "much"}, BadPolicy, "fraction|suppress"),
        ({"quasi": "jobb"}, BadPolicy, "no column jobb"),
        ({"at_most": {"jobb": 1}}, BadPolicy, "no column jobb"),
        ({"at_most": {"age": "fine"}}, UsageError, "at_most is a level"),
        ({"fixed": ["age"]}, UsageError, "fixed takes names"),
    ],
)
def test_a_change_that_no_policy_has_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        POLICY.with_(**change)


def test_l_needs_a_sensitive_column():
    plain = POLICY.with_(insensitive="ill")
    with pytest.raises(UsageError, match="there is none"):
        plain.with_(l=2)


@given(st.permutations(range(12)), st.booleans())
def test_an_index_that_is_kept_holds_every_row_beside_its_original(order, twice):
    raw = people(12).assign(score=range(12)).iloc[list(order)]
    raw.index = pd.Index([f"row {i // 2 if twice else i}" for i in order], name="chart")
    policy = {
        "columns": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 100}},
            "zip": {"role": "quasi"},
            "score": {"role": "insensitive"},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "price": "none", "suppress": "30%"},
        "confirm": {"disease": True},
    }
    plan = sf.protect(raw, policy)
    kept = plan.apply(raw, keep_index=True)
    beside = raw.set_axis(raw["score"], axis=0).loc[kept["score"]]
    assert list(kept["disease"]) == list(beside["disease"])
    assert list(kept.index) == [
        name for name, n in zip(raw.index, raw["score"], strict=True) if n in set(kept["score"])
    ]
    assert kept.index.name == "chart"
    plain = plan.apply(raw)
    assert sorted(map(tuple, kept.to_numpy().tolist())) == sorted(map(tuple, plain.to_numpy().tolist()))


@pytest.mark.parametrize(
    "kind", [pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)]
)
def test_tables_without_an_index_keep_their_order(kind):
    raw = people().assign(score=range(60))
    plan = sf.protect(raw, k=5, quasi=["age", "zip"], sensitive="disease", insensitive="score")
    kept = plan.apply(kind(raw), keep_index=True)
    numbers = kept["score"].to_list() if isinstance(kept, pl.DataFrame) else kept.column("score").to_pylist()
    assert numbers == sorted(numbers)


def test_a_file_has_no_index_to_keep(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    plan = sf.protect(tmp_path / "people.csv", k=5, quasi=["age"])
    with pytest.raises(UsageError, match="no index"):
        plan.apply(tmp_path / "people.csv", keep_index=True)
