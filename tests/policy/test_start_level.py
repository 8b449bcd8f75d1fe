"""Columns that begin at a level: counted there, published there or coarser."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadPolicy, BadTaxonomy
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy


def words(start=1, **more):
    return {
        "columns": {
            "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}, "start": start},
            "sex": {"role": "quasi"},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        **more,
        "confirm": {"disease": True},
    }


@st.composite
def trees(draw):
    """Trees of three generations with labels that tell where a node is."""
    labels, parent = ["*"], [-1]
    for i in range(draw(st.integers(1, 4))):
        labels.append(f"{i}")
        parent.append(0)
        group = len(labels) - 1
        for j in range(draw(st.integers(0, 3))):
            labels.append(f"{i}{j}")
            parent.append(group)
            child = len(labels) - 1
            for k in range(draw(st.integers(0, 2))):
                labels.append(f"{i}{j}{k}")
                parent.append(child)
    return Taxonomy.grow(labels, parent)


@given(tree=trees(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_the_tree_above_a_level(tree, data):
    level = data.draw(st.integers(0, tree.height))
    above = tree.from_level(level)
    assert above.height == tree.height - level
    for rank, label in enumerate(tree.leaf_labels):
        found = above.rank(label)
        assert found is not None
        for i in range(above.height + 1):
            assert above.labels[above.levels[i][found]] == tree.labels[tree.levels[level + i][rank]]
    known = {tree.labels[node] for level in tree.levels[level:] for node in level}
    assert set(above.leaf_labels) <= known


def test_no_such_level():
    with pytest.raises(BadTaxonomy, match="levels are 0 to 2"):
        Taxonomy.grow(["*", "a", "b"], [-1, 0, 1]).from_level(3)


ROWS = {
    "zip": ["02138", "02139", "02140", "94110", "94111", "94112"],
    "sex": ["f", "m", "f", "m", "f", "m"],
    "disease": ["flu", "cold", "flu", "flu", "cold", "cold"],
}


@pytest.mark.parametrize("search", ["top-down", "lattice", "mondrian"])
def test_nothing_finer_is_counted_or_published(search):
    table = pa.table(ROWS)
    coarse = sf.protect(table, words(protect={"suppress": 0, "search": search}))
    assert coarse.recoding.table.distinct < len(ROWS["zip"])
    shown = set(coarse.apply(table).column("zip").to_pylist())
    assert shown <= {"021**", "941**", "0****", "9****", "*"}
    by_hand = {**ROWS, "zip": [z[:3] + "**" for z in ROWS["zip"]]}
    flat = words(0, protect={"suppress": 0, "search": search})
    flat["columns"]["zip"]["taxonomy"] = {"prefix": [1]}
    expected = sf.protect(pa.table(by_hand), flat).apply(pa.table(by_hand))
    assert coarse.apply(table).to_pydict() == expected.to_pydict()


def test_round_trip_and_digest():
    policy = Policy.from_dict(words())
    assert Policy.from_dict(policy.to_dict()) == policy
    assert policy.digest != Policy.from_dict(words(0)).digest
    assert "start: 1" in policy.to_yaml()


def test_only_where_it_means_something():
    wrong = words()
    wrong["columns"]["disease"]["start"] = 1
    wrong["columns"]["sex"]["start"] = 1
    with pytest.raises(BadPolicy) as refused:
        Policy.from_dict(wrong)
    assert len(refused.value.problems) == 2
    with pytest.raises(BadPolicy):
        Policy.from_dict(words(-1))
    with pytest.raises(BadTaxonomy, match="column zip"):
        sf.protect(open_source(pa.table(ROWS)), words(9))
