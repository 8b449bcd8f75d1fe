"""Which texts the judge takes for finer than the policy's levels, beside what the search can publish."""

from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.taxonomies import rule_from
from sfumato.recipients.marks import next_wider
from sfumato.system.errors import BadPolicy, BadTaxonomy
from sfumato.verify.policy_data import JudgedColumn, label_reader

pytestmark = pytest.mark.slow

WHOLE = {"intervals": [5, 10], "from": 0, "to": 60}
DAYS = st.integers(0, 20000).map(lambda n: (date(1950, 1, 1) + timedelta(days=n)).isoformat())
NUMBERS = st.integers(-900, 900).map(lambda n: str(n / 10))
AGES = st.integers(0, 59).map(str)
CODES = st.text("0123456789", min_size=3, max_size=3)
ROWS = [
    ["1", "1-2", "1-4", "*"],
    ["2", "1-2", "1-4", "*"],
    ["3", "3-4", "1-4", "*"],
    ["4", "3-4", "1-4", "*"],
]
ROWS += [["5", "5-7", "5-7", "*"], ["6", "5-7", "5-7", "*"]]

SPECS = [
    ({"date": ["year", "decade"]}, DAYS),
    ({"date": ["day", "month", "quarter", "year"]}, DAYS),
    ({"date": ["week"]}, DAYS),
    ({"intervals": [2, 10, 40], "decimal": True}, NUMBERS),
    ({"intervals": ["0.5", 5], "decimal": True, "top": 33, "bottom": -12}, NUMBERS),
    (WHOLE, AGES),
    ({**WHOLE, "top": 52, "bottom": 18}, AGES),
    ({"intervals": [1, 4], "from": -7, "to": 60}, AGES),
    ({"rows": ROWS, "ordered": True}, st.sampled_from("123456")),
    (
        {"tree": {"low": ["a", "b"], "high": {"more": ["c"], "most": ["d", "e"]}}, "ordered": True},
        st.sampled_from("abcde"),
    ),
    ({"flat": ["lo", "mid", "hi"], "ordered": True}, st.sampled_from(["lo", "mid", "hi"])),
    ({"flat": True}, CODES),
    ({"prefix": [2, 1]}, CODES),
    ({"mask": "left"}, CODES),
    ({"mask": "right", "steps": [2]}, CODES),
]


@given(st.data())
@pytest.mark.parametrize(
    ("spec", "values"), SPECS, ids=lambda x: str(next(iter(x))) if isinstance(x, dict) else ""
)
def test_what_the_search_publishes_is_not_finer(spec, values, data):
    tree = rule_from(spec).build(data.draw(st.lists(values, min_size=1, max_size=6, unique=True)))
    reader = label_reader(spec)
    for start in range(tree.height + 1):
        above = tree.from_level(start)
        assert not any(reader.is_finer(label, start, False) for label in above.labels)
        if above.ordered:
            lows, highs = ({int(end) for end in ends} for ends in above.range_cells())
            for low, high in ((a, b) for a in lows for b in highs if a < b):
                assert not reader.is_finer(above.describe(low, high), start, True)


@given(st.data())
@pytest.mark.parametrize(
    ("spec", "values"), SPECS, ids=lambda x: str(next(iter(x))) if isinstance(x, dict) else ""
)
def test_what_lies_below_a_level_is_finer(spec, values, data):
    tree = rule_from(spec).build(data.draw(st.lists(values, min_size=2, max_size=6, unique=True)))
    reader = label_reader(spec)
    for start in range(1, tree.height + 1):
        shown = {tree.labels[v] for v in tree.levels[start:].ravel()}
        for leaf in set(tree.leaf_labels) - shown - _alone_in_an_interval(shown):
            assert reader.is_finer(leaf, start, False) or _coarse_anyway(leaf)
    if tree.ordered and tree.range_level:
        ends = {tree.labels[v] for v in tree.levels[1:].ravel()}
        ends |= _alone_in_an_interval(ends)
        raw = [leaf for leaf in tree.leaf_labels if leaf not in ends]
        assert all(reader.is_finer(leaf, 0, True) or _coarse_anyway(leaf) for leaf in raw)
        for one, other in combinations(raw, 2):
            starts, stops = tree.range_cells()
            first, last = tree.rank(one), tree.rank(other)
            begins = starts[first] == first or one == "18"
            ends = stops[last] == last + 1 or other == "51"
            if "from" not in spec or not (begins and ends):
                named = "rows" in spec and _boundary(one, other)
                assert named or reader.is_finer(f"{one}–{other}", 0, True)


def _alone_in_an_interval(labels):
    """Whole numbers of which an interval of one is among these labels: `28` says no more than `[28, 29)`."""
    pairs = [label[1:-1].split(", ") for label in labels if label.startswith("[")]
    return {low for low, high in pairs if Fraction(high) == Fraction(low) + 1 and "." not in low}


def _coarse_anyway(leaf):
    """Top and bottom codes, and codes whose own characters are stars, say no more than a level does."""
    return leaf.startswith("<") or leaf.endswith("+")


def _boundary(one, other):
    """Whether a range of values of ROWS is one of groups as well."""
    return one in "135" and other in "247"


