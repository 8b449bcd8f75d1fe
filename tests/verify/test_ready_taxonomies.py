"""Ready taxonomies: the judge's own trees and labels beside those of the search, and what breaks in them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyKind, ReadyTaxonomy
from sfumato.system.errors import BadTaxonomy
from sfumato.verify.policy_data import JudgedColumn, label_reader
from sfumato.verify.trees import value_tree

pytestmark = pytest.mark.slow

LISTS = [entry.name for entry in CATALOGUE.values() if entry.file]
DETAIL = st.sampled_from(["", "", "1", "12", ".1", ".2", ".12", "1.", "x", ".-", "-"])


def texts_of(name):
    """Texts that the list knows, and some that it nearly knows."""
    entry = CATALOGUE[name]
    first = st.sampled_from([text for texts, _ in entry.rows for text in texts])
    some = first if entry.kind is ReadyKind.LIST else st.tuples(first, DETAIL).map("".join)
    return st.lists(st.one_of(some, st.none(), some, st.sampled_from(["Holland", "", "*"])), max_size=6)


def words(rule):
    return {**rule.spec, **rule.words_for_judge}


def same_tree(rule, texts):
    try:
        theirs = rule.build(texts)
    except BadTaxonomy as refused:
        with pytest.raises(BadTaxonomy) as also:
            value_tree(words(rule), texts, content=rule.content)
        assert sorted(also.value.values) == sorted(refused.values)
        return
    ours = value_tree(words(rule), texts, content=rule.content)
    assert ours.values == theirs.leaf_labels
    assert ours.height == theirs.height and ours.ordered == theirs.ordered
    for level in range(theirs.height + 1):
        nodes = theirs.levels[level]
        assert ours.labels[level] == tuple(theirs.labels[v] for v in nodes)
        assert ours.groups[level].tolist() == theirs.low[nodes].tolist()
    for text in {*texts, "elsewhere"}:
        assert ours.place(text) == theirs.rank(text)


@pytest.mark.parametrize("name", LISTS)
@given(data=st.data())
def test_both_trees_are_the_same(name, data):
    rule, texts = ReadyTaxonomy(name), data.draw(texts_of(name))
    same_tree(rule, texts)
    same_tree(rule, [text for text in texts if text is None or rule.knows(text)])


@pytest.mark.parametrize("name", LISTS)
@given(data=st.data())
def test_labels_of_every_level_are_neither_finer_nor_coarser(name, data):
    rule = ReadyTaxonomy(name)
    known = [text for text in data.draw(texts_of(name)) if text is not None and rule.knows(text)]
    tree, reader = rule.build(known), label_reader(words(rule), rule.content)
    for text in known:
        path = [tree.labels[node] for node in tree.levels[:, tree.rank(text)]]
        assert reader.height([]) == len(path) - 1
        for level, label in enumerate(path):
            assert not reader.is_finer(label, level, False)
            assert not reader.is_coarser(label, level)
            above = path[level + 1 :]
            assert all(reader.is_coarser(upper, level) for upper in above if upper not in path[: level + 1])
            assert all(
                reader.is_finer(lower, level, False) for lower in path[:level] if lower not in path[level:]
            )
        if text not in path:  # another spelling is as fine as the value
            assert reader.is_finer(text, 1, False) == reader.is_finer(path[0], 1, False)


def test_a_raw_code_where_the_policy_publishes_categories_is_seen():
    rule = ReadyTaxonomy("icd-10-cm")
    column = JudgedColumn("quasi", words(rule), rule.content, start=1)
    assert column.too_fine(["E11.-", "*", "Diabetes mellitus (E08-E13)"]) == 0
    assert column.too_fine(["E11.9", "E119", "E11"]) == 3


def test_two_spellings_of_a_secret_are_one_value():
    """NL and Netherlands, E119 and E11.9: who counts them twice promises diversity that is not there."""
    for name, pair in (("countries", ["NL", "Netherlands"]), ("icd-10-cm", ["E119", "E11.9"])):
        people = pl.DataFrame({"sex": ["f"] * 4, "secret": pair * 2})
        policy = {
            "columns": {
                "sex": {"role": "quasi"},
                "secret": {"role": "sensitive", "taxonomy": {"ready": name}},
            },
            "promises": [{"l-diversity": {"of": "secret", "l": 2}}],
        }
        audit = sf.audit(people, policy)
        assert not audit.holds


def test_a_list_that_is_not_the_policys_is_refused():
    rule = ReadyTaxonomy("isced")
    with pytest.raises(BadTaxonomy):
        value_tree(words(rule), ["3"], content=None)
    from sfumato.system.errors import BadPolicy

    with pytest.raises(BadPolicy):
        JudgedColumn.of({"role": "quasi", "content": b"3;x\n", "digest": rule.digest})
