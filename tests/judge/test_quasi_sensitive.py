"""The second judge of quasi-sensitive promises, against the definitions and against the first."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from judge.both import told
from oracles import beliefs as plain
from sfumato.core.classes import Classes, Histogram
from sfumato.core.knowledge import Knowledge
from sfumato.core.prior import Prior
from sfumato.core.taxonomy import Taxonomy
from sfumato.core.term_sets import text_of
from sfumato.judge.registry import judge_of
from sfumato.judge.tables.tally import Tally, ValueCounts
from sfumato.judge.taxonomies.column_trees import value_tree
from sfumato.promises import QuasiSensitiveCloseness, QuasiSensitiveDiversity

TERMS = "abcde"
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


def test_a_prior_of_the_original_table_cannot_be_guessed():
    promise = QuasiSensitiveCloseness("s", Knowledge.of([("A", "x")]), t=1)
    assert second(promise, counted([[("x",)]])[0]).holds is None
