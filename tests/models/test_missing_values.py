"""Empty cells hide nobody: shares are also those among the people who have a value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.draft.doctor import examine_table
from sfumato.models.attack_contract import PublishedTable
from sfumato.models.beta_likeness.promise import BasicBetaLikeness
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.l_diversity.attack import Homogeneity
from sfumato.models.parameters import ReferenceDistribution
from sfumato.models.t_closeness.attack import Skewness
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.system.verdict import AttackLimits
from sfumato.table.classes import Classes, histogram
from sfumato.table.microdata import Role
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from sfumato.testing.promises import check_promise
from verify.both import first_verdicts, recheck

HALF = Fraction(1, 2)
LABELS = ["HIV", "flu", "cold", None]
CONFIDENCE = {"confidence-bounding": {"of": "dx", "confidence": "1/2"}}
ALPHA = {"alpha-k-anonymity": {"of": "dx", "alpha": "1/2", "k": 2}}
GAIN = {"beta-likeness": {"of": "dx", "beta": "1/2", "kind": "basic"}}
CLOSE = {"t-closeness": {"of": "dx", "t": "1/3", "distance": "equal"}}
ORDERED = {"t-closeness": {"of": "dx", "t": "1/4", "distance": "ordered"}}
NESTED = {"t-closeness": {"of": "dx", "t": "1/4", "distance": "hierarchical"}}
ALL = (CONFIDENCE, ALPHA, GAIN, CLOSE, ORDERED, NESTED)
CLAIMING = [ConfidenceBounding("s", HALF), BasicBetaLikeness("s", 2), TCloseness("s", HALF)]
counts = st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any), min_size=1, max_size=4)


def policy(*promises):
    columns = {"zip": {"role": "quasi"}, "dx": {"role": "sensitive"}}
    return sf.Policy.from_dict({"columns": columns, "promises": list(promises)})


def classes_of(grid):
    held = np.array(grid)
    owner, values = np.nonzero(held)
    one = histogram(Taxonomy.flat(LABELS), owner, values.astype(np.int32), held[owner, values], len(grid))
    return Classes(one.totals, one.totals, {"dx": one})


def guesses(row):
    """The largest share of a value among those who have one, and the share of those who have none."""
    *known, missing = row
    return max(Fraction(max(known), sum(known) or 1), Fraction(missing, sum(row)))


def table(rows):
    return pd.DataFrame(rows, columns=["zip", "dx"])


@pytest.mark.parametrize("promise", [ConfidenceBounding("dx", HALF), AlphaKAnonymity("dx", HALF, 2)], ids=str)
@given(grid=counts)
def test_a_share_is_one_of_those_who_have_a_value(promise, grid):
    expected = [guesses(row) <= HALF and sum(row) >= promise.least_people for row in grid]
    classes = classes_of(grid)
    assert promise.holds_on(classes).tolist() == expected
    assert promise.verdict(classes).measured == max(map(guesses, grid))


def furthest(grid, distance):
    """The largest distance of each class from all, among everybody and among those who have a value."""
    furthest = [Fraction(0)] * len(grid)
    for rows in (grid, [row[:-1] for row in grid]):
        whole = [sum(column) for column in zip(*rows, strict=True)]
        occurs = [place for place, count in enumerate(whole) if count]
        for place, row in enumerate(rows):
            if sum(row):
                excess = [Fraction(row[v], sum(row)) - Fraction(whole[v], sum(whole)) for v in occurs]
                carried = list(accumulate(excess))
                apart = sum(map(abs, carried)) / max(1, len(occurs) - 1)
                equal = sum(each for each in excess if each > 0)
                furthest[place] = max(furthest[place], apart if distance == "ordered" else equal)
    return furthest


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@given(grid=counts)
def test_a_distance_is_also_one_among_those_who_have_a_value(distance, grid):
    promise, expected = TCloseness("dx", Fraction(1, 3), distance), furthest(grid, distance)
    classes = classes_of(grid)
    assert promise.holds_on(classes).tolist() == [each <= promise.t for each in expected]
    assert promise.verdict(classes).measured == max(expected)


def test_values_beside_a_reference_are_compared_among_those_who_have_one():
    promise = TCloseness("dx", HALF, "equal", ReferenceDistribution.of({"HIV": 1, "flu": 1, None: 2}))
    classes = classes_of([[2, 0, 0, 2], [1, 1, 0, 2]])
    assert promise.verdict(classes).measured == HALF, "all of two have HIV, and half are expected to"
    assert promise.holds_on(classes_of([[4, 0, 0, 4], [0, 0, 1, 7]])).tolist() == [True, False]


def test_a_skewed_class_is_found_among_those_who_have_a_value():
    rows = [("a", "HIV")] * 2 + [("a", None)] * 8 + [("b", "flu")] * 2 + [("b", None)] * 8
    roles = {"zip": Role.QUASI, "dx": Role.SENSITIVE}
    (found,) = Skewness().strike(PublishedTable.read(open_source(table(rows)), roles), AttackLimits.of([]))
    assert (found.breach, found.details["largest distance"], found.people) == (False, HALF, 0)
    bounds = [bound for promise in policy(CLOSE).promises for bound in promise.limits()]
    published = PublishedTable.read(open_source(table(rows)), roles)
    (found,) = Skewness().strike(published, AttackLimits.of(bounds))
    assert (found.breach, found.people) == (True, 20)


def test_empty_cells_do_not_make_a_guess_less_sure():
    two_of_four = classes_of([[2, 0, 0, 2], [1, 1, 0, 2], [0, 0, 0, 4]])
    found = ConfidenceBounding("dx", HALF).verdict(two_of_four)
    assert (found.holds, found.measured, found.classes, found.people) == (False, 1, 2, 8)
    assert ConfidenceBounding("dx", HALF).holds_on(two_of_four).tolist() == [False, True, False]


@pytest.mark.parametrize("promise", CLAIMING, ids=str)
def test_what_they_claim_is_true_where_cells_are_missing(promise):
    check_promise(promise, tables=200, seed=5)


@given(grid=counts, words=st.sampled_from(["", "n/a", "unknown"]))
def test_both_judges_agree(tmp_path_factory, grid, words):
    texts = ["HIV", "flu", "cold", words]
    rows = [(f"z{z}", texts[v]) for z, row in enumerate(grid) for v, n in enumerate(row) for _ in range(n)]
    path, rule = (
        tmp_path_factory.mktemp("judged") / "published.csv",
        policy(CONFIDENCE, ALPHA, GAIN, CLOSE, ORDERED, NESTED),
    )
    table(rows).to_csv(path, index=False)
    for one, other in zip(first_verdicts(path, rule), recheck(path, rule), strict=True):
        assert replace(one, worst=None) == replace(other, worst=None)


def test_who_has_a_value_in_one_row_only_counts_among_those_without():
    rule = policy(CONFIDENCE)
    rows = table([("a", "HIV"), ("a", None), ("a", "flu"), ("a", "flu"), ("a", None)])
    source = open_source(rows.assign(who=[1, 1, 2, 2, 3]))
    counted = source.count(rule.codings, missing=rule.missing, person="who")
    held = Classes.of(counted, np.zeros(len(counted.counts), np.int64))
    assert held.people.tolist() == [3]
    assert ConfidenceBounding("dx", HALF).verdict(held).measured == 1, "one of the one who is left"


def test_an_attacker_asks_those_who_have_a_value():
    rows = [("a", "HIV"), ("a", "HIV"), ("a", None), ("a", None), ("b", "flu"), ("b", "HIV"), ("b", None)]
    roles = {"zip": Role.QUASI, "dx": Role.SENSITIVE}
    published = PublishedTable.read(open_source(table(rows)), roles)
    kept = policy(CONFIDENCE).promises
    (found,) = Homogeneity().strike(published, AttackLimits.of(b for p in kept for b in p.limits()))
    assert (found.confidence, found.breach, found.people) == (1, True, 4)
    assert found.details["people exposed with certainty"] == 2, "of two nothing is there to be learned"
    assert found.values == {"zip": "a", "dx": "HIV"}


def test_that_there_is_no_value_is_guessed_with_the_share_of_all():
    rows = [("a", None)] * 3 + [("a", "flu"), ("a", "HIV")]
    roles = {"zip": Role.QUASI, "dx": Role.SENSITIVE}
    published = PublishedTable.read(open_source(table(rows)), roles)
    bounds = [b for p in policy(CONFIDENCE).promises for b in p.limits()]
    (free,), (bound,) = (Homogeneity().strike(published, AttackLimits.of(some)) for some in ([], bounds))
    assert (free.confidence, free.breach) == (Fraction(3, 5), False)
    assert (bound.breach, bound.values["dx"]) == (True, None)


def test_what_is_protected_shows_nobody_who_has_a_value():
    rows = [("a", "HIV"), ("a", "HIV"), ("a", None), ("a", None)]
    rows += [("b", v) for v in ("flu", "cold", "HIV", "flu", "cold", None)]
    safe = sf.protect(table(rows), policy(CONFIDENCE)).apply(table(rows))
    assert sf.audit(safe, policy(CONFIDENCE)).holds is True
    assert safe["zip"].nunique() == 1, "the four of zip a are not published by themselves"


@pytest.mark.parametrize(
    ("promise", "said"),
    [
        (
            CONFIDENCE,
            "it is empty in 75% of rows: `confidence-bounding` counts among the rows that have a value,"
            " and allows a share of 1/2 without one",
        ),
        (GAIN, "it is empty in 75% of rows: `beta-likeness` counts among the rows that have a value"),
        (CLOSE, "it is empty in 75% of rows: `t-closeness` counts among the rows that have a value"),
        ({"k-anonymity": {"k": 2}}, None),
    ],
)
def test_the_price_of_a_sparse_column_is_told(promise, said):
    rows = [("a", "HIV"), ("a", "flu"), *[("a", None)] * 4, *[("b", "n/a")] * 2]
    told = examine_table(policy(promise), open_source(table(rows)).survey())
    assert [each.what for each in told if each.name == "sparse"] == ([] if said is None else [said])


def test_a_full_column_costs_nothing():
    rows = [("a", "HIV"), ("a", "flu")] * 10 + [("a", None)]
    told = examine_table(policy(CONFIDENCE), open_source(table(rows)).survey())
    assert not [each for each in told if each.name == "sparse"]
