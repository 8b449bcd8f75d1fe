"""Earth mover's distances: compiled on 64 bits, or on whole numbers of any size."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.parameters import ReferenceDistribution
from sfumato.models.t_closeness.promise import ComparedClasses, TCloseness, equal, hierarchical
from sfumato.table.classes import Classes, histogram
from sfumato.table.taxonomy import Taxonomy
from strategies import taxonomies


def classes_of(tree, counts):
    """Classes whose values are counted by leaf rank, as a whole table."""
    owner, values = np.nonzero(counts)
    table = np.array(counts, np.int64).reshape(len(counts), -1)
    held = histogram(tree, owner, values.astype(np.int32), table[owner, values], len(counts))
    return Classes(table.sum(axis=1), table.sum(axis=1), {"s": held})


@pytest.mark.parametrize("costs", [equal, hierarchical])
@given(tree=taxonomies(leaves=7), data=st.data())
def test_compiled_costs_are_those_of_whole_numbers(costs, tree, data):
    leaves = len(tree.leaves)
    counts = st.lists(st.integers(0, 40), min_size=leaves, max_size=leaves)
    classes = data.draw(st.lists(counts.filter(any), min_size=1, max_size=4))
    target = np.array(data.draw(counts.filter(any)), np.int64)
    owner, values = np.nonzero(classes)
    held = histogram(
        tree, owner, values.astype(np.int32), np.array(classes)[owner, values].astype(np.int64), len(classes)
    )
    compared = ComparedClasses(held, target, int(target.sum()) + data.draw(st.integers(0, 9)))
    assert costs(compared, np.int64).tolist() == costs(compared, object).tolist()


@pytest.mark.parametrize("distance", ["equal", "hierarchical"])
@given(tree=taxonomies(leaves=4), data=st.data())
def test_no_part_beside_a_reference_is_larger_than_the_bound(distance, tree, data):
    counts = st.lists(st.integers(0, 5), min_size=len(tree.leaves), max_size=len(tree.leaves)).filter(any)
    whole, target = data.draw(counts), data.draw(counts)
    t = data.draw(st.fractions(0, 1, max_denominator=12))
    reference = ReferenceDistribution.of(dict(zip(tree.leaf_labels, target, strict=True)))
    promise = TCloseness("s", t, distance, reference)
    parts = [part for part in product(*(range(n + 1) for n in whole)) if any(part)]
    within = promise.holds_on(classes_of(tree, parts))
    largest = max((sum(part) for part, holds in zip(parts, within, strict=True) if holds), default=0)
    (bound,) = promise.most_kept(classes_of(tree, [whole]), 0)
    assert largest <= bound <= sum(whole)


@pytest.mark.parametrize("distance", ["equal", "hierarchical"])
@given(tree=taxonomies(leaves=3), data=st.data())
def test_no_split_keeps_more_than_the_bound(distance, tree, data):
    """Whatever is suppressed of two classes, what is left of each is within t of what is left of both."""
    counts = st.lists(st.integers(0, 3), min_size=len(tree.leaves), max_size=len(tree.leaves)).filter(any)
    both = [data.draw(counts), data.draw(counts)]
    spare = data.draw(st.integers(0, 6))
    promise = TCloseness(
        "s", data.draw(st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1, 2)])), distance
    )
    bound = promise.most_kept(classes_of(tree, both), spare)
    total = sum(map(sum, both))
    for left in product(*(product(*(range(n + 1) for n in one)) for one in both)):
        kept = [part for part in left if any(part)]
        if sum(map(sum, left)) < total - spare or not kept:
            continue
        if promise.holds_on(classes_of(tree, kept)).all():
            assert all(sum(part) <= most for part, most in zip(left, bound.tolist(), strict=True))


@pytest.mark.parametrize(
    ("t", "distance", "most"),
    [
        *((Fraction(0), "equal", 2), (Fraction(1, 4), "equal", 4), (Fraction(2, 5), "equal", 10)),
        *((Fraction(0), "hierarchical", 2), (Fraction(1), "equal", 10)),
    ],
)
def test_a_class_far_from_the_reference_keeps_few(t, distance, most):
    """Of 9 and 1 beside a half each, 1 and 1 are no distance away, and 3 and 1 a quarter."""
    reference = ReferenceDistribution.of({"a": 1, "b": 1})
    classes = classes_of(Taxonomy.flat(["a", "b"]), [[9, 1]])
    assert TCloseness("s", t, distance, reference).most_kept(classes, 0).tolist() == [most]


def test_the_ordered_distance_tells_no_bound():
    tree = Taxonomy.flat(["a", "b"])
    assert TCloseness("s", Fraction(1, 2), "ordered").most_kept(classes_of(tree, [[1, 2]]), 1) is None
