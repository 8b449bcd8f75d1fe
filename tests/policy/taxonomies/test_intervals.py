"""Every number lies in exactly one interval of each width (and the edges are where they are said to be)."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.taxonomies import rule_from
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.system.errors import BadPolicy, BadTaxonomy


def path_of(tree, value):
    return [tree.labels[v] for v in tree.levels[:, tree.rank(value)]]


def test_ages():
    tree = rule_from({"intervals": [5, 10, 20, 40], "from": 0, "to": 120}).build(["23"])
    assert path_of(tree, "23") == ["23", "[20, 25)", "[20, 30)", "[20, 40)", "[0, 40)", "*"]
    assert path_of(tree, "119") == ["119", "[115, 120)", "[110, 120)", "[100, 120)", "[80, 120)", "*"]
    assert len(tree.leaves) == 120 and tree.ordered and tree.leaf_labels[:2] == ("0", "1")


def test_the_leaves_do_not_depend_on_the_data():
    rule = rule_from({"intervals": [5], "from": 0, "to": 20})
    assert rule.build(["3"]).digest == rule.build(["17", "4"]).digest == rule.build([]).digest


@pytest.mark.parametrize(
    ("age", "leaf", "five"),
    [("84", "84", "[80, 85)"), ("89", "89", "[85, 90)"), ("90", "90+", "90+"), ("119", "90+", "90+")],
)
def test_top_code_at_89_and_90(age, leaf, five):
    tree = rule_from({"intervals": [5, 20], "from": 0, "to": 120, "top": 90}).build(["84", "89", "90", "119"])
    assert path_of(tree, age)[:2] == [leaf, five]
    assert "119" not in tree.labels and tree.labels.count("90+") == 1


def test_top_and_bottom_codes_join_wider_intervals():
    tree = rule_from({"intervals": [5, 20], "from": 0, "top": 90, "bottom": 18}).build(
        ["3", "17", "18", "95"]
    )
    assert path_of(tree, "17") == ["<18", "<20", "<20", "*"]
    assert path_of(tree, "18") == ["18", "<20", "<20", "*"]
    assert path_of(tree, "88") == ["88", "[85, 90)", "80+", "*"]
    assert path_of(tree, "95") == ["90+", "90+", "80+", "*"]
    assert tree.rank("3") == tree.rank("17") == 0


def test_codes_at_the_edge_of_an_interval():
    tree = rule_from({"intervals": [5], "from": 0, "bottom": 20, "top": 40}).build(["3"])
    assert path_of(tree, "3") == ["<20", "<20", "*"] and path_of(tree, "20") == ["20", "[20, 25)", "*"]
    assert path_of(tree, "39") == ["39", "[35, 40)", "*"] and tree.leaf_labels[-1] == "40+"
    exact = rule_from({"intervals": ["0.5"], "decimal": True, "bottom": 1, "top": 2}).build(
        ["0.9", "1", "1.99", "2"]
    )
    assert [path_of(exact, v)[1] for v in ("0.9", "1", "1.99", "2")] == ["<1", "[1, 1.5)", "[1.5, 2)", "2+"]


def test_an_interval_with_both_codes_is_everything():
    tree = rule_from({"intervals": [10, 100], "from": 0, "bottom": 10, "top": 40}).build(["1", "99"])
    assert path_of(tree, "1") == ["<10", "<10", "*", "*"] and path_of(tree, "99") == ["40+", "40+", "*", "*"]
    assert tree.labels.count("*") == 1


def test_the_last_interval_is_cut_at_the_end_of_the_range():
    tree = rule_from({"intervals": [5], "from": 0, "to": 12}).build([])
    assert path_of(tree, "11") == ["11", "[10, 12)", "*"]


def test_negative_numbers():
    tree = rule_from({"intervals": [5, 10], "from": -10, "to": 10}).build(["-7"])
    assert path_of(tree, "-7") == ["-7", "[-10, -5)", "[-10, 0)", "*"]


def test_other_ways_to_write_a_whole_number_are_the_same_leaf():
    tree = rule_from({"intervals": [5], "from": 0, "to": 10}).build(["7", "07", "7.0", "+7"])
    assert {tree.rank(v) for v in ("7", "07", "7.0", "+7")} == {7}


@pytest.mark.parametrize("value", ["120", "-1", "7.5", "NaN", "inf", "", "seven", "1_0", "٣", "1e999", " 7"])
def test_values_out_of_range_are_counted_and_not_shown(value):
    with pytest.raises(BadTaxonomy, match="1 value occurs that the taxonomy lacks") as caught:
        rule_from({"intervals": [5], "from": 0, "to": 120}).build([value, "3"])
    assert caught.value.values == (value,)
    assert not value or repr(value) not in str(caught.value)


def test_decimals():
    rule = rule_from({"intervals": ["0.1", "0.5"], "decimal": True})
    tree = rule.build(["0.3", "0.25", "0.30", "-0.05", None])
    assert path_of(tree, "0.3") == ["0.3", "[0.3, 0.4)", "[0, 0.5)", "*"]
    assert path_of(tree, "0.30")[1:] == path_of(tree, "0.3")[1:]
    assert path_of(tree, "-0.05")[1:] == ["[-0.1, 0)", "[-0.5, 0)", "*"]
    assert tree.leaf_labels == ("-0.05", "0.25", "0.3", "0.30", None)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"intervals": [5, 12], "from": 0, "to": 120}, "5 does not divide 12"),
        ({"intervals": [10, 5], "from": 0, "to": 120}, "10 does not divide 5"),
        ({"intervals": [0], "from": 0, "to": 120}, "greater than 0"),
        ({"intervals": [-5], "from": 0, "to": 120}, "greater than 0"),
        ({"intervals": [5], "from": 0}, "to .or top. is missing"),
        ({"intervals": [5], "to": 9}, "from .or bottom. is missing"),
        ({"intervals": [5], "from": 9, "to": 9}, "range is empty"),
        ({"intervals": [5], "from": 0, "to": 120, "top": -3}, "range is empty"),
        ({"intervals": [0.5], "from": 0, "to": 120}, "not all numbers are whole"),
        ({"intervals": [5], "from": 0, "to": 10**9}, "more than 2,000,000 whole numbers"),
        ({"intervals": ["five"], "from": 0, "to": 9}, "must be a number"),
        ({"intervals": [5], "from": 0, "upto": 9}, "intervals has no key upto"),
    ],
)
def test_refusals(spec, complaint):
    with pytest.raises(BadPolicy, match=complaint):
        rule_from(spec)


exact = st.decimals(-1000, 1000, places=3, allow_nan=False)
widths = st.tuples(st.decimals("0.001", 50, places=3), st.lists(st.integers(2, 5), max_size=3))


@given(st.lists(exact, min_size=1, max_size=30), widths, exact)
def test_every_decimal_lies_in_exactly_one_interval_that_holds_it(numbers, scale, anchor):
    finest, factors = scale
    sizes = [finest]
    for factor in factors:
        sizes.append(sizes[-1] * factor)
    texts = sorted({str(n) for n in numbers if n >= anchor} | {str(anchor)})
    tree = Intervals(tuple(sizes), start=anchor, decimal=True).build(texts)
    for text in texts:
        at = Fraction(text)
        for level, width in enumerate(sizes, start=1):
            label = tree.labels[tree.levels[level, tree.rank(text)]]
            low, high = (Fraction(part) for part in label.strip("[)").split(", "))
            assert low <= at < high
            assert high - low == Fraction(width)
            assert (low - Fraction(anchor)) % Fraction(width) == 0


@given(st.integers(-50, 50), st.integers(1, 200), st.integers(1, 7), st.lists(st.integers(2, 4), max_size=3))
def test_whole_number_intervals_are_total_and_disjoint(start, span, finest, factors):
    sizes = [Decimal(finest)]
    for factor in factors:
        sizes.append(sizes[-1] * factor)
    tree = Intervals(tuple(sizes), Decimal(start), Decimal(start + span)).build([])
    assert tree.leaf_labels == tuple(str(i) for i in range(start, start + span))
    for level in range(1, len(sizes) + 1):
        nodes = tree.levels[level]
        edges = [i for i, (a, b) in enumerate(pairwise(nodes.tolist()), start=1) if a != b]
        assert all(edge % int(sizes[level - 1]) == 0 for edge in edges)
        assert len(edges) == -(-span // int(sizes[level - 1])) - 1


@given(st.integers(0, 120), st.integers(1, 119), st.sampled_from([[5], [5, 10], [7, 14, 28]]))
def test_top_codes_hide_everything_above(age, top, sizes):
    tree = rule_from({"intervals": sizes, "from": 0, "top": top}).build([str(age)])
    leaf = tree.leaf_labels[tree.rank(str(age))]
    assert leaf == (f"{top}+" if age >= top else str(age))
