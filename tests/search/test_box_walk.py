"""The box walk makes the classes that a walk over dictionaries makes, in the same order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.checks import crowded
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity
from sfumato.search import local as box_walk
from sfumato.search.contract import Aim
from sfumato.search.key_groups import KeyGroups
from sfumato.search.local import GroupJudge, LevelLattice, neighbours_of, walk_boxes
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy


def boxes_of_node(groups, lattice, node, band, least, class_of):
    """The large boxes of free groups at one level vector, as lists of groups, by their first groups."""
    found, (low, high) = {}, band.tolist()
    (one, two), (first, second) = lattice.halves, node.tolist()
    for group, made in enumerate(class_of):
        a, b = one.value[group], two.value[group]
        if made is None and low < int(one.price[first, a]) + int(two.price[second, b]) <= high:
            found.setdefault((one.box[first, a], two.box[second, b]), []).append(group)
    return [box for box in found.values() if sum(groups.weight[box].tolist()) >= least]


def is_kept(judge, box):
    return judge.holds(np.array(box), np.array([0, len(box)]))[0]


def walked_over_dictionaries(groups, lattice, judge, values=None):
    """All that `walk_boxes` says, group by group; `values` judges who has values enough to be looked at."""
    class_of, count = [None] * len(groups), 0
    for band in box_walk._bands(groups.leaf.shape[1]):
        nodes, done, repeats = lattice.nodes_in(band), 0, 0
        while done < len(nodes):
            boxes, looked = [], 0
            while done + looked < len(nodes) and sum(map(len, boxes)) < box_walk.JUDGED_TOGETHER:
                node = nodes[done + looked]
                large = boxes_of_node(groups, lattice, node, band, judge.least, class_of)
                boxes += [box for box in large if values is None or is_kept(values, box)]
                looked += 1
                if judge.by_counts:
                    break
            good = [box for box in boxes if judge.by_size or is_kept(judge, box)]
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
@given(
    st.integers(0, 10**6),
    st.integers(2, 9),
    st.sampled_from([None, DistinctLDiversity("s0", 2), EntropyLDiversity("s0", Fraction(3, 2))]),
    st.sampled_from([4, 9, 10**5]),
    st.integers(1, 70),
)
def test_boxes_are_walked_as_dictionaries_are(together, seed, k, promise, vectors, share):
    """`share` percent of the rows have one sensitive value: most boxes then have too few."""
    table = crowded(seed, rows=80, keys=4)
    codes = {c.name: table.codes(c.name).copy() for c in table.columns}
    codes["s0"][: (table.distinct - 2) * share // 100] = 0
    codes["s0"][-2:] = [0, 1]
    table = Microdata.of_codes(list(table.columns), list(codes.values()))
    promises = Promises((KAnonymity(k), *([promise] if promise else [])))
    groups = KeyGroups.of(table, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_walk, "JUDGED_TOGETHER", together)
        patch.setattr(box_walk, "MOST_LEVEL_VECTORS", vectors)
        lattice = LevelLattice.of(groups, neighbours_of(groups), 3)
        judge = GroupJudge(groups, promises, Aim())
        values = GroupJudge(groups, Promises((DistinctLDiversity("s0", 2),)), Aim()) if promise else None
        class_of, count = walk_boxes(groups, lattice, judge)
        assert (class_of.tolist(), count) == walked_over_dictionaries(groups, lattice, judge, values)
    assert class_of.dtype == np.int32


@pytest.mark.parametrize("least", [1, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 50])
def test_rows_beyond_32_bits_are_counted(least):
    groups = KeyGroups.of(crowded(7, rows=90, keys=4), {})
    weight = np.random.default_rng(1).choice([1, 1 << 19, 1 << 30, 1 << 39], len(groups)).astype(np.int64)
    groups = replace(groups, weight=weight)
    lattice = LevelLattice.of(groups, neighbours_of(groups), 3)
    plain = GroupJudge(groups, Promises((KAnonymity(1),)), Aim())
    judge = SimpleNamespace(least=least, by_size=True, by_counts=True, value_bits=plain.value_bits)
    class_of, count = walk_boxes(groups, lattice, judge)
    assert (class_of.tolist(), count) == walked_over_dictionaries(groups, lattice, judge)
    assert (count > 0) == (least < 1 << 50)


@pytest.mark.parametrize("values", [1, 63, 64, 65, 256, 300, 700])
def test_a_group_has_the_bits_of_its_values(values):
    """Each value has a bit of its own as long as there are bits; beyond, some share theirs."""
    groups_of, rows = 40, 900
    draw = np.random.default_rng(values)
    tree, leaves = (
        Taxonomy.flat([f"q{i}" for i in range(groups_of)]),
        Taxonomy.flat([f"s{i}" for i in range(values)]),
    )
    columns = [Column("q", Role.QUASI, tree), Column("s", Role.SENSITIVE, leaves)]
    codes = [draw.integers(0, n, rows).astype(np.int32) for n in (groups_of, values)]
    groups = KeyGroups.of(Microdata.of_codes(columns, codes), {})
    held = GroupJudge(groups, Promises((DistinctLDiversity("s", min(2, values)),)), Aim()).value_bits()
    if values == 1:
        assert held.bits.shape == (len(groups), 0) and held.rare.all()
        return
    often = np.argmax(np.bincount(codes[1], minlength=values))
    for group in range(groups_of):
        found = set(codes[1][codes[0] == group].tolist())
        bits = sum(int(word).bit_count() for word in held.bits[group])
        assert bits == len(found) if values <= 256 else 0 < bits <= len(found)
        assert held.rare[group] == bool(found - {often}) or values > 256
