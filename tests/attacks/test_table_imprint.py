"""A published table finds its place among the releases of a chain, by its texts alone."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.tiny_chains import chains, imprint, releases, two
from sfumato.attacks.chain import count_published, imprint_of, is_release, same_release
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData
from sfumato.table.cut import Cut
from sfumato.table.keyed_hashes import nodes_named, tree_marks
from sfumato.table.source import open_source
from sfumato.table.taxonomy import Taxonomy
from strategies import taxonomies


def published(trees, people, cuts, upto):
    """The table that such a release shows, row by row."""
    rows = [p for p in people if p[-1] <= upto]
    cells = {
        f"q{j}": [t.labels[c.node_of[t.rank(p[j])]] for p in rows]
        for j, (t, c) in enumerate(zip(trees, cuts, strict=True))
    }
    return open_source(pl.DataFrame({**cells, "s": [f"s{p[-2]}" for p in rows]}, schema_overrides={"s": str}))


@given(chains(count=2, rows=8), st.randoms())
def test_the_imprint_of_the_table_is_that_of_the_plan(chain, chance):
    trees, people, cuts = chain
    planned = releases(*chain)
    shuffled = list(people)
    chance.shuffle(shuffled)
    for i, cut in enumerate(cuts):
        table = count_published(published(trees, shuffled, cut, i + 1), planned[i])
        assert is_release(table, planned[i])
        if table.rows:
            fewer = replace(planned[i], counts=planned[i].counts + 1)
            assert not is_release(table, fewer)


@given(chains(count=2, rows=8))
def test_only_the_release_itself_is_taken_for_it(chain):
    trees, people, cuts = chain
    one, other = releases(*chain)
    table = count_published(published(trees, people, cuts[0], 1), one)
    assert is_release(table, other) == same_release(one, other)


@given(taxonomies())
def test_every_node_is_found_by_its_label(tree):
    labels = [*dict.fromkeys(tree.labels), "nowhere"]
    which, nodes = nodes_named(labels, tree_marks(tree), tree.parent)
    found = sorted(zip(which.tolist(), nodes.tolist(), strict=True))
    assert found == sorted((labels.index(label), v) for v, label in enumerate(tree.labels))


def test_labels_are_found_a_few_at_a_time(monkeypatch):
    from sfumato.table import keyed_hashes as marks

    tree = Taxonomy.grow(["*", *"abcdef"], [-1, 0, 0, 1, 1, 2, 2])
    whole = nodes_named("fxa", tree_marks(tree), tree.parent)
    monkeypatch.setattr(marks, "PAIRS_AT_ONCE", 1)
    few = nodes_named("fxa", tree_marks(tree), tree.parent)
    assert all(np.array_equal(a, b) for a, b in zip(whole, few, strict=True))


TREE = two("a", "b")
PEOPLE = [("a", 0, 1), ("b", 1, 1)]
LEAVES = imprint([TREE], PEOPLE, [Cut.leaves(TREE)], 1)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"q0": ["a", "c"], "s": ["s0", "s1"]}, "1 of 2 texts of q0 have no place"),
        ({"q0": ["a", "*"], "s": ["s0", "s1"]}, "no global recoding"),
        ({"q0": ["a", "a–b"], "s": ["s0", "s1"]}, "have no place"),
        ({"q0": ["a", "b"]}, "1 columns of the earlier releases are not in this table"),
    ],
)
def test_what_cannot_be_placed_is_refused(cells, said):
    with pytest.raises(BadData, match=said):
        imprint_of(count_published(open_source(pl.DataFrame(cells)), LEAVES), LEAVES)


def test_a_tree_that_has_grown_is_taken_from_the_policy():
    words = {
        "columns": {
            "q0": {"role": "quasi", "taxonomy": {"tree": ["a", "b", "c"]}},
            "s": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 1}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"s": True},
    }
    table = count_published(open_source(pl.DataFrame({"q0": ["a", "c"], "s": ["s0", "s1"]})), LEAVES)
    found = imprint_of(table, LEAVES, policy=Policy.from_dict(words))
    assert found.rows == 2 and len(found.keys[0].parent) == 4