@pytest.mark.parametrize(
    ("spec", "text", "finer"),
    [
        ({"date": ["year", "decade"]}, "1953-02-11", True),
        ({"date": ["year", "decade"]}, "1953-02-11T08:00Z", True),
        ({"date": ["year", "decade"]}, "1953-02", True),
        ({"date": ["year", "decade"]}, "1953-02-11–1957-08-03", True),
        ({"date": ["year", "decade"]}, "1953–1957", False),
        ({"date": ["decade"]}, "1950–1979", False),
        ({"date": ["decade"]}, "1953–1979", True),
        ({"date": ["day", "year"]}, "1953-02-11", False),
        ({"date": ["day", "year"]}, "1953-02-11–1953-02-14", False),
        ({"intervals": [20000], "decimal": True}, "20000", True),
        ({"intervals": [20000], "decimal": True}, "20000–1234567", True),
        ({"intervals": [20000], "decimal": True}, "[20000, 1240000)", False),
        ({"intervals": [20000], "decimal": True}, "[20000, 1234567)", True),
        (WHOLE, "23–44", True),
        (WHOLE, "20–44", False),
        (WHOLE, "20-24", False),
        (WHOLE, "nothing of it", False),
    ],
)
def test_examples(spec, text, finer):
    assert label_reader(spec).is_finer(text, 0, True) is finer


def test_every_builder_of_a_policy_has_a_reader():
    for spec, _ in SPECS:
        assert not label_reader(spec).is_finer("*", 1, True)
    with pytest.raises((BadPolicy, BadTaxonomy)):
        label_reader({"nothing": 1})


@given(st.data())
@pytest.mark.parametrize(
    ("spec", "values"), SPECS, ids=lambda x: str(next(iter(x))) if isinstance(x, dict) else ""
)
def test_a_label_is_coarser_than_a_level_where_the_tree_says_so(spec, values, data):
    held = data.draw(st.lists(values, min_size=2, max_size=6, unique=True))
    tree = rule_from(spec).build(held)
    reader = label_reader(spec)
    for most in range(tree.height):
        for node, label in enumerate(tree.labels):
            tops = set(tree.levels[most][tree.low[node] : tree.high[node]].tolist())
            if reader.is_coarser(label, most):
                assert min(tops) > node
            elif len(tops) > 1 and not _reads_otherwise(spec, label):
                assert label in {tree.labels[v] for v in tree.levels[most].tolist()}
        assert not any(reader.is_coarser(tree.labels[v], most) for v in tree.levels[: most + 1].ravel())


def _reads_otherwise(spec, label):
    """Whether a label of several values may be that of one: a whole mask where codes have one character."""
    return "mask" in spec and set(label) == {"*"}


@given(st.data())
@pytest.mark.parametrize(
    ("spec", "values"), SPECS, ids=lambda x: str(next(iter(x))) if isinstance(x, dict) else ""
)
def test_the_level_of_a_column_is_one_that_its_texts_allow(spec, values, data):
    held = data.draw(st.lists(values, min_size=1, max_size=6, unique=True))
    tree = rule_from(spec).build(held)
    column = JudgedColumn("quasi", spec)
    for level, nodes in enumerate(tree.levels):
        shown = [tree.labels[v] for v in nodes[[tree.rank(value) for value in held]].tolist()]
        here, last = column.levels(shown)
        assert min(level, last) in here


@pytest.mark.parametrize("spec", [{"flat": True}, None])
def test_a_column_without_groups_is_coarser_where_it_tells_nothing(spec):
    assert JudgedColumn("quasi", spec, at_most=0).too_coarse(["a", "*", None]) == 1
    assert JudgedColumn("quasi", spec, at_most=1).too_coarse(["a", "*", None]) == 0


@given(st.data())
@pytest.mark.parametrize(
    ("spec", "values"), SPECS, ids=lambda x: str(next(iter(x))) if isinstance(x, dict) else ""
)
def test_what_is_raised_says_less_and_nothing_else_does(spec, values, data):
    """A version for a recipient shows wider texts; the judge reads what each covers by itself."""
    tree = rule_from(spec).build(data.draw(st.lists(values, min_size=2, max_size=6, unique=True)))
    column = JudgedColumn("quasi", spec)
    spans = [(int(tree.low[v]), int(tree.high[v])) for v in range(len(tree.labels))]
    if tree.ordered:
        cells = sorted(set(zip(*(ends.tolist() for ends in tree.range_cells()), strict=True)))
        spans += [(a[0], b[1]) for a, b in combinations(cells, 2)]
    low, high = data.draw(st.sampled_from(spans))
    wider = next_wider(tree, low, high)
    text = tree.describe(low, high)
    if wider is not None:
        raised = tree.describe(*wider)
        assert not column.not_covered([(raised, text), (raised, raised), (text, text)])
        assert raised == text or column.not_covered([(text, raised)])
    begin, end = data.draw(st.sampled_from(spans))
    if not (begin <= low and high <= end):
        assert column.not_covered([(tree.describe(begin, end), text)])


def test_an_empty_cell_is_covered_by_what_covers_everything():
    listed = JudgedColumn("quasi", {"tree": {"all": {"north": ["a"], "south": ["b"]}}})
    flat = JudgedColumn("quasi", None)
    assert not listed.not_covered([("all", None), ("all", "a"), ("all", "north")])
    for column in (listed, flat):
        pairs = [("*", None), (None, None), (None, "a"), ("a", None), ("a", "*")]
        assert column.not_covered(pairs) == pairs[2:]
