"""Surveys look at every value."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from sfumato.table.source import open_source
from table.kinds import MAKERS, make_source

KINDS = {
    "integer": ["0", "-7", "9007199254740993"],
    "decimal": ["1", "2.50", "-0.1", "1e9"],
    "date": ["2024-02-29", "0001-01-01"],
    "boolean": ["true", "false"],
    "text": ["02138", "2138"],
}
NO_KIND = {
    "date": ["2023-02-29", "2024-01-01"],
    "integer": ["1", "x"],
    "decimal": ["1.5", "1,5"],
    "boolean": ["true", "1"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_text(kind):
    column = open_source(pa.table({"a": KINDS[kind]})).survey().columns["a"]
    assert column.kind == kind and column.complete


@pytest.mark.parametrize("kind", NO_KIND)
def test_one_exception_is_enough(kind):
    assert open_source(pa.table({"a": NO_KIND[kind]})).survey().columns["a"].kind == "text"


TYPED = {
    "integer": pa.array([1], pa.int8()),
    "decimal": pa.array([1.5]),
    "boolean": pa.array([True]),
    "date": pa.array([dt.datetime(2024, 1, 1)]),
    "list": pa.array([["a", "b"], None]),
}


@pytest.mark.parametrize(
    "numbers, kind", [([1000.0, 2.0, None], "integer"), ([1.0, 2.5], "decimal"), ([None], "decimal")]
)
def test_whole_numbers_are_whole_also_where_a_format_has_decimal_ones_alone(numbers, kind):
    """As spreadsheets and statistics programs store them; nothing is said of a column without a number."""
    column = open_source(pa.table({"a": pa.array(numbers, pa.float64())})).survey().columns["a"]
    assert column.kind == kind and not column.is_text


@pytest.mark.parametrize("kind", TYPED)
def test_kinds_of_types(kind):
    assert open_source(pa.table({"a": TYPED[kind]})).survey().columns["a"].kind == kind


@pytest.mark.parametrize("kind", MAKERS)
def test_values_counts_and_missing(kind):
    survey = make_source(kind)({"a": ["b", None, "a", "b"], "b": ["é", "z", "z", "z"]}).survey()
    a, b = survey.columns["a"], survey.columns["b"]
    assert survey.rows == 4
    assert (a.values, a.counts.tolist(), a.distinct, a.missing) == (("a", "b", None), [1, 2, 1], 2, 1)
    assert (b.values, b.counts.tolist(), b.missing) == (("z", "é"), [3, 1], 0)


@pytest.mark.slow
def test_too_many_values():
    late = [str(i) for i in range(600_000)] + ["not a number"]
    column = open_source(pa.table({"a": late})).survey(limit=1000).columns["a"]
    assert (column.complete, column.values, len(column.counts), column.kind) == (False, (), 0, "text")
    assert column.distinct > 1000
    assert open_source(pa.table({"a": late[:-1]})).survey(limit=1000).columns["a"].kind == "integer"


def test_only_the_columns_asked_for():
    assert list(open_source(pa.table({"a": ["x"], "b": ["y"]})).survey(["b"]).columns) == ["b"]


def test_an_empty_column_is_text():
    column = open_source(pa.table({"a": pa.nulls(3)})).survey().columns["a"]
    assert (column.kind, column.distinct, column.missing, column.values) == ("text", 0, 3, (None,))
    assert "None" not in repr(column)
