"""Cuts form a lattice; codes survive packing; classes count what they should."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.system.errors import BadTaxonomy, NotACut
from sfumato.table import microdata as packing_module
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Packing, sort_and_count
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy
from strategies import all_cuts, all_recodings, tables, taxonomies


@given(taxonomies(leaves=5))
def test_ancestor_test_agrees_with_walking_up(taxonomy):
    for below in range(len(taxonomy.labels)):
        path, node = {below}, below
        while node > 0:
            node = int(taxonomy.parent[node])
            path.add(node)
        assert {v for v in range(len(taxonomy.labels)) if taxonomy.covers(v, below)} == path


@given(taxonomies(leaves=5), st.data())
def test_join_is_the_least_cut_above_both(taxonomy, data):
    cuts = all_cuts(taxonomy)
    a, b = data.draw(st.sampled_from(cuts)), data.draw(st.sampled_from(cuts))
    above = [c for c in cuts if a <= c and b <= c]
    assert a.join(b) in above and all(a.join(b) <= c for c in above)


@given(taxonomies(leaves=5), st.data())
def test_specializing_reaches_exactly_the_next_finer_cuts(taxonomy, data):
    cuts = all_cuts(taxonomy)
    cut = data.draw(st.sampled_from(cuts))
    finer = [c for c in cuts if c <= cut and c != cut]
    covered = [c for c in finer if not any(c <= d and d not in (c, cut) for d in finer)]
    assert {cut.specialize(int(v)) for v in cut.specializations} == set(covered)


@given(taxonomies(leaves=5))
def test_levels_are_nested_cuts_from_leaves_to_root(taxonomy):
    ladder = [Cut.level(taxonomy, i) for i in range(taxonomy.height + 1)]
    assert ladder[0] == Cut.leaves(taxonomy) and ladder[-1] == Cut.root(taxonomy)
    assert all(low <= high for low, high in itertools.pairwise(ladder))


@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=6), st.data())
def test_codes_survive_packing_and_keys_sort_like_rows(sizes, data):
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, min(s, 2**31) - 1) for s in sizes)), max_size=8))
    columns = [np.array([r[j] for r in rows], dtype=np.int64) for j in range(len(sizes))]
    packing = Packing(tuple(sizes))
    words, counts = sort_and_count(packing.pack(columns))
    read = list(zip(*(packing.unpack(words, j).tolist() for j in range(len(sizes))), strict=True))
    assert list(zip(read, counts.tolist(), strict=True)) == sorted(Counter(rows).items())


@given(tables(rows=8, people=True), st.data())
def test_classes_count_people_rows_and_values(table, data):
    cuts = data.draw(st.sampled_from(all_recodings(table)))
    class_of, nodes = classes_under(table, cuts)
    classes = Classes.of(table, class_of)
    person = table.person
    for index in range(len(classes)):
        members = [i for i in range(table.distinct) if class_of[i] == index]
        assert classes.rows[index] == sum(int(table.counts[i]) for i in members)
        values = table.codes("s0")
        if person is None:
            expected = Counter()
            for i in members:
                expected[int(values[i])] += int(table.counts[i])
            assert classes.people[index] == classes.rows[index]
        else:
            expected = Counter(s for s, _ in {(int(values[i]), int(person[i])) for i in members})
            assert classes.people[index] == len({int(person[i]) for i in members})
        assert classes.histograms["s0"].of_class(index) == dict(expected)
        for j, column in enumerate(table.keys):
            assert {int(cuts[column.name].node_of[table.codes(column.name)[i]]) for i in members} == {
                nodes[index, j]
            }
    assert len({tuple(row) for row in nodes.tolist()}) == len(classes)


def test_a_cut_that_misses_a_leaf_is_refused():
    taxonomy = Taxonomy.grow(["*", "A", "a1", "a2", "b"], [-1, 0, 1, 1, 0])
    with pytest.raises(NotACut):
        Cut.of_labels(taxonomy, ["a1", "b"])


@pytest.mark.parametrize(
    ("labels", "parent"),
    [(["*", "a", "b"], [-1, 2, 1]), (["*", "x", "y"], [-1, -1, 0]), (["*", "x", "x"], [-1, 0, 0])],
    ids=["circle", "two roots", "a leaf twice"],
)
def test_what_is_no_tree_is_refused(labels, parent):
    with pytest.raises(BadTaxonomy):
        Taxonomy.grow(labels, parent)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 9)), max_size=30), st.data())
@settings(max_examples=150, deadline=None)
def test_counted_keys_are_joined_like_in_python(rows, data):
    words, block = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 5))
    expected = Counter()
    for first, second, count in rows:
        expected[(first, second)[:words]] += count
    packed = np.array([row[:words] for row in rows], np.int64).reshape(len(rows), words).T.copy()
    counts = np.array([row[2] for row in rows], np.int32)
    given_counts = counts.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing_module, "BLOCK_ROWS", block)
        keys, sums = sort_and_count(packed, counts)
    assert list(zip(map(tuple, keys.T.tolist()), sums.tolist(), strict=True)) == sorted(expected.items())
    assert sums.dtype == np.int64
    assert np.array_equal(counts, given_counts)
