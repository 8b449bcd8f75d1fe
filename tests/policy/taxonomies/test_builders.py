"""Golden trees of every builder, and what they refuse."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.taxonomies import BUILDERS, rule_from
from sfumato.policy.taxonomies.dates import UNITS, _levels
from sfumato.policy.taxonomies.files import NestedTree, WrittenRows
from sfumato.policy.taxonomies.levels import Level, tree_of_levels
from sfumato.policy.taxonomies.texts import Flat, Mask, Prefix, in_natural_order
from sfumato.system.errors import BadInput, BadPolicy, BadTaxonomy
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow


def path_of(tree, value):
    return [tree.labels[v] for v in tree.levels[:, tree.rank(value)]]


def test_tree_literal():
    rule = rule_from(
        {"tree": {"Viral": ["Flu", "AIDS"], "Bacterial": {"Gram-": ["E.Coli"], "Other": ["TB", 7]}}}
    )
    tree = rule.build(["Flu", None])
    assert path_of(tree, "Flu") == ["Flu", "Flu", "Viral", "*"]
    assert path_of(tree, "7") == ["7", "Other", "Bacterial", "*"]
    assert path_of(tree, None) == [None, None, None, "*"]
    assert tree.parent[tree.node(None)] == 0 and not tree.ordered


def test_a_flat_list_is_a_tree_too():
    assert rule_from({"tree": ["a", "b"]}).build([]).labels == ("*", "a", "b")


def test_a_tree_may_name_its_root():
    assert rule_from({"tree": {"*": {"X": ["a"]}}}).build([]).labels == ("*", "X", "a")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"Viral": ["Flu"], "Bacterial": ["Flu"]}, "a value can become one label or another"),
        ({"A": {"Other": ["x"]}, "B": {"Other": ["y"]}}, "a label stands below one label and below another"),
        ({"A": {"B": {"A": ["x"]}}}, "circle: a label becomes another"),
        ({"A": [True]}, 'true is no label. Put it in quotes: "true"'),
        ({"A": [None]}, "null is no label"),
        ([], "the tree is empty"),
    ],
)
def test_trees_that_are_none(words, complaint):
    with pytest.raises(BadInput, match=complaint):
        rule_from({"tree": words})


def test_a_very_deep_tree_is_refused():
    words = ["leaf"]
    for i in range(100):
        words = {f"g{i}": words}
    with pytest.raises(BadPolicy, match="deeper than"):
        rule_from({"tree": words})


def test_dates():
    tree = rule_from({"date": ["month", "quarter", "year", "decade"]}).build(
        ["2024-03-01", "2024-02-29", "1999-12-31", "2024-02-29T23:59:59+13:00", "0001-01-01"]
    )
    assert path_of(tree, "2024-02-29") == ["2024-02-29", "2024-02", "2024-Q1", "2024", "2020-2029", "*"]
    assert path_of(tree, "2024-02-29T23:59:59+13:00")[1] == "2024-02"
    assert path_of(tree, "0001-01-01")[3:5] == ["0001", "0000-0009"]
    assert tree.ordered and tree.leaf_labels[0] == "0001-01-01" and tree.leaf_labels[-1] == "2024-03-01"


def test_days_and_weeks():
    tree = rule_from({"date": ["day", "week"]}).build(["2021-01-03T10:00", "2021-01-03", "2021-01-04"])
    assert path_of(tree, "2021-01-03T10:00") == ["2021-01-03T10:00", "2021-01-03", "2020-W53", "*"]
    assert path_of(tree, "2021-01-03")[:2] == ["2021-01-03", "2021-01-03"]
    assert path_of(tree, "2021-01-04")[2] == "2021-W01"


@pytest.mark.parametrize(
    "value", ["2023-02-29", "29.02.2024", "2024", "20240229", "2024-02-29T", "Easter", "2024-13-01"]
)
def test_what_is_no_date_is_counted(value):
    with pytest.raises(BadTaxonomy, match="1 value occurs") as caught:
        rule_from({"date": ["year"]}).build(["2020-01-01", value])
    assert caught.value.values == (value,) and value not in str(caught.value)


@pytest.mark.parametrize(
    ("units", "complaint"),
    [
        (["year", "month"], "longer than the one before"),
        (["week", "month"], "a week can lie in two months"),
        (["fortnight"], "the units are day, week"),
        ([], "the units are"),
    ],
)
def test_units_that_do_not_nest(units, complaint):
    with pytest.raises(BadPolicy, match=complaint):
        rule_from({"date": units})


NEAR = st.dates(date(1999, 11, 20), date(2001, 2, 10))


@given(st.lists(NEAR | st.dates(), max_size=20, unique=True))
def test_a_unit_in_words_is_that_of_each_of_its_days(days):
    days.sort()
    for unit, level in zip(UNITS, _levels(tuple(UNITS), days), strict=True):
        assert level.labels() == [UNITS[unit](day) for day in days]
        assert len(set(level.names)) == len(level.names)


@given(st.lists(st.dates(), min_size=1, max_size=20, unique=True))
def test_every_date_keeps_its_month_year_and_decade(days):
    texts = [d.isoformat() for d in days]
    tree = rule_from({"date": ["month", "year", "decade"]}).build(texts)
    for day, text in zip(days, texts, strict=True):
        _, month, year, decade, top = path_of(tree, text)
        first, last = (int(part) for part in decade.split("-"))
        assert (month, year, top) == (text[:7], text[:4], "*") and first <= day.year <= last == first + 9
    assert tree.leaf_labels == tuple(sorted(texts))


def test_prefixes_keep_leading_zeros():
    tree = rule_from({"prefix": [4, 3, 1]}).build(["02138", "02139", "02", None])
    assert path_of(tree, "02138") == ["02138", "0213*", "021**", "0****", "*"]
    assert path_of(tree, "02") == ["02", "02", "02", "0*", "*"]


def test_masks():
    right = rule_from({"mask": "right"}).build(["abc", "abd"])
    assert path_of(right, "abc") == ["abc", "ab*", "a**", "*"]
    left = rule_from({"mask": "left", "steps": [2]}).build(["abc", "xbc", "z"])
    assert path_of(left, "abc") == ["abc", "**c", "*"] and path_of(left, "z")[-1] == "*"


def test_a_mask_over_long_text_needs_steps():
    with pytest.raises(BadTaxonomy, match="longer than 32 characters"):
        Mask("right").build(["x" * 33])
    assert Mask("right", (10, 20)).build(["x" * 33]).height == 3


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"prefix": [1, 3]}, "keep fewer characters"),
        ({"prefix": [0]}, "whole number from 1"),
        ({"prefix": []}, "keep fewer"),
        ({"mask": "middle"}, "right or left"),
        ({"mask": "right", "steps": [3, 1]}, "mask more characters"),
        ({"prefix": [3], "mask": "left"}, "exactly one of"),
        ({"prefx": [3]}, "Did you mean prefix"),
        ({"prefix": [3], "stop": 1}, "prefix has no key stop"),
        ("tree", "names one of"),
        (7, "names one of"),
    ],
)
def test_refusals(spec, complaint):
    with pytest.raises(BadPolicy, match=complaint):
        rule_from(spec)


texts = st.lists(st.text(alphabet="0*ab", max_size=5), max_size=12, unique=True)


@given(texts, st.sets(st.integers(1, 5), min_size=1), st.booleans())
def test_prefixes_and_masks_always_make_a_tree(values, steps, missing):
    """Even where the data holds stars of its own."""
    given_values = [*values, *([None] if missing else [])]
    for rule in (
        Prefix(tuple(sorted(steps, reverse=True))),
        Mask("left", tuple(sorted(steps))),
        Mask("right", tuple(sorted(steps))),
        Mask("right"),
    ):
        tree = rule.build(given_values)
        assert set(tree.leaf_labels) == (set(given_values) or {"*"})
        for value in values:
            assert all(len(label) == len(value) for label in path_of(tree, value)[:-1])
        if missing:
            assert tree.parent[tree.leaves[tree.rank(None)]] == 0


def test_words_that_look_like_nothing_stay_words():
    words = ["-", "999", "NA", "NULL", "None", "nan", "null", ""]
    assert rule_from("flat").build([*words, None]).leaf_labels == (*sorted(words), None)
    assert rule_from({"tree": {"Unknown": words}}).build([*words, None]).leaf_labels == (*words, None)


def test_flat_orders_numbers_by_size_and_text_by_text():
    assert Flat().build(["10", "9", "2.5"]).leaf_labels == ("2.5", "9", "10")
    assert Flat().build(["b", "10", "a"]).leaf_labels == ("10", "a", "b")
    tree = rule_from({"flat": ["low", "mid", "high"], "ordered": True}).build(["mid"])
    assert tree.leaf_labels == ("low", "mid", "high") and tree.ordered


def test_a_domain_may_lack_values():
    with pytest.raises(BadTaxonomy, match="2 values occur that the taxonomy lacks"):
        rule_from({"flat": ["a"]}).build(["a", "b", "c"])


def test_a_value_may_bear_the_name_of_its_group():
    tree = rule_from(
        {"rows": [["Europe", "Europe", "*"], ["France", "Europe", "*"], ["Peru", "America", "*"]]}
    ).build([])
    assert path_of(tree, "Europe") == ["Europe", "Europe", "*"]
    assert tree.levels[0, tree.rank("Europe")] != tree.levels[1, tree.rank("Europe")]
    assert tree.levels[1, tree.rank("Europe")] == tree.levels[1, tree.rank("France")]


def test_an_ordered_taxonomy_may_only_group_neighbours():
    rows = [["1", "odd", "*"], ["2", "even", "*"], ["3", "odd", "*"]]
    assert rule_from({"rows": rows}).build([]).leaf_labels == ("1", "3", "2")
    with pytest.raises(BadTaxonomy, match="only group neighbours"):
        rule_from({"rows": rows, "ordered": True}).build([])


def test_a_taxonomy_object_is_a_rule():
    tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    assert rule_from(tree).build(["Flu"]).digest == tree.digest


@pytest.mark.parametrize("key", sorted(set(BUILDERS) - {"file"}))
def test_nothing_occurs(key):
    spec = {
        "tree": {"A": ["a"]},
        "rows": [["a", "*"]],
        "intervals": [5],
        "date": ["year"],
        "prefix": [2],
        "mask": "left",
        "flat": True,
        "ready": "countries",
    }
    extra = {"from": 0, "to": 10} if key == "intervals" else {}
    rule = rule_from({key: spec[key], **extra})
    for values in ([], [None]):
        tree = rule.build(values)
        assert (None in tree.leaf_labels) == (None in values)
    assert rule_from(rule.spec) == rule


def test_many_values_do_not_take_long():
    values = [f"{i:06}" for i in range(120_000)]
    tree = Prefix((4, 2)).build(values)
    assert len(tree.leaves) == 120_000 and tree.height == 3
    assert isinstance(NestedTree.read({"tree": {"A": values}}).build(values), Taxonomy)
    assert len(WrittenRows.of(tree).rows) == 120_000


@given(
    st.lists(
        st.none() | st.sampled_from(["*", "7", "07", "1e1", "10", "-3"]) | st.text(max_size=3), unique=True
    ),
    st.booleans(),
)
def test_a_flat_tree_is_the_tree_of_one_level(values, ordered):
    leaves = in_natural_order([value for value in values if value is not None])
    expected = tree_of_levels([Level.of(leaves)], ordered=ordered, missing=None in values)
    built = Flat(ordered=ordered).build(values)
    assert (built.labels, built.digest) == (expected.labels, expected.digest)
    assert built.range_level == expected.range_level
    again = built.from_level(0)
    assert (again.labels, again.digest, again.ranks) == (built.labels, built.digest, built.ranks)
