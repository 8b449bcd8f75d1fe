"""The judge's own trees against those of the search, on random words of a policy and random cells.

They have the same leaves, the same groups and labels at every level, and the same texts without a place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.policy.taxonomies import BUILDERS, rule_from
from sfumato.system.errors import BadInput, BadTaxonomy
from sfumato.verify.trees import KINDS, value_tree

pytestmark = pytest.mark.slow

MANY = settings(max_examples=4 * settings.default.max_examples)

LABELS = st.sampled_from(["*", "a", "b", "c", "A", "B", "C", "7", "0x", "Ä", "a b", "~"])
WORDS = st.one_of(LABELS, st.text("ab*;,|\t\"'\n ", min_size=1, max_size=3))
CELLS = st.lists(st.one_of(WORDS, st.none()), max_size=8)


def same_tree(rule, spec, texts):
    """Both trees of these texts, compared in everything that a judge looks at; neither has them all."""
    content = getattr(rule, "content", None)
    try:
        theirs = rule.build(texts)
    except BadTaxonomy as refused:
        with pytest.raises(BadTaxonomy) as also:
            value_tree(spec, texts, content=content)
        if _is_a_hierarchy(rule):
            assert sorted(also.value.values) == sorted(refused.values)
        return None
    ours = value_tree(spec, texts, content=content)
    assert ours.values == theirs.leaf_labels
    assert ours.height == theirs.height and ours.ordered == theirs.ordered
    for level in range(theirs.height + 1):
        nodes = theirs.levels[level]
        assert ours.labels[level] == tuple(theirs.labels[v] for v in nodes)
        assert ours.groups[level].tolist() == theirs.low[nodes].tolist()
    for text in {*texts, *theirs.labels, *theirs.aliases, None, "elsewhere"}:
        assert ours.place(text) == theirs.rank(text)
    same_nodes(ours.nodes, theirs)
    return ours


def _is_a_hierarchy(rule):
    """Whether the words make a tree: then some texts have no place in it, and else no text has one."""
    try:
        rule.build([])
    except BadTaxonomy:
        return False
    return True


def same_nodes(ours, theirs):
    assert ours.labels == theirs.labels
    for mine, other in (("parent", "parent"), ("low", "low"), ("high", "high"), ("end", "end")):
        assert getattr(ours, mine).tolist() == getattr(theirs, other).tolist()
    for label in theirs.labels:
        assert ours.named(label) == theirs.node(label)


def compare(words, texts):
    """The policy reads the words and writes them down again; the judge reads what is written."""
    try:
        rule = rule_from(words)
    except BadInput:
        assume(False)
    spec = rule.spec
    texts = list(dict.fromkeys(texts))
    for order in (texts, sorted(texts, key=lambda t: (t is None, t or ""))):
        same_tree(rule, spec, order)


def test_there_is_a_builder_for_every_kind_that_the_policy_knows():
    assert {*KINDS, "file", "ready"} == set(BUILDERS)


@MANY
@given(st.one_of(st.just(True), st.lists(WORDS, min_size=1, max_size=8)), st.booleans(), CELLS)
def test_flat(domain, ordered, texts):
    compare({"flat": domain, "ordered": ordered}, texts)


NUMBERS = st.one_of(
    st.integers(-12, 30).map(str),
    st.decimals(-5, 30, places=2).map(str),
    st.sampled_from(
        ["007", "+3", "-0", "1e1", "2.50", "2.5", ".5", "5.", "1E-3", "nan", "inf", "1_0", "x", ""]
    ),
    st.sampled_from(["9" * 59, "9" * 61, "1e59", "1e60", "0e999", "1e-59", "1e-60", "٣", "1e0000"]),
)


@MANY
@given(st.lists(st.one_of(NUMBERS, st.none()), max_size=8), st.booleans())
def test_flat_numbers(texts, ordered):
    compare({"flat": True, "ordered": ordered}, texts)


@st.composite
def scales(draw):
    """Widths that divide each other, and ends near the numbers that occur."""
    decimal = draw(st.booleans())
    end = st.decimals(-6, 20, places=1) if decimal else st.integers(-6, 20)
    width = draw(st.sampled_from(["0.5", "1.5", 2, 1]) if decimal else st.integers(1, 4))
    widths = [width]
    for _ in range(draw(st.integers(0, 2))):
        widths.append(type(widths[-1])(_times(widths[-1], draw(st.integers(2, 3)))))
    words = {"intervals": widths, **({"decimal": True} if decimal else {})}
    for key in draw(st.sets(st.sampled_from(["from", "to", "top", "bottom"]), min_size=0 if decimal else 2)):
        words[key] = draw(end.map(str) if decimal else end)
    return words


def _times(width, factor):
    return str(float(width) * factor) if isinstance(width, str) else width * factor


@settings(max_examples=10 * settings.default.max_examples)
@given(scales(), st.lists(st.one_of(NUMBERS, st.none()), max_size=8), st.booleans())
def test_intervals(words, texts, fitting):
    try:
        rule = rule_from(words)
    except BadInput:
        assume(False)
    if fitting:
        texts = [t for t in texts if t is None or _has(rule, t)]
    compare(words, texts)


def _has(rule, text):
    try:
        rule.build([text])
    except BadTaxonomy:
        return False
    return True


DATES = st.one_of(
    st.dates().map(lambda d: d.isoformat()),
    st.datetimes().map(lambda d: d.isoformat()),
    st.datetimes().map(lambda d: d.isoformat(" ", timespec="minutes") + "Z"),
    st.sampled_from(
        ["2024-02-29", "2024-02-29T23:59:59+13:00", "2024-02-29 23:59 +01", "2021-01-03", "0001-01-01"]
    ),
    st.sampled_from(
        ["2023-02-29", "2024", "2024-02-29T", "20240229", "2024-02-29T10", "2024-02-29T1:00", "x", ""]
    ),
    st.sampled_from(
        ["2024-02-29T99:99", "2024-02-29T10:00:00,5-0500", "2024-02-29T10:00\t+01:", "9999-12-31"]
    ),
)
UNITS = ["day", "week", "month", "quarter", "year", "decade"]


@MANY
@given(
    st.lists(st.sampled_from(UNITS), min_size=1, max_size=4, unique=True).map(
        lambda u: sorted(u, key=UNITS.index)
    ),
    st.lists(st.one_of(DATES, st.none()), max_size=6),
    st.booleans(),
)
def test_dates(units, texts, fitting):
    words = {"date": units}
    if fitting and not ("week" in units and units[-1] != "week"):
        rule = rule_from(words)
        texts = [t for t in texts if t is None or _has(rule, t)]
    compare(words, texts)


CODES = st.lists(st.one_of(st.text("01K*", max_size=6), st.just("x" * 33), st.none()), max_size=8)


@MANY
@given(st.lists(st.integers(1, 7), min_size=1, max_size=3, unique=True).map(lambda n: sorted(n)[::-1]), CODES)
def test_prefix(kept, texts):
    compare({"prefix": kept}, texts)


@MANY
@given(
    st.sampled_from(["left", "right"]),
    st.lists(st.integers(1, 7), max_size=3, unique=True).map(sorted),
    CODES,
)
def test_mask(end, steps, texts):
    compare({"mask": end, **({"steps": steps} if steps else {})}, texts)


ROWS = st.lists(st.lists(LABELS, min_size=1, max_size=4), min_size=1, max_size=6)


@st.composite
def hierarchies(draw):
    """Rows of a real hierarchy, mostly: groups are named by what they hold."""
    width = draw(st.integers(1, 3))
    rows = []
    for value in draw(st.lists(st.integers(0, 11), min_size=1, max_size=8, unique=True)):
        row = [f"v{value}"]
        for level in range(1, width + 1):
            row.append(f"g{level}.{value >> (2 * level)}" if draw(st.integers(0, 5)) else row[-1])
        rows.append([*row, "*"] if draw(st.integers(0, 4)) else row)
    return rows


@settings(max_examples=10 * settings.default.max_examples)
@given(st.one_of(ROWS, hierarchies()), st.booleans(), st.data())
def test_rows(rows, ordered, data):
    compare({"rows": rows, "ordered": ordered}, _cells_of(rows, data))


def _cells_of(rows, data):
    values = [row[0] for row in rows]
    return data.draw(st.lists(st.one_of(st.sampled_from(values), st.none()), max_size=6)) + data.draw(
        st.lists(WORDS, max_size=1)
    )


TREES = st.recursive(
    LABELS,
    lambda below: st.one_of(
        st.lists(below, min_size=1, max_size=3),
        st.dictionaries(LABELS, st.one_of(below, st.none()), min_size=1, max_size=3),
    ),
    max_leaves=7,
).filter(lambda words: not isinstance(words, str))


@settings(max_examples=10 * settings.default.max_examples)
@given(TREES, st.booleans(), st.data())
def test_trees(words, ordered, data):
    try:
        rule = rule_from({"tree": words, "ordered": ordered})
    except BadInput:
        assume(False)
    values = rule.build([]).leaf_labels
    compare({"tree": words, "ordered": ordered}, _cells_of([[v] for v in values], data))


@settings(max_examples=6 * settings.default.max_examples)
@given(
    st.one_of(ROWS, hierarchies()),
    st.sampled_from(";,\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
    st.data(),
)
def test_files(tmp_path_factory, rows, separator, encoding, ending, ordered, data):
    quoted = data.draw(st.booleans())
    lines = [separator.join(f'"{cell}"' if quoted else cell for cell in row) for row in rows]
    if data.draw(st.integers(0, 5)) == 0:
        lines[0] += separator
    path = tmp_path_factory.mktemp("hierarchy") / "job.csv"
    path.write_bytes((ending.join(lines) + ending).encode(encoding))
    try:
        rule = rule_from({"file": path.name, "ordered": ordered}, path.parent)
    except BadInput:
        assume(False)
    for texts in (_cells_of(rows, data), []):
        same_tree(rule, rule.spec, list(dict.fromkeys(texts)))


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"a;b\0\n", b"a;;c\n", b";b\n", b'a;"b\n', b"a;b\na;c\n", b"\n"]
)
def test_files_that_are_no_hierarchy(content):
    with pytest.raises(BadTaxonomy):
        value_tree({"file": "h.csv"}, [], content=content)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"flat": True, "prefix": [1]},
        {"file": "h.csv"},
        {"intervals": [2, 3], "from": 0, "to": 9},
        {"intervals": [0], "from": 0, "to": 9},
        {"intervals": [2]},
        {"intervals": ["x"], "from": 0, "to": 9},
        {"intervals": [2], "from": 0.5, "to": 9},
        {"date": ["fortnight"]},
        {"rows": [["a", "b"], ["a", "c"]]},
        {"rows": [["a", "x", "p"], ["b", "x", "q"]]},
        {"rows": [["a", "x"], ["b", "y"], ["c", "x"]], "ordered": True},
        {"mask": "left"},
    ],
)
def test_words_that_make_no_tree(spec):
    with pytest.raises(BadTaxonomy):
        value_tree(spec, ["x" * 40] if "mask" in spec else [])


def test_a_label_that_is_no_node_is_not_found():
    with pytest.raises(BadTaxonomy):
        value_tree({"flat": ["a"]}, []).nodes.named("b")


def test_a_long_scale_is_soon_built():
    tree = value_tree({"intervals": [5, 10], "from": 0, "to": 200_000, "top": 150_000}, ["7", "190000", None])
    assert len(tree.values) == 150_002 and tree.values[tree.place("190000")] == "150000+"
    assert np.array_equal(np.diff(tree.nodes.low) >= 0, np.ones(len(tree.nodes.low) - 1, bool))
