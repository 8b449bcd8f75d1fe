"""The second judge of quasi-sensitive promises, against the definitions and against the first."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oracles import beliefs as plain
from sfumato.models.contract import Prior
from sfumato.models.quasi_sensitive.knowledge import DISTANCES, Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.table.classes import Classes, Histogram
from sfumato.table.microdata import text_of
from sfumato.table.taxonomy import Taxonomy
from sfumato.verify.registry import judge_of
from sfumato.verify.tally import Tally, ValueCounts
from sfumato.verify.trees import value_tree
from verify.both import told

TERMS = "abcde"
COMMON = st.fixed_dictionaries({label: st.sampled_from([1, 2, 3, 7, Fraction(1, 5)]) for label in "VWXYZ"})
KNOWN = st.lists(
    st.tuples(st.sampled_from("VWXYZ"), st.sets(st.sampled_from(TERMS), min_size=1).map(sorted)),
    min_size=1,
    max_size=7,
)
GROUPS = st.lists(
    st.lists(st.sets(st.sampled_from(TERMS), max_size=4).map(sorted).map(tuple), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
)


def counted(groups):
    """The same classes for both judges."""
    texts = sorted({text_of(row) for group in groups for row in group})
    pairs = sorted((i, texts.index(text_of(row))) for i, group in enumerate(groups) for row in group)
    entries = sorted(set(pairs))
    owner, value = (np.array([e[j] for e in entries], np.int64) for j in (0, 1))
    count = np.array([pairs.count(e) for e in entries], np.int64)
    sizes = np.array([len(group) for group in groups], np.int64)
    tree = Taxonomy.flat(texts)
    overall = np.bincount(value, count, len(texts)).astype(np.int64)
    start = np.searchsorted(owner, np.arange(len(groups) + 1))
    held = Histogram(tree, start, value.astype(np.int32), count, overall)
    ours = value_tree({"flat": texts}, [])
    assert ours.values == tree.leaf_labels
    tally = Tally(sizes, sizes, {"s": ValueCounts(owner, value, count, ours)})
    return tally, Classes(sizes, sizes, {"s": held})


def second(promise, tally):
    return judge_of(told(promise))(tally, told(promise))


@given(KNOWN, GROUPS, st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(2)]), st.integers(1, 4))
def test_diversity(known, groups, c, few):
    promise = QuasiSensitiveDiversity("s", Knowledge.of(known), l=few, c=c)
    tally, classes = counted(groups)
    said, first = second(promise, tally), promise.verdict(classes)
    truth = [plain.diverse(known, group, c, few) for group in groups]
    assert promise.holds_on(classes).tolist() == truth
    assert said.holds == first.holds == all(truth)
    assert said.classes == first.classes == truth.count(False)
    assert said == first


@given(KNOWN, GROUPS, st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]))
def test_closeness(known, groups, t):
    before = plain.prior(known, [row for group in groups for row in group])
    promise = QuasiSensitiveCloseness("s", Knowledge.of(known), t=t, prior=Prior.of(before))
    tally, classes = counted(groups)
    said, first = second(promise, tally), promise.verdict(classes)
    far = [plain.squared_distance(known, group, before) for group in groups]
    assert promise.holds_on(classes).tolist() == [d <= t * t for d in far]
    assert said.holds == first.holds == all(d <= t * t for d in far)
    assert said == first and first.measured == max(far)


@given(KNOWN, GROUPS, st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(2)]), st.integers(1, 4), COMMON)
def test_diversity_where_labels_differ_in_prevalence(known, groups, c, few, common):
    promise = QuasiSensitiveDiversity("s", Knowledge.of(known), l=few, c=c, prevalence=common)
    tally, classes = counted(groups)
    truth = [plain.diverse(known, group, c, few, common) for group in groups]
    assert promise.holds_on(classes).tolist() == truth
    assert second(promise, tally) == promise.verdict(classes)


@given(
    KNOWN,
    GROUPS,
    st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)]),
    COMMON,
    st.sampled_from(DISTANCES),
    st.sampled_from(["mean", "count", "uniform", "prevalence"]),
)
def test_closeness_by_every_distance(known, groups, t, common, name, rule):
    rows = [row for group in groups for row in group]
    if rule == "count" and not any(plain.linked(known, row) for row in rows):
        rule = "mean"
    before = plain.prior(known, rows, rule, common)
    asked = QuasiSensitiveCloseness(
        "s", Knowledge.of(known), t=t, prior=rule, distance=name, prevalence=common
    )
    tally, classes = counted(groups)
    whole = counted([rows])[1]
    promise = asked.bound(whole)
    assert dict(promise.prior.shares) == {label: share for label, share in before.items() if share}
    far = [plain.distance(known, group, before, name, common) for group in groups]
    assert promise.holds_on(classes).tolist() == [d <= promise.limits()[0].most for d in far]
    assert second(promise, tally) == promise.verdict(classes)
    assert promise.verdict(classes).measured == max(far)
    if rule in ("uniform", "prevalence"):
        assert second(asked, tally).holds == promise.verdict(classes).holds


def test_a_prior_of_the_original_table_cannot_be_guessed():
    promise = QuasiSensitiveCloseness("s", Knowledge.of([("A", "x")]), t=1)
    assert second(promise, counted([[("x",)]])[0]).holds is None
