"""Controls in a policy: read, written, refused with the reason, and no part of what a chain promises."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.policy.columns import ColumnControls
from sfumato.policy.policy import Policy
from sfumato.policy.strictness import statement_of, weaker_parts
from sfumato.system.errors import BadPolicy

TREE = {"prefix": [2, 1]}


def policy(zip_=None, age=None, **rest):
    return {
        "columns": {
            "zip": {"role": "quasi", "taxonomy": TREE, **(zip_ or {})},
            "age": {"role": "quasi", "taxonomy": {"intervals": [10], "from": 0, "to": 120}, **(age or {})},
            "disease": {"role": "sensitive"},
            "note": {"role": "insensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"suppress": 0, "search": "lattice"},
        **rest,
        "confirm": {"disease": True},
    }


CONTROLLED = policy(
    {"weight": "3/2", "at-most": 2, "never-suppress": ["01", "02*"]},
    {"fixed": 1, "weight": 0},
    protect={"suppress": 0, "search": "lattice", "together": [["zip", "age"]]},
)


def test_controls_are_read_exactly():
    read = Policy.from_dict(CONTROLLED)
    assert read.columns["zip"].controls == ColumnControls(Fraction(3, 2), 2, None, ("01", "02*"))
    assert read.columns["age"].controls == ColumnControls(Fraction(0), None, 1)
    assert read.weights == {"zip": Fraction(3, 2), "age": Fraction(0)}
    assert read.protect.together == (("zip", "age"),)
    assert (read.columns["zip"].finest, read.columns["age"].finest) == (0, 1)


def test_controls_survive_a_file(tmp_path):
    read = Policy.from_dict(CONTROLLED)
    path = tmp_path / "policy.yaml"
    path.write_text(read.to_yaml(), encoding="utf-8")
    again = Policy.load(path)
    assert again == read
    assert again.digest == read.digest
    assert read.digest != Policy.from_dict(policy()).digest


def test_controls_are_no_promises():
    with_controls, without = (Policy.from_dict(words) for words in (CONTROLLED, policy()))
    assert weaker_parts(statement_of(with_controls), statement_of(without)) == []
    assert weaker_parts(statement_of(without), statement_of(with_controls)) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (policy({"at-most": -1}), "must be a whole number from 0"),
        (policy({"at-most": "1"}), "must be a whole number"),
        (policy({"weight": -1}), "must be a fraction"),
        (policy({"weight": "heavy"}), "must be a fraction"),
        (policy({"never-suppress": []}), "must not be empty"),
        (policy({"fixed": 1, "at-most": 1}), "is fixed at level 1"),
        (policy({"fixed": 1, "start": 1}), "is fixed at level 1"),
        (policy({"at-most": 0, "start": 1}), "starts at level 1"),
        (policy({"weight": 0}, {"weight": 0}), "every key column has the weight 0"),
        (
            policy({"weight": 2}, protect={"search": "top-down", "suppress": 0, "weights": {"zip": 2}}),
            "says its weight, too",
        ),
        (policy({"never-suppress": ["01"]}, missing="suppress"), "rows with an empty key cell"),
        (policy(protect={"suppress": 0, "search": "lattice", "together": [["zip"]]}), "at least two columns"),
        (
            policy(protect={"suppress": 0, "search": "lattice", "together": [["zip", "zap"]]}),
            "there is no column zap",
        ),
        (
            policy(protect={"suppress": 0, "search": "lattice", "together": [["zip", "note"]]}),
            "note is insensitive",
        ),
        (
            policy(protect={"suppress": 0, "search": "lattice", "together": [["zip", "age", "zip"]]}),
            "in two groups",
        ),
        (
            policy(protect={"suppress": 0, "search": "top-down", "together": [["zip", "age"]]}),
            "Use search: lattice or best",
        ),
        (
            policy(protect={"suppress": 0, "search": "local", "together": [["zip", "age"]]}),
            "does not publish a column at one",
        ),
        (
            policy(
                {"fixed": 2},
                {"at-most": 1},
                protect={"suppress": 0, "search": "lattice", "together": [["zip", "age"]]},
            ),
            "never finer than level 2, another never coarser than level 1",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(words, reason):
    with pytest.raises(BadPolicy) as refused:
        Policy.from_dict(words)
    assert reason in str(refused.value)


@pytest.mark.parametrize("key", ["weight", "at-most", "fixed", "never-suppress"])
@pytest.mark.parametrize("role", ["sensitive", "insensitive", "identifier"])
def test_only_key_columns_have_controls(key, role):
    said = {"weight": 2, "at-most": 1, "fixed": 1, "never-suppress": ["x"]}[key]
    words = policy()
    words["columns"]["note"] = {"role": role, key: said}
    with pytest.raises(BadPolicy, match=f"only key columns have .*; this one is {role}"):
        Policy.from_dict(words)


def test_a_search_that_publishes_ranges_cannot_keep_single_values():
    words = policy(age={"at-most": 0}, protect={"suppress": 0, "search": "mondrian"})
    rules = Policy.from_dict(words)
    build = next(coding.build for coding in rules.codings if coding.name == "age")
    with pytest.raises(Exception, match="mondrian publishes ranges between nodes of level 1"):
        build(["20", "30"])
