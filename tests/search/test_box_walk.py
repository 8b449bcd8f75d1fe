"""The box walk makes the classes that a walk over dictionaries makes, in the same order."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.checks import crowded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search import local as box_walk
from sfumato.search.contract import Aim
from sfumato.search.key_groups import KeyGroups
from sfumato.search.local import GroupJudge, LevelLattice, neighbours_of, walk_boxes


def boxes_of_node(groups, lattice, node, band, least, class_of):
    """The large boxes of free groups at one level vector, as lists of groups, by their first groups."""
    found, (low, high) = {}, band.tolist()
    (one, two), (first, second) = lattice.halves, node.tolist()
    for group, made in enumerate(class_of):
        a, b = one.value[group], two.value[group]
        if made is None and low < int(one.price[first, a]) + int(two.price[second, b]) <= high:
            found.setdefault((one.box[first, a], two.box[second, b]), []).append(group)
    return [box for box in found.values() if sum(groups.weight[box].tolist()) >= least]


def walked_over_dictionaries(groups, lattice, judge):
    """All that `walk_boxes` says, group by group."""
    class_of, count = [None] * len(groups), 0
    for band in box_walk._bands(groups.leaf.shape[1]):
        nodes, done, repeats = lattice.nodes_in(band), 0, 0
        while done < len(nodes):
            boxes, looked = [], 0
            while done + looked < len(nodes) and sum(map(len, boxes)) < box_walk.JUDGED_TOGETHER:
                node = nodes[done + looked]
                boxes += boxes_of_node(groups, lattice, node, band, judge.least, class_of)
                looked += 1
                if judge.by_size:
                    break
            good = [
                box
                for box in boxes
                if judge.by_size or judge.holds(np.array(box), np.array([0, len(box)]))[0]
            ]
            before = count
            for box in good:
                if all(class_of[group] is None for group in box):
                    for group in box:
                        class_of[group] = count
                    count += 1
            repeats = repeats + 1 if count - before < len(good) else box_walk.MOST_REPEATS
            if repeats >= box_walk.MOST_REPEATS:
                done, repeats = done + looked, 0
    return [-1 if made is None else made for made in class_of], count


@pytest.mark.parametrize("together", [20, box_walk.JUDGED_TOGETHER])
@given(st.integers(0, 10**6), st.integers(2, 9), st.booleans(), st.sampled_from([4, 9, 10**5]))
def test_boxes_are_walked_as_dictionaries_are(together, seed, k, judged, vectors):
    table = crowded(seed, rows=80, keys=4)
    promises = Promises((KAnonymity(k), *([DistinctLDiversity("s0", 2)] if judged else [])))
    groups = KeyGroups.of(table, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_walk, "JUDGED_TOGETHER", together)
        patch.setattr(box_walk, "MOST_LEVEL_VECTORS", vectors)
        lattice = LevelLattice.of(groups, neighbours_of(groups), 3)
        judge = GroupJudge(groups, promises, Aim())
        class_of, count = walk_boxes(groups, lattice, judge)
        assert (class_of.tolist(), count) == walked_over_dictionaries(groups, lattice, judge)
    assert class_of.dtype == np.int32


@pytest.mark.parametrize("least", [1, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 50])
def test_rows_beyond_32_bits_are_counted(least):
    groups = KeyGroups.of(crowded(7, rows=90, keys=4), {})
    weight = np.random.default_rng(1).choice([1, 1 << 19, 1 << 30, 1 << 39], len(groups)).astype(np.int64)
    groups = replace(groups, weight=weight)
    lattice = LevelLattice.of(groups, neighbours_of(groups), 3)
    judge = SimpleNamespace(least=least, by_size=True)
    class_of, count = walk_boxes(groups, lattice, judge)
    assert (class_of.tolist(), count) == walked_over_dictionaries(groups, lattice, judge)
    assert (count > 0) == (least < 1 << 50)
