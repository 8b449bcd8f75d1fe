"""Texts of ranges: readable, and one to one."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.taxonomies import rule_from
from sfumato.system.errors import BadTaxonomy
from sfumato.table.published_texts import RangeTexts
from strategies import taxonomies


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("20-24", "40-44", "20–44"),
        ("-20 to -11", "0-9", "-20 to 9"),
        ("7", "10-19", "7–19"),
        ("[0, 20000)", "[60000, 80000)", "[0, 80000)"),
        ("[80, 90)", "90+", "[80, 90)–90+"),
        ("<18", "18-19", "<18–18-19"),
        ("1953", "1957", "1953–1957"),
        ("1950-1959", "1970-1979", "1950–1979"),
        ("2024-02", "2024-11", "2024-02–2024-11"),
        ("2024-Q1", "2024-Q3", "2024-Q1–2024-Q3"),
        ("low", "mid", "low–mid"),
    ],
)
def test_a_range_of_intervals_is_an_interval(first, last, text):
    assert RangeTexts({1: first, 2: last}).between(1, 2) == text


@pytest.mark.parametrize("text", ["20–45", "20-24", "25–24", "–", "", "[20, 30)", "20–44–49"])
def test_other_texts_are_no_ranges(text):
    assert RangeTexts({1: "20-24", 2: "25-29", 3: "40-44"}).nodes(text) in (None, (2, 1))


def test_labels_that_begin_alike_are_both_named():
    assert RangeTexts({1: "1-2", 2: "1-9"}).between(1, 2) == "1-2–1-9"


@given(taxonomies(leaves=6, ordered=True), st.data())
def test_different_ranges_have_different_texts(tree, data):
    tree = replace(tree, range_level=data.draw(st.integers(0, tree.height)))
    starts, ends = tree.range_cells()
    spans = {(int(a), int(b)) for a in starts for b in ends if a < b}
    texts = {span: tree.describe(*span) for span in spans}
    assert all(texts[one] != texts[other] for one, other in combinations(spans, 2))
    cells = {(int(a), int(b)) for a, b in zip(starts, ends, strict=True)}
    nodes = {(int(a), int(b)) for a, b in zip(tree.low, tree.high, strict=True)}
    assert all(tree.is_range(texts[span]) for span in spans - cells - nodes)
    assert not any(tree.is_range(texts[span]) for span in cells)
    within = {(a, b) for a, b in combinations(range(len(tree.leaves) + 1), 2)} - spans
    for low, high in within:
        cover = tree.lowest_cover(low, high)
        if (tree.low[cover], tree.high[cover]) != (low, high):
            with pytest.raises(BadTaxonomy, match="within a node"):
                tree.describe(low, high)


def test_a_year_with_one_date_is_a_year():
    tree = rule_from({"date": ["year", "decade"]}).build(["1953-02-11", "1957-08-03", "1971-01-01"])
    assert [tree.describe(i, i + 1) for i in range(3)] == ["1953", "1957", "1971"]
    assert (tree.describe(0, 2), tree.describe(1, 3), tree.describe(0, 3)) == ("1950-1959", "1957–1971", "*")


@pytest.mark.parametrize(
    ("spec", "values", "level"),
    [
        ({"date": ["year", "decade"]}, ["1953-02-11", "1957-08-03"], 1),
        ({"intervals": [5, 10], "from": 0, "to": 50}, ["7"], 1),
        ({"rows": [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]], "ordered": True}, ["a"], 1),
        ({"tree": {"A": ["a", "b"], "C": ["c"]}, "ordered": True}, ["a"], 1),
        ({"flat": ["low", "mid", "high"], "ordered": True}, ["mid"], 0),
        ({"tree": {"A": ["a", "b"], "C": ["c"]}}, ["a"], 0),
    ],
)
def test_ranges_run_between_the_first_level_that_is_named(spec, values, level):
    tree = rule_from(spec).build(values)
    assert tree.range_level == level
    assert tree.from_level(min(1, tree.height)).range_level == 0
