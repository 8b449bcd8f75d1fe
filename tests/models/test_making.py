"""From policy parameters to promises and back; every refusal names its key."""

from __future__ import annotations

from fractions import Fraction

import pytest

from oracles import class_promises as plain
from sfumato.models.contract import ClassPromise
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.registry import known, make, schema
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.system.errors import BadPolicy, UsageError
from sfumato.system.verdict import Evidence
from sfumato.table.taxonomy import Taxonomy

MADE = [
    ("k-anonymity", {"k": 5}, KAnonymity(5)),
    ("l-diversity", {"of": "d", "l": 3}, DistinctLDiversity("d", 3)),
    ("l-diversity", {"of": "d", "l": 3, "kind": "distinct"}, DistinctLDiversity("d", 3)),
    ("l-diversity", {"of": "d", "l": "2.5", "kind": "entropy"}, EntropyLDiversity("d", Fraction(5, 2))),
    (
        "l-diversity",
        {"of": "d", "l": 3, "kind": "recursive", "c": 4},
        RecursiveLDiversity("d", 3, Fraction(4)),
    ),
    ("t-closeness", {"of": "d", "t": "1/5"}, TCloseness("d", Fraction(1, 5))),
    ("t-closeness", {"of": "d", "t": 0.2, "distance": "ordered"}, TCloseness("d", Fraction(1, 5), "ordered")),
    ("t-closeness", {"of": "d", "t": "20%", "reference": None}, TCloseness("d", Fraction(1, 5))),
    ("t-closeness", {"of": "d", "t": "20%", "distance": None}, TCloseness("d", Fraction(1, 5))),
]


@pytest.mark.parametrize(("name", "parameters", "promise"), MADE, ids=str)
def test_parameters_become_a_promise_and_come_back(name, parameters, promise):
    made = make(name, parameters)
    assert made == promise and isinstance(made, ClassPromise)
    assert make(name, made.parameters()) == made
    assert hash(made) == hash(promise)


REFUSED = [
    ("k-anonymity", {"k": 0}, "k", "k must be a whole number from 1 to 2147483647"),
    ("k-anonymity", {"k": 2**31}, "k", "k must be a whole number from 1 to 2147483647"),
    ("k-anonymity", {"k": 2.5}, "k", "whole number"),
    ("k-anonymity", {"k": True}, "k", "whole number"),
    ("k-anonymity", {"k": "five"}, "k", "whole number"),
    ("k-anonymity", {}, "k", "needs k"),
    ("k-anonymity", {"k": 5, "of": "d"}, "of", "no parameter of"),
    ("k-anonymity", 5, "k-anonymity", "key: value"),
    ("k-anonimity", {"k": 5}, "k-anonimity", "Did you mean k-anonymity?"),
    ("zzz", {}, "zzz", f"There are {', '.join(known())}."),
    ("l-diversity", {"l": 3}, "of", "needs of"),
    ("l-diversity", {"of": "", "l": 3}, "of", "name of a column"),
    ("l-diversity", {"of": "d", "l": 0}, "l", "whole number"),
    ("l-diversity", {"of": "d", "l": 2.5}, "l", "whole number"),
    ("l-diversity", {"of": "d", "l": "1/2", "kind": "entropy"}, "l", "at least 1"),
    ("l-diversity", {"of": "d", "l": 3, "kind": "recursive"}, "c", "recursive l-diversity needs c"),
    ("l-diversity", {"of": "d", "l": 3, "kind": "recursive", "c": 0}, "c", "greater than 0"),
    ("l-diversity", {"of": "d", "l": 3, "c": 2}, "c", "distinct l-diversity has no parameter c"),
    ("l-diversity", {"of": "d", "l": 3, "kind": "entropic"}, "kind", "distinct, entropy, recursive"),
    ("l-diversity", {"of": "d", "l": 3, "kind": ["entropy"]}, "kind", "distinct, entropy, recursive"),
    ("t-closeness", {"of": "d", "t": 2}, "t", "at least 0 and at most 1"),
    ("t-closeness", {"of": "d", "t": "-1/5"}, "t", "at least 0"),
    ("t-closeness", {"of": "d", "t": "a fifth"}, "t", "1/5, 20% or 0.2"),
    ("t-closeness", {"of": "d", "t": "1/0"}, "t", "1/5, 20% or 0.2"),
    ("t-closeness", {"of": "d", "t": float("nan")}, "t", "1/5, 20% or 0.2"),
    ("t-closeness", {"of": "d", "t": Fraction(1, 2**600)}, "t", "1/5, 20% or 0.2"),
    ("t-closeness", {"of": "d", "t": 0.2, "distence": "equal"}, "distence", "Did you mean distance?"),
    ("t-closeness", {"of": "d", "t": 0.2, "distance": "euclid"}, "distance", "equal, ordered, hierarchical"),
    ("t-closeness", {"of": "d", "t": 0.2, "reference": 7}, "reference", "CSV file"),
    ("t-closeness", {"of": "d", "t": 0.2, "reference": {"flu": -1}}, "reference", "whole number"),
    ("t-closeness", {"of": "d", "t": 0.2, "reference": {"flu": 0}}, "reference", "not all 0"),
]


