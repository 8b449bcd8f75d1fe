"""Promises about some values of a column, against their definition in fractions and loops."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models.attack_contract import PublishedTable
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.l_diversity.attack import Homogeneity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.registry import make
from sfumato.models.t_closeness.attack import Skewness
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.system.errors import BadPolicy
from sfumato.system.verdict import AttackLimits, PromiseStrength, missing_strengths
from sfumato.table.microdata import Role
from sfumato.table.source import open_source
from sfumato.testing.promises import check_promise
from sfumato.workflows.confirm import check_policy
from verify.both import first_verdicts, recheck

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
TEXTS = ["HIV", "hiv ", "flu", "cold", "n/a"]
"""Two spellings of one value, two values, and a text that says nothing."""
MEANT = ["hiv", "hiv", "flu", "cold", None]
grids = st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any), min_size=1, max_size=4)
named = st.sampled_from([("HIV",), ("H.I.V.",), ("flu", "HIV"), ("cold", "plague"), ("n/a", "flu")])
shares = st.fractions(Fraction(1, 12), 1, max_denominator=12)
MEANING = {"HIV": "hiv", "H.I.V.": "hiv", "flu": "flu", "cold": "cold", "plague": "plague", "n/a": None}


def published(grid):
    rows = [(f"z{z}", TEXTS[v]) for z, row in enumerate(grid) for v, n in enumerate(row) for _ in range(n)]
    return pd.DataFrame(rows, columns=["zip", "dx"])


def policy(*promises, **column):
    columns = {"zip": {"role": "quasi"}, "dx": {"role": "sensitive", **column}}
    return sf.Policy.from_dict({"columns": columns, "promises": list(promises)})


def share(row, value):
    known = sum(n for n, meant in zip(row, MEANT, strict=True) if meant is not None)
    having = sum(n for n, meant in zip(row, MEANT, strict=True) if meant == value)
    return Fraction(having, known) if known else Fraction(0)


def excess(grid, values, *, beside=None):
    """Class by class, by how much a named value exceeds what it is compared with, at most."""
    whole = [sum(column) for column in zip(*grid, strict=True)]
    sought = [MEANING[value] for value in values if MEANING[value] is not None]
    expected = {value: beside(whole, value) if beside else Fraction(0) for value in sought}
    return [max((share(row, v) - expected[v] for v in sought), default=Fraction(0)) for row in grid]


def in_reference(_whole, value):
    return {"hiv": Fraction(1, 4), "flu": HALF}.get(value, Fraction(0))


@settings(max_examples=80, deadline=None)
@given(grid=grids, values=named, limit=shares, k=st.integers(1, 6), least=st.integers(1, 4))
def test_shares_are_those_of_the_definition(tmp_path_factory, grid, values, limit, k, least):
    """Both implementations, on the bytes that are published."""
    reference = {"HIV": 1, "hiv": 1, "flu": 4, "mumps": 2, "n/a": 9}
    names, text = list(values), str(limit)
    rule = policy(
        {"confidence-bounding": {"of": "dx", "confidence": text, "values": names}},
        {"alpha-k-anonymity": {"of": "dx", "alpha": text, "k": k, "values": names}},
        {"l-diversity": {"of": "dx", "l": least, "values": names}},
        {"t-closeness": {"of": "dx", "t": text, "values": names}},
        {"t-closeness": {"of": "dx", "t": text, "values": names, "reference": reference}},
    )
    alone, moved = excess(grid, values), excess(grid, values, beside=share)
    beside = excess(grid, values, beside=in_reference)
    small = [sum(row) < k for row in grid]
    cases = [
        (alone, limit, [a > limit for a in alone]),
        (alone, limit, [a > limit or few for a, few in zip(alone, small, strict=True)]),
        (alone, Fraction(1, least), [a > Fraction(1, least) for a in alone]),
        (moved, limit, [a > limit for a in moved]),
        (beside, limit, [a > limit for a in beside]),
    ]
    path = tmp_path_factory.mktemp("judged") / "published.csv"
    published(grid).to_csv(path, index=False)
    ours, judged = first_verdicts(path, rule), recheck(path, rule)
    for one, other, (above, most, broken) in zip(ours, judged, cases, strict=True):
        assert replace(one, worst=None) == replace(other, worst=None)
        assert one.holds == (not any(broken)) and one.classes == sum(broken)
        assert one.people == sum(sum(row) for row, bad in zip(grid, broken, strict=True) if bad)
        assert (one.measured, one.limit) == (max(0, *above), most)


@pytest.mark.parametrize(
    "promise",
    [
        ConfidenceBounding("s", HALF, ("v0", "v2")),
        AlphaKAnonymity("s", THIRD, 3, ("v1",)),
        DistinctLDiversity("s", 3, ("v0", "v1")),
        TCloseness("s", Fraction(1, 5), values=("v0", "v3")),
        TCloseness("s", Fraction(1, 5), reference={"v0": 1, "v1": 3}, values=("v0",)),
    ],
    ids=str,
)
def test_what_they_claim_is_true(promise):
    check_promise(promise, tables=150, seed=3)


def test_every_text_is_a_value_where_the_policy_says_so():
    rows = published([[2, 1, 3, 0, 0]])
    for spelling, holds in (("folded", False), ("exact", True)):
        bound = {"confidence-bounding": {"of": "dx", "confidence": "1/3", "values": ["HIV"]}}
        (verdict,) = first_verdicts(rows, policy(bound, spelling=spelling))
        assert verdict.holds is holds


def test_numbers_and_truths_are_read_as_tables_write_them():
    assert ConfidenceBounding("s", HALF, [1, True, 2.0, np.int64(3)]).values == ("1", "true", "2", "3")
    assert ConfidenceBounding("s", HALF, ["yes", "yes"]).values == ("yes",)
    assert make("l-diversity", {"of": "s", "l": 2, "values": ["yes"]}).parameters()["values"] == ["yes"]


@pytest.mark.parametrize("values", [[], "yes", ["yes", None], [""], {"yes": 1}, [["yes"]]])
def test_what_is_no_list_of_values_is_refused(values):
    with pytest.raises(BadPolicy, match="list of values"):
        ConfidenceBounding("s", HALF, values)


def test_values_have_no_distance_and_other_kinds_of_diversity_no_values():
    with pytest.raises(BadPolicy, match="without a distance"):
        TCloseness("s", HALF, "ordered", values=["yes"])
    for kind in ("entropy", "recursive"):
        with pytest.raises(BadPolicy, match="has no parameter values"):
            make("l-diversity", {"of": "s", "l": 2, "kind": kind, "values": ["yes"]})


def test_a_promise_names_no_value_in_its_words():
    for promise in (ConfidenceBounding("s", HALF, ["HIV"]), TCloseness("s", HALF, values=["HIV", "flu"])):
        words = f"{promise} {promise.in_words()}"
        assert "HIV" not in words and "flu" not in words and "{" not in words
        assert promise.in_words().endswith("Its other values are not protected.")


def lacking(now, before):
    stated = [PromiseStrength.from_dict(strength.as_dict()) for strength in now.strengths()]
    return bool(missing_strengths([stated], [before.strengths()]))


def test_whoever_protects_more_values_is_stricter():
    one, two = ConfidenceBounding("s", HALF, ["a"]), ConfidenceBounding("s", THIRD, ["b", "a"])
    every = ConfidenceBounding("s", HALF)
    assert not lacking(two, one) and lacking(one, two)
    assert not lacking(every, one) and lacking(one, every) and lacking(every, two)
    assert not lacking(AlphaKAnonymity("s", HALF, 3, ["a", "b"]), one)
    assert lacking(DistinctLDiversity("s", 2), DistinctLDiversity("s", 2, ["a"])), "two values, at any shares"
    assert not lacking(DistinctLDiversity("s", 3, ["a", "b"]), DistinctLDiversity("s", 2, ["a"]))
    assert lacking(TCloseness("s", HALF), TCloseness("s", HALF, values=["a"]))
    assert not lacking(TCloseness("s", THIRD, values=["a"]), TCloseness("s", HALF, values=["a"]))


def strike(attack, grid, *promises):
    roles = {"zip": Role.QUASI, "dx": Role.SENSITIVE}
    rule = policy(*promises)
    builds = {coding.name: coding.build for coding in rule.codings if not coding.role.is_key}
    table = PublishedTable.read(open_source(published(grid)), roles, builds=builds)
    (found,) = attack.strike(table, AttackLimits.of(b for p in rule.promises for b in p.limits()))
    return found


def test_an_attacker_seeks_what_is_protected_and_counts_the_rest():
    bound = {"confidence-bounding": {"of": "dx", "confidence": "1/2", "values": ["HIV"]}}
    common = [[0, 0, 7, 0, 0], [1, 1, 2, 0, 1], [0, 0, 0, 0, 3]]
    found = strike(Homogeneity(), common, bound)
    assert (found.breach, found.people, found.confidence) == (False, 0, HALF)
    assert found.details["people certain of values not protected"] == 10
    assert "not protected: other values, certain for 10 people" in found.sentence
    sure = strike(Homogeneity(), [*common, [1, 2, 1, 0, 0], [2, 1, 0, 0, 2]], bound)
    assert (sure.breach, sure.people, sure.confidence) == (True, 9, 1)
    assert sure.details["people exposed with certainty"] == 3


def test_an_attacker_measures_what_a_named_value_gains():
    bound = {"t-closeness": {"of": "dx", "t": "1/4", "values": ["HIV"]}}
    rare = [[0, 0, 6, 0, 0], [1, 1, 2, 0, 4], [0, 0, 0, 2, 0]]
    found = strike(Skewness(), rare, bound)
    assert found.details["largest distance"] == HALF - Fraction(2, 12)
    assert (found.breach, found.people) == (True, 8)
    assert not strike(Skewness(), rare, {"t-closeness": {"of": "dx", "t": "1/3", "values": ["HIV"]}}).breach


def test_values_that_do_not_occur_are_told_and_so_are_other_spellings():
    rows = published([[2, 1, 3, 1, 1]])
    bound = {"confidence-bounding": {"of": "dx", "confidence": 1, "values": ["H.I.V.", "flu", "plague"]}}
    kinds = {"no-such-value": ("warning", ("plague",)), "spelled": ("note", ("H.I.V.",))}
    told = {d.name: (d.gravity, d.values) for d in check_policy(policy(bound), rows) if d.name in kinds}
    assert told == kinds
    exact = policy(bound, spelling="exact")
    (found,) = [d for d in check_policy(exact, rows) if d.name in kinds]
    assert (found.name, found.count) == ("no-such-value", 2) and "another spelling" in found.remedy
    assert "plague" not in str(found)
