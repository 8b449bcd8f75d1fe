"""Hierarchy files as ARX writes them, whole and broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.taxonomies import rule_from
from sfumato.policy.taxonomies.files import HierarchyFile, WrittenRows, as_csv, parse
from sfumato.system.errors import BadInput, BadPolicy, BadTaxonomy
from strategies import taxonomies


def tree_of(text, **options):
    content = text if isinstance(text, bytes) else text.encode()
    return HierarchyFile("h.csv", content, **options).build([])


def path_of(tree, value):
    return [tree.labels[v] for v in tree.levels[:, tree.rank(value)]]


def test_columns_are_levels():
    tree = tree_of("Bachelors;Undergraduate;Higher;*\nMasters;Graduate;Higher;*\n9th;School;Secondary;*\n")
    assert path_of(tree, "Masters") == ["Masters", "Graduate", "Higher", "*"]
    assert tree.height == 3 and len(tree.labels) == 9


def test_a_label_repeated_upwards_is_one_node_and_the_level_stays():
    tree = tree_of("White;White;*\nBlack;Black;*\nCree;Native;*\nHopi;Native;*\n")
    assert tree.height == 2 and tree.labels.count("White") == 1
    assert path_of(tree, "White") == ["White", "White", "*"]


@pytest.mark.parametrize("separator", list(";,\t|"))
def test_separators_quotes_and_bom(separator):
    text = f'"a{separator}b"{separator}"say ""x"""{separator}*\r\nc{separator}C{separator}*\r\n'
    for content in (text.encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        tree = tree_of(content)
        assert path_of(tree, f"a{separator}b") == [f"a{separator}b", 'say "x"', "*"]


def test_a_comma_inside_a_semicolon_file():
    assert path_of(tree_of("Doe, J;People, all;*\nRoe, K;People, all;*\n"), "Doe, J")[1] == "People, all"


def test_ragged_rows_are_aligned_at_the_root():
    tree = tree_of("Never-married;*\nCivil;Married;Ever;*\nDivorced;Left;Ever;*\n")
    assert path_of(tree, "Never-married") == ["Never-married"] * 3 + ["*"]
    assert path_of(tree, "Civil") == ["Civil", "Married", "Ever", "*"]


def test_a_root_is_added_where_rows_end_differently():
    tree = tree_of("a;X\nb;Y\n")
    assert path_of(tree, "a") == ["a", "X", "*"]
    mixed = tree_of("a;X;*\nb;Y\n")
    assert path_of(mixed, "b") == ["b", "Y", "*"] and mixed.labels.count("*") == 1
    assert tree_of("a\nb\n").labels == ("*", "a", "b")


def test_another_word_for_the_root():
    assert path_of(tree_of("a;X;Any\nb;Y;Any\n"), "a") == ["a", "X", "Any"]


def test_trailing_separators_and_blank_lines_do_not_matter():
    assert tree_of("a;X;*;;\n\nb;X;*\n\n").digest == tree_of("a;X;*\nb;X;*").digest


def test_equal_rows_are_merged():
    assert tree_of("a;X;*\nb;X;*\na;X;*\n").leaf_labels == ("a", "b")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "a;X;*\nb;Y;*\na;Y;*\n",
            r"h.csv: not a hierarchy: a value can become one label or another \(lines 1 and 3\)",
        ),
        ("a;Other;Europe;*\nb;Other;Asia;*\n", "a label stands below one label and below another"),
        ("a;X;Y;*\nb;Y;Z;*\n", "a label stands below one label"),
        ("a;X;Y;X;*\n", "in a circle"),
        ("a;X;*\n;X;*\n", "h.csv, line 2: the value is empty"),
        ("a;;X;*\n", "h.csv, line 1: level 1 is empty"),
        ('a;X;*\n"b;X;*\n', "h.csv, line 2: a quote is not closed"),
        ("", "the hierarchy is empty"),
        ("\n\n", "the hierarchy is empty"),
        ("a;X\0;*\n", "line 1: holds a NUL"),
        (b"a;X;*\nb;\xff;*\n", "line 2: not UTF-8"),
    ],
)
def test_broken_files_say_where(text, complaint):
    with pytest.raises(BadTaxonomy, match=complaint):
        tree_of(text)


def test_values_that_are_not_in_the_file_are_counted_and_not_shown():
    rule = HierarchyFile("h.csv", b"a;X;*\nb;X;*\n")
    with pytest.raises(BadTaxonomy, match="3 values occur that the taxonomy lacks") as caught:
        rule.build(["a", "canary-1", "canary-2", "canary-3", None])
    assert "canary" not in str(caught.value) + repr(caught.value) and len(caught.value.values) == 3


def test_empty_cells_get_a_leaf_below_the_root():
    tree = HierarchyFile("h.csv", b"a;X;*\nb;X;*\n").build(["a", None])
    assert tree.leaf_labels == ("a", "b", None) and path_of(tree, None) == [None, None, "*"]


def test_reading_from_a_folder(tmp_path):
    (tmp_path / "job.csv").write_text("nurse;care;*\n")
    rule = rule_from({"file": "job.csv"}, tmp_path)
    assert rule.build(["nurse"]).height == 2 and rule.spec == {"file": "job.csv"} and len(rule.digest) == 64
    with pytest.raises(BadPolicy, match=r"'absent.csv' cannot be read: no such file"):
        rule_from({"file": "absent.csv"}, tmp_path)
    with pytest.raises(BadPolicy, match="cannot be read"):
        rule_from({"file": "."}, tmp_path)


@given(taxonomies(leaves=7))
def test_what_is_written_is_read_back(tree):
    again = HierarchyFile("h.csv", as_csv(tree).encode(), ordered=tree.ordered).build([])
    assert WrittenRows.of(again).rows == WrittenRows.of(tree).rows
    assert again.leaf_labels == tree.leaf_labels


labels = st.text(
    alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda s: s != "*")


@given(st.lists(labels, min_size=1, max_size=8, unique=True))
def test_any_label_survives_the_file(names):
    tree = WrittenRows(tuple((name, "*") for name in names)).build([])
    rows, _ = parse(as_csv(tree).encode())
    assert rows == [(name, "*") for name in names]


@given(st.binary(max_size=60))
def test_any_bytes_make_a_tree_or_a_clear_refusal(content):
    try:
        tree = HierarchyFile("h.csv", content).build([])
    except BadInput as wrong:
        assert str(wrong)
    else:
        assert len(tree.leaves) >= 1