@pytest.mark.parametrize(("name", "parameters", "where", "words"), REFUSED, ids=str)
def test_a_wrong_parameter_is_named(name, parameters, where, words):
    with pytest.raises(BadPolicy) as caught:
        make(name, parameters)
    assert caught.value.where == where
    assert words in str(caught.value)


def test_the_constructor_refuses_what_the_policy_refuses():
    with pytest.raises(BadPolicy, match="k must be"):
        KAnonymity(0)
    with pytest.raises(BadPolicy, match="t must be"):
        TCloseness("d", 3)
    with pytest.raises(BadPolicy, match="distance must be"):
        TCloseness("d", 1, None)


def test_schema_names_every_promise_and_every_key():
    names = (
        "alpha-k-anonymity confidence-bounding continuous freeform k-anonymity l-diversity quasi-sensitive"
    )
    assert {*names.split(), "t-closeness"} <= set(known()) and list(known()) == sorted(known())
    entries = {next(iter(entry["properties"])): entry for entry in schema()["oneOf"]}
    assert tuple(entries) == known()
    kinds = entries["l-diversity"]["properties"]["l-diversity"]
    assert kinds["properties"]["kind"]["enum"] == ["distinct", "entropy", "recursive"]
    assert set(kinds["properties"]) == {"of", "l", "c", "kind", "values"}
    assert kinds["required"] == ["of", "l"]
    rules = {rule["if"]["properties"]["kind"]["const"]: rule for rule in kinds["allOf"]}
    assert ["required" in rules[kind]["if"] for kind in rules] == [False, True, True]
    assert rules["recursive"]["then"]["required"] == ["of", "l", "c"]
    assert rules["distinct"]["then"]["propertyNames"] == {"enum": ["of", "l", "values", "kind"]}
    assert set(entries["t-closeness"]["properties"]["t-closeness"]["properties"]) == {
        "of",
        "t",
        "distance",
        "reference",
        "values",
    }


def test_a_reference_file_is_found_beside_the_policy(tmp_path):
    (tmp_path / "prior.csv").write_text("value,count\nflu,3\n,1\n", encoding="utf-8-sig")
    promise = make("t-closeness", {"of": "d", "t": "1/5", "reference": "prior.csv"}, tmp_path)
    assert promise.reference.counts == ((None, 1), ("flu", 3))
    assert len(promise.reference.digest) == 64
    assert promise.evidence is Evidence.REFERENCE
    assert promise.parameters() == {"of": "d", "t": "1/5", "reference": "prior.csv"}
    assert "reference" in str(promise)
    inline = TCloseness("d", Fraction(1, 5), reference={"flu": 3, None: 1})
    assert make("t-closeness", inline.parameters()) == inline


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("flu,3\n", "line 1", "value,count"),
        ("", "line 1", "value,count"),
        ("value,count\nflu,3\nTB,some\n", "line 3", "whole number"),
        ("value,count\nflu,3\nTB\n", "line 3", "whole number"),
        ("value,count\nflu,-3\n", "line 2", "whole number"),
        ("value,count\nflu,3\nflu,4\n", "line 3", "earlier line"),
        ("value,count\nflu,0\n", "reference", "not all 0"),
        (None, "prior.csv", "not there"),
        (b"value,count\n\xff,1\n", "prior.csv", "cannot be read"),
    ],
)
def test_a_bad_reference_file_is_refused_by_line(tmp_path, text, where, words):
    if text is not None:
        (tmp_path / "prior.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadPolicy) as caught:
        make("t-closeness", {"of": "d", "t": "1/5", "reference": "prior.csv"}, tmp_path)
    assert where in caught.value.where and words in caught.value.message
    assert "flu" not in str(caught.value) and "TB" not in str(caught.value)


def test_reference_values_outside_the_taxonomy():
    """They weigh in the equal distance; without a place they have no other."""
    classes = plain.classes_of(Taxonomy.flat(["a", "b"], ordered=True), [{0: 1, 1: 1}])
    reference = {"a": 1, "b": 1, "canary": 2}
    assert TCloseness("s", 1, "equal", reference).verdict(classes).measured == Fraction(1, 2)
    for distance in ("ordered", "hierarchical"):
        with pytest.raises(BadPolicy, match="1 values that the taxonomy of s lacks") as caught:
            TCloseness("s", 1, distance, reference).holds_on(classes)
        assert "canary" not in str(caught.value) and caught.value.values == ("canary",)


def test_classes_without_the_column_are_a_wrong_call():
    classes = plain.classes_of(Taxonomy.flat(["a"]), [{0: 1}], column="other")
    with pytest.raises(UsageError, match="no histogram of s"):
        DistinctLDiversity("s", 2).holds_on(classes)


def test_promises_compose():
    both = KAnonymity(3) & DistinctLDiversity("s", 2) & TCloseness("t", 1)
    assert [p.name for p in both] == ["k-anonymity", "l-diversity", "t-closeness"]
    assert both.sensitive == ("s", "t")
    assert both.monotone and not both.hereditary
