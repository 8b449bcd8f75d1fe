"""Groups that stay published, followed step by step: always what judging all classes anew says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.beta_likeness.promise import BasicBetaLikeness
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search.groups import PublishedGroups, tells_margins
from sfumato.search.refinement import GroupSplit
from sfumato.search.suppression import keep
from sfumato.table.classes import Classes, histogram
from sfumato.table.taxonomy import Taxonomy

VALUES = Taxonomy.grow(
    ["*", "heart", "lung", "angina", "infarct", "asthma", "flu", "cough"], [-1, 0, 0, 1, 1, 2, 2, 2]
)
LEAVES = 5


def classes_of(group_of, values, counts):
    """The groups 0, 1, … of rows, each with a value and a count."""
    count = int(group_of.max(initial=-1)) + 1
    held = histogram(VALUES, group_of, values, counts, count)
    rows = np.bincount(group_of, weights=counts, minlength=count).astype(np.int64)
    return Classes(rows, rows, {"ill": held})


@st.composite
def divided_rows(draw):
    """Rows with values, and labels by which groups are divided, one after the other; and promises."""
    rows = draw(st.integers(3, 40))
    of_row = st.lists(st.integers(0, LEAVES - 1), min_size=rows, max_size=rows)
    values = np.array(draw(of_row), np.int32)
    counts = np.array(draw(st.lists(st.integers(1, 4), min_size=rows, max_size=rows)), np.int64)
    labels = [
        np.array(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
        for _ in range(draw(st.integers(1, 5)))
    ]
    below = [np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows))) for _ in labels]
    t = Fraction(draw(st.integers(0, 40)), 40)
    distance = draw(st.sampled_from(["equal", "hierarchical"]))
    fixed = [KAnonymity(draw(st.integers(1, 5))), DistinctLDiversity("ill", draw(st.integers(1, 3)))]
    promises = Promises((*fixed[: draw(st.integers(0, 2))], TCloseness("ill", t, distance)))
    return values, counts, list(zip(labels, below, strict=True)), promises


def divide(group_of, label, below):
    """A step as a search proposes it: groups with a row below the node are divided by labels, as a whole."""
    touched = np.isin(group_of, group_of[below])
    pairs, part = np.unique(group_of[touched] * 3 + label[touched], return_inverse=True)
    return touched, (pairs // 3).astype(np.int32), part


@pytest.mark.parametrize("lasting", [True, False])
@given(divided_rows(), st.data())
def test_the_groups_are_those_of_the_definition(lasting, made, data):
    values, counts, steps, promises = made
    group_of = np.zeros(len(values), np.int64)
    everything = classes_of(group_of, values, counts)
    first = Promises(tuple(p for p in promises.of_class if p.hereditary and lasting))
    rest = Promises(tuple(p for p in promises.of_class if p not in first.members))
    assert tells_margins(rest, everything)
    followed = PublishedGroups(everything, first.holds_on(everything), rest)
    overall = {"ill": everything.histograms["ill"].overall}
    for label, below in steps:
        np.testing.assert_array_equal(followed.kept, keep(classes_of(group_of, values, counts), promises))
        touched, parent, part = divide(group_of, label, below)
        if not touched.any():
            followed.forget()
            followed.accept()
            continue
        held = histogram(VALUES, part, values[touched], counts[touched], len(parent), overall=overall["ill"])
        rows = np.bincount(part, weights=counts[touched], minlength=len(parent)).astype(np.int64)
        change = GroupSplit(parent, rows, int(group_of.max()) + 1)
        parts = Classes(rows, rows, {"ill": held})
        after = group_of.copy()
        after[touched] = change.ids[part]
        expected = keep(classes_of(after, values, counts), promises)
        lost = int(counts.sum() - classes_of(after, values, counts).rows[expected].sum())
        most = data.draw(st.none() | st.integers(0, int(counts.sum())))
        found = followed.propose(change, parts, first.holds_on(parts), most=most)
        if most is not None and lost > most:
            assert found is None
        else:
            np.testing.assert_array_equal(found, expected)
        if data.draw(st.booleans()):
            followed.accept()
            group_of = after
    np.testing.assert_array_equal(followed.kept, keep(classes_of(group_of, values, counts), promises))


@given(divided_rows(), st.lists(st.integers(0, 30), min_size=LEAVES, max_size=LEAVES))
def test_an_answer_stays_as_long_as_the_table_moves_less_than_the_margin(made, other):
    values, counts, steps, promises = made
    closeness = promises.of_class[-1]
    classes = classes_of(np.unique(steps[0][0], return_inverse=True)[1], values, counts)
    held = classes.histograms["ill"]
    overall = np.array(other, np.int64)
    if not overall.sum():
        return
    margins, before = closeness.margins(classes), closeness.holds_on(classes)
    moved = np.abs(held.overall / held.overall.sum() - overall / overall.sum()).sum() / 2
    now = Classes(classes.people, classes.rows, {"ill": held.pick(np.arange(len(before)), overall=overall)})
    after = closeness.holds_on(now)
    safe = margins > moved + 1e-9
    np.testing.assert_array_equal(before[safe], after[safe])


def test_who_cannot_tell_margins_says_so():
    classes = classes_of(np.zeros(3, np.int64), np.arange(3, dtype=np.int32), np.ones(3, np.int64))
    assert TCloseness("ill", Fraction(1, 2), "ordered").margins(classes) is None
    assert not tells_margins(Promises((BasicBetaLikeness("ill", Fraction(1)),)), classes)
    assert tells_margins(Promises((KAnonymity(2),)), classes)
