"""Words without an order get steps between the value and `*`: common values are joined with common ones."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draft.fake_survey import column, survey
from sfumato.draft.draft import draft
from sfumato.draft.evidence import NO_FINDING, ColumnProfile
from sfumato.draft.roles import MOST_STEPS, label_of, tree_of_categories
from sfumato.policy.taxonomies.files import NestedTree
from sfumato.policy.taxonomies.texts import Flat

LEAST = 5


def grouped(cells):
    return tree_of_categories(ColumnProfile.of("x", column(cells), len(cells), NO_FINDING), LEAST)


def test_common_values_are_joined_with_common_ones():
    rule = grouped(["Arts"] * 5 + ["Law"] * 30 + ["Music"] * 20)
    assert rule.spec == {"tree": [{"Law / Music": ["Law", "Music"]}, "Arts"]}


def test_no_value_of_few_rows_is_written_into_a_policy():
    assert grouped(["Arts"] * (LEAST - 1) + ["Law"] * 30 + ["Music"] * 20) is None
    assert grouped(["Arts"] * LEAST + ["Law"] * 30 + ["Music"] * 20) is not None


@pytest.mark.parametrize(
    "cells",
    [
        ["a"] * 9 + ["b"] * 9,
        ["1"] * 9 + ["2"] * 9 + ["3"] * 9,
        ["*"] * 9 + ["b"] * 9 + ["c"] * 9,
        ["a"] * 9 + ["b"] * 9 + ["a / b"] * 8,
        [f"{i:02}x" for i in range(41)] * 9,
        [letter * 50 for letter in "abc"] * 9,
    ],
    ids=["two values", "numbers", "a star", "a value like a label", "too many", "long labels"],
)
def test_what_needs_no_groups_or_would_be_unclear_stays_flat(cells):
    assert grouped(cells) is None


@given(st.lists(st.integers(LEAST, 30), min_size=3, max_size=40))
def test_a_tree_holds_every_value_once_and_gets_coarser_by_halves(counts):
    cells = [f"v{i:02}" for i, count in enumerate(counts) for _ in range(count)]
    rule = grouped(cells)
    tree = rule.build([*set(cells), None])
    assert sorted(leaf for leaf in tree.leaf_labels if leaf) == sorted(set(cells))
    assert 2 <= tree.height <= MOST_STEPS + 1
    often, order = Counter(cells), [leaf for leaf in tree.leaf_labels if leaf]
    assert [often[leaf] for leaf in order] == sorted(often.values(), reverse=True)
    assert rule == NestedTree.read(rule.spec)


@given(st.lists(st.text("ab/ 1", min_size=1), min_size=4, max_size=9, unique=True))
def test_a_label_says_how_many_members_it_does_not_name(values):
    assert label_of(values).startswith(values[0]) and label_of(values).endswith(f" / {len(values) - 2} more")


def people(**more):
    return survey(age=[str(20 + i % 40) for i in range(120)], **more)


def test_drafts_group_words_unless_rows_of_one_person_are_what_makes_them_common():
    subject = [["Law", "Law", "Arts", "Music"][i % 4] for i in range(120)]
    rule = draft(people(subject=subject)).columns["subject"]
    assert isinstance(rule.taxonomy, NestedTree) and "common ones in groups" in rule.reason
    with_several = draft(people(subject=subject, patient_id=[f"P{i // 8}" for i in range(120)]))
    assert with_several.person == "patient_id" and with_several.columns["subject"].taxonomy == Flat()
