"""Trees with the nodes that earlier releases remember, against the tree of all values that ever occurred."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.coarsest_level import never_above
from sfumato.core.cut import Cut
from sfumato.core.errors import BadTaxonomy, RefusedByHistory
from sfumato.core.imprint import KeyImprint
from sfumato.core.marks import tree_marks
from sfumato.core.reading_tree import UNKNOWN, ReadingTree
from sfumato.core.remembered_nodes import with_remembered
from sfumato.core.spelling import Spelling
from sfumato.core.taxonomy import RememberedNode, Taxonomy
from sfumato.policy.taxonomies import Dates, Flat, Intervals, Mask, Prefix, ReadyTaxonomy, rule_from

ZIPS = ["02138", "02139", "02141", "02142", "03001", "03002", "10001", "11", "1", None]
DAYS = [
    "1980-01-05",
    "1980-01-31",
    "1980-02-29",
    "1981-07-01",
    "1990-01-01",
    "1991-12-31",
    "2004-02-29",
    None,
]
NUMBERS = ["-3", "0", "0.5", "1.25", "7", "9.75", "12", "18.5", "19", "40", None]
CODES = ["A00", "A00.0", "A00.1", "A01.0", "B20", "E11.9", "E11.65", None]
CASES = (
    (Prefix((3, 1)), ZIPS),
    (Flat(), ZIPS),
    (Flat(ordered=True), [n for n in NUMBERS if n is not None]),
    (Mask("left", (1, 3)), [zip_ for zip_ in ZIPS if zip_ != "1"]),  # masked, it is the root: another shape
    (Dates(("month", "year", "decade")), DAYS),
    (Intervals((Decimal(5), Decimal(10)), decimal=True), NUMBERS),
    (Intervals((Decimal(5), Decimal(10)), top=Decimal(18), decimal=True), NUMBERS),
    (ReadyTaxonomy("icd-10-cm"), CODES),
)


def imprint(tree, level=0):
    return KeyImprint.of("c", Cut.level(tree, level))


@st.composite
def tables(draw, most=4):
    """A taxonomy of the values that occur, and the values of some tables one after the other."""
    rule, values = draw(st.sampled_from(CASES))
    some = st.lists(st.sampled_from(values), min_size=1, unique=True).filter(lambda held: held != [None])
    return rule, draw(st.lists(some, min_size=2, max_size=most))


def grown_together(rule, occurring, **more):
    """The tree of every table, with what the imprints of those before remember."""
    trees, keys = [], []
    for values in occurring:
        trees.append(with_remembered(rule.build(values), keys, **more))
        keys.append(imprint(trees[-1]))
    return trees


def by_mark(tree):
    """Every node by its mark: its parent's mark, and how many leaves it has."""
    marks = tree_marks(tree).tolist()
    above = [None, *(marks[v] for v in tree.parent[1:].tolist())]
    return dict(zip(marks, zip(above, tree.leaf_count.tolist(), strict=True), strict=True))


@given(tables())
def test_the_tree_has_the_nodes_of_all_values_so_far(case):
    rule, occurring = case
    so_far = []
    for values, tree in zip(occurring, grown_together(rule, occurring), strict=True):
        so_far = list(dict.fromkeys([*so_far, *values]))
        whole, today = rule.build(so_far), rule.build(values)
        assert by_mark(tree) == by_mark(whole)
        assert set(tree.ranks) == set(today.ranks) and tree.height == whole.height
        assert [tree.label(v) for v in tree.leaves.tolist() if not tree.is_remembered[v]] == list(
            today.leaf_labels
        )
        assert (tree.ordered, tree.range_level) == (whole.ordered, whole.range_level)
        mine, other = tree_marks(tree), tree_marks(whole)
        for value in today.ranks:
            here, there = tree.levels[:, tree.rank(value)], whole.levels[:, whole.rank(value)]
            assert mine[here].tolist() == other[there].tolist(), "levels of values that occur are the same"


@given(tables(most=3), st.data())
def test_every_earlier_release_is_found_again(case, data):
    rule, occurring = case
    *before, last = grown_together(rule, occurring)
    for tree in before:
        key = imprint(tree, data.draw(st.integers(0, tree.height)))
        now = key.onto(last)
        assert tree_marks(last)[now].tolist() == key.marks.tolist()
        cut = key.cut_on(last, now)
        assert set(key.marks[key.cut].tolist()) <= set(tree_marks(last)[cut.nodes].tolist())


def test_levels_of_values_that_left_are_those_that_they_had():
    for rule, values in ((Prefix((3, 1)), ZIPS[:7]), (Dates(("month", "year")), DAYS)):
        whole = rule.build(values)
        tree = with_remembered(rule.build(values[:1]), [imprint(whole)])
        paths = [
            {tuple(tree_marks(t)[t.levels[:, rank]].tolist()) for rank in range(len(t.leaves))}
            for t in (tree, whole)
        ]
        assert paths[0] == paths[1]


def test_a_value_that_comes_back_is_its_node_again():
    rule = Prefix((3, 1))
    first, second = rule.build(["02138", "10001"]), rule.build(["10001"])
    gone = with_remembered(second, [imprint(first)])
    assert gone.rank("02138") is None and gone.remembers
    back = with_remembered(rule.build(["02138", "10001"]), [imprint(first), imprint(gone)])
    assert back.rank("02138") is not None and not back.remembers
    assert back.digest == first.digest


