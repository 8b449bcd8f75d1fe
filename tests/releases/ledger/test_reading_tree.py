"""Published texts are read back as nodes, from what a ledger keeps of the trees."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.system.errors import BadData
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import UNKNOWN, ReadingTree, folded, reading_trees, trees_in
from sfumato.table.taxonomy import Taxonomy


@st.composite
def trees(draw):
    """Trees of up to nine nodes; some inner nodes repeat a text."""
    size = draw(st.integers(1, 9))
    parent = [-1] + [draw(st.integers(0, v - 1)) for v in range(1, size)]
    inner = set(parent)
    labels = [f"g{draw(st.integers(0, 3))}" if v in inner else f"leaf {v}" for v in range(size)]
    return Taxonomy.grow(["*", *labels[1:]], parent)


@st.composite
def cuts(draw, tree):
    cut = Cut.root(tree)
    for _ in range(draw(st.integers(0, 4))):
        if len(cut.specializations):
            cut = cut.specialize(draw(st.sampled_from(cut.specializations.tolist())))
    return cut


@given(st.data())
def test_a_version_knows_a_node_if_all_its_leaves_are_published_at_or_below_it(data):
    tree = data.draw(trees())
    cut = data.draw(cuts(tree))
    knows = ReadingTree.of("x", tree).knows(cut.nodes)
    for node in range(len(tree.labels)):
        leaves = range(tree.low[node], tree.high[node])
        assert knows[node] == all(tree.covers(node, cut.node_of[leaf]) for leaf in leaves)
        assert knows[node] == any(tree.covers(node, cut.node_of[leaf]) for leaf in leaves)


@given(trees())
def test_a_text_is_read_as_the_lowest_node_above_all_that_carry_it(tree):
    read = ReadingTree.of("x", tree).read(tree.labels).tolist()
    for node, label in enumerate(tree.labels):
        same = [v for v, other in enumerate(tree.labels) if other == label]
        above = [v for v in range(len(tree.labels)) if all(tree.covers(v, w) for w in same)]
        assert read[node] == max(above)


@given(st.data())
def test_nobody_who_published_a_text_is_said_not_to_know_it(data):
    tree = data.draw(trees())
    cut = data.draw(cuts(tree))
    reading = ReadingTree.of("x", tree)
    assert reading.knows(cut.nodes)[reading.read(cut.labels)].all()


@pytest.mark.parametrize(
    "same",
    [
        ("34", "34.0", " 34 ", "034", "3.4e1", "+34", "３４"),
        ("30–39", "30-39", "30 − 39"),
        ("Never-married", "never-married", "NEVER-MARRIED "),
        ("1970-03-18", "1970-03-18T00:00:00", "1970-03-18 00:00:00.000"),
        ("0", "-0", "0.00"),
        ("021**", "021** "),
    ],
)
def test_a_text_survives_being_saved_again(same):
    assert len({folded(text) for text in same}) == 1


def test_different_values_stay_different():
    texts = ["34", "34.5", "-34", "340", "34-", "30-39", "021**", "02***", "1970-03", "1970", "m", "f"]
    assert len({folded(text) for text in texts}) == len(texts)
    assert folded("123456789012345678901234567890") != folded("123456789012345678901234567891")


def test_what_says_nothing_is_the_root_unless_a_node_is_called_so():
    tree = ReadingTree.of("x", Taxonomy.flat(["?", "a"]))
    assert tree.read([None, "", "***", "NaN", "?", "b"]).tolist() == [0, 0, 0, 0, 1, UNKNOWN]


def recoding():
    table = Microdata.of_codes(
        [Column("a", Role.QUASI, Taxonomy.flat(["u", "v"])), Column("b", Role.FREE, Taxonomy.flat(["w"]))],
        [np.array([0, 1]), np.array([0, 0])],
    )
    return Recoding.of_cuts(table, {c.name: Cut.root(c.taxonomy) for c in table.keys})


def test_a_document_holds_the_trees_and_no_text():
    document = json.loads(json.dumps(reading_trees(recoding())))
    found = trees_in([{}, document])
    assert [tree.name for tree in found.values()] == ["a", "b"]
    for digest, tree in found.items():
        ours = ReadingTree.of(tree.name, recoding().table.column(tree.name).taxonomy)
        assert digest == ours.digest == tree.digest
        assert tree.read(["u", "v", "w"]).tolist() == ours.read(["u", "v", "w"]).tolist()
        assert (tree.height, tree.level.tolist()) == (ours.height, ours.level.tolist())
    assert not {"u", "v", "w"} & {value for c in document["columns"] for value in c.values()}


def test_a_tree_that_the_ledger_has_is_only_named():
    whole = reading_trees(recoding())
    known = {c["taxonomy"] for c in whole["columns"][:1]}
    later = reading_trees(recoding(), stored=known)
    assert later["columns"] == [
        {k: whole["columns"][0][k] for k in ("name", "taxonomy")},
        whole["columns"][1],
    ]
    assert len(trees_in([later])) == 1
    assert len(trees_in([whole, later])) == 2


@pytest.mark.parametrize("change", [{"parent": "??"}, {"marks": ""}, {"level": None}])
def test_damage_is_told(change):
    document = reading_trees(recoding())
    document["columns"][0].update(change)
    with pytest.raises(BadData, match="damaged"):
        trees_in([document])


@pytest.mark.parametrize("nodes", [[], [1], [0, 1], [-1], [7]])
def test_numbers_that_are_no_cut_are_told(nodes):
    with pytest.raises(BadData, match="damaged"):
        ReadingTree.of("x", Taxonomy.flat(["a", "b"])).knows(nodes)


def test_another_version_is_not_guessed():
    with pytest.raises(BadData, match="version"):
        trees_in([{"sfumato-trees": 2, "columns": []}])


def test_a_record_keeps_its_trees():
    record = ReleaseRecord("r", "main", "p", trees=reading_trees(recoding()))
    entry = record.entry(number=2, sequence=1, previous="", ledger="l")
    assert ReleaseRecord.of(entry).trees == record.trees
