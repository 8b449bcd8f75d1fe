"""Suppression against a loop over classes."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.search.suppression import keep
from sfumato.table.classes import Classes, histogram
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import all_recodings, tables


def classes_of(table, index):
    recodings = all_recodings(table)
    class_of, _ = classes_under(table, recodings[index % len(recodings)])
    return class_of


def in_rounds(table, class_of, promises):
    """Drop broken classes, count the rest from the rows, and begin again."""
    standing = sorted(set(class_of.tolist()))
    while True:
        rename = {c: i for i, c in enumerate(standing)}
        left = np.array([rename.get(c, -1) for c in class_of.tolist()], dtype=np.int32)
        truth = promises.holds_on(Classes.of(table, left))
        if all(truth):
            return set(standing)
        standing = [c for c, holds in zip(standing, truth.tolist(), strict=True) if holds]


@given(
    tables(rows=12, people=True), st.integers(0, 99), st.integers(1, 3), st.integers(1, 3), st.integers(0, 6)
)
def test_classes_are_dropped_until_none_breaks(table, index, k, values, t):
    promises = KAnonymity(k) & DistinctLDiversity("s0", values) & TCloseness("s0", Fraction(t, 6))
    class_of = classes_of(table, index)
    kept = keep(Classes.of(table, class_of), promises)
    assert set(np.flatnonzero(kept).tolist()) == in_rounds(table, class_of, promises)


@given(tables(rows=12), st.integers(0, 99), st.integers(0, 6))
def test_what_is_left_keeps_the_promises(table, index, t):
    promises = Promises((TCloseness("s0", Fraction(t, 6)),))
    classes = Classes.of(table, classes_of(table, index))
    kept = np.flatnonzero(keep(classes, promises))
    assert promises.holds_on(classes.pick(kept)).all()


@given(tables(rows=12), st.integers(0, 99), st.integers(1, 3), st.integers(0, 6), st.integers(0, 12))
def test_an_early_end_is_right_about_too_many(table, index, k, t, most):
    promises = KAnonymity(k) & TCloseness("s0", Fraction(t, 6))
    classes = Classes.of(table, classes_of(table, index))
    whole, early = keep(classes, promises), keep(classes, promises, most=most)
    if int(classes.rows[~whole].sum()) <= most:
        assert np.array_equal(early, whole)
    else:
        assert int(classes.rows[~early].sum()) > most
        assert not (whole & ~early).any()


def test_a_second_round_is_needed_when_the_published_distribution_moves():
    """Without the pure class the share of `a` falls from 0.6 to 0.47: too far from the class at 0.8."""
    class_of = np.array([0, 1, 1, 2, 2])
    values = np.array([0, 0, 1, 0, 1], dtype=np.int32)
    counts = np.array([10, 8, 2, 6, 14])
    h = histogram(Taxonomy.flat(["a", "b"]), class_of, values, counts, 3)
    classes = Classes(h.totals, h.totals, {"s": h})
    promises = Promises((TCloseness("s", Fraction(3, 10)),))
    assert promises.holds_on(classes).tolist() == [False, True, True]
    assert keep(classes, promises).tolist() == [False, False, True]


def test_without_promises_everything_is_kept():
    sizes = np.array([1, 2])
    assert keep(Classes(sizes, sizes), Promises(())).all()
    assert keep(Classes(sizes[:0], sizes[:0]), Promises((KAnonymity(2),))).tolist() == []