def test_a_cell_that_looks_like_a_mark_is_a_value_of_its_own():
    rule = Flat()
    first = rule.build(["a", "b"])
    mark = int(tree_marks(first)[first.node("b")])
    alike = [str(mark), f"{mark:016x}", repr(RememberedNode(mark)), f"mark={mark}"]
    tree = with_remembered(rule.build(["a", *alike]), [imprint(first)])
    assert len(tree.leaves) == 6 and tree.is_remembered.sum() == 1
    assert all(tree.rank(text) is not None and tree.label(tree.node(text)) == text for text in alike)
    assert tree.rank("b") is None


def test_nothing_is_told_of_a_remembered_node():
    first = Flat().build(["a", "b", "c"])
    tree = with_remembered(Flat().build(["a", "c"]), [imprint(first)])
    (node,) = np.flatnonzero(tree.is_remembered).tolist()
    for ask in (lambda: tree.label(node), lambda: tree.leaf_labels, lambda: tree.describe(1, 2)):
        with pytest.raises(BadTaxonomy, match="has no label"):
            ask()
    assert Cut.leaves(tree).labels == ("a", "c")
    assert ReadingTree.of("c", tree).read(["a", "b"]).tolist() == [1, UNKNOWN]


def test_spellings_are_counted_apart_from_remembered_leaves():
    first = Flat().build(["Bonn", "Köln", "Ulm", "n/a"])
    tree = with_remembered(Flat().build(["Bonn", "bonn", "n/a"]), [imprint(first)])
    tree = replace(tree, spelling=Spelling.FOLDED)
    rank = {label: tree.rank(label) for label in ("Bonn", "bonn", "n/a")}
    assert tree.meanings[rank["bonn"]] == tree.meanings[rank["Bonn"]] == rank["Bonn"]
    assert tree.meanings[rank["n/a"]] == -1
    left = np.flatnonzero(tree.is_remembered[tree.leaves])
    assert tree.meanings[left].tolist() == left.tolist()


def test_what_else_a_tree_says_stays():
    rule = Dates(("month", "year", "decade"))
    start = [never_above(rule.build(values), 2).from_level(1) for values in (DAYS[:6], DAYS[:2])]
    tree = with_remembered(start[1], [imprint(start[0])])
    assert (tree.at_most, tree.start, tree.ordered) == (start[1].at_most, 1, True)
    assert tree.rank("1980-01-05") == tree.rank("1980-01-31") == tree.rank("1980-01")
    assert by_mark(tree) == by_mark(start[0])


def refused(before, today, **more):
    """Whether a tree is left as it is, and refused as one that has changed."""
    tree = with_remembered(today, [imprint(before)], **more)
    with pytest.raises(RefusedByHistory, match="has changed"):
        imprint(before).onto(tree)
    return tree is today


def test_values_in_another_place_are_not_taken_for_new_ones():
    zips = ZIPS[:4]
    assert refused(Prefix((3, 1)).build(zips), Prefix((3,)).build(zips[:2]))
    assert refused(Mask("right").build(["abcd", "ab"]), Mask("right").build(["ab"])), "the longest has left"
    assert refused(Prefix((3, 1)).build(zips), Flat().build(zips[:2]))
    assert refused(Taxonomy.grow(["all", "a", "b"], [-1, 0, 0]), Flat().build(["a"])), "another root"
    assert refused(Prefix((3, 1)).build(zips), Prefix((3, 1)).build([None])), "no value is left"
    hidden = Mask("left", (1, 3))
    assert refused(hidden.build(["02138", "1"]), hidden.build(["1"])), "what is left is masked whole"
    group = Taxonomy.grow(["*", "White", "White", "Whitish", "Black"], [-1, 0, 1, 1, 0])
    assert refused(group, Taxonomy.flat(["White", "Black"])), "a group has become a value"


def test_a_node_that_the_policy_dropped_stays_refused_and_missing_cells_are_kept():
    rules = [rule_from({"tree": {"Europe": some}}) for some in (["UK", "France"], ["UK"])]
    assert not any(rule.takes_occurring for rule in rules)
    assert refused(rules[0].build(["UK"]), rules[1].build(["UK"]), listed=True)
    assert refused(rules[0].build(["UK", None]), rules[1].build(["UK"]), listed=True)
    before = rules[0].build(["UK", None])
    tree = with_remembered(rules[0].build(["UK"]), [imprint(before)], listed=True)
    assert by_mark(tree) == by_mark(before) and tree.rank(None) is None


def test_a_label_below_a_remembered_node_is_no_tree():
    with pytest.raises(BadTaxonomy, match="only remembered"):
        Taxonomy.grow(["*", RememberedNode(5), "x"], [-1, 0, 1])


@pytest.mark.parametrize(
    ("spec", "occurring"),
    [
        ("flat", True),
        ({"flat": ["a"]}, False),
        ({"prefix": [1]}, True),
        ({"mask": "left"}, True),
        ({"date": ["year"]}, True),
        ({"intervals": [5], "from": 0, "to": 10}, False),
        ({"intervals": [5], "decimal": True}, True),
        ({"rows": [["a", "*"]]}, False),
        ({"ready": "icd-10-cm"}, True),
        ({"ready": "us-states"}, False),
    ],
)
def test_which_taxonomies_take_the_values_that_occur(spec, occurring):
    assert rule_from(spec).takes_occurring is occurring
