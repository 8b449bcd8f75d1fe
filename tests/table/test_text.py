"""The canonical text of a cell, per type; typed columns come back as they were."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.system.errors import BadData, UsageError
from sfumato.table.cell_text import canonical
from sfumato.table.microdata import Missing
from sfumato.table.source import open_source
from sfumato.testing.engines import codings, recodings

BERLIN = "Europe/Berlin"
TEXTS = {
    "int": (pa.array([7, -7, 2**53 + 1, None]), ["7", "-7", "9007199254740993", None]),
    "uint": (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
    "float": (
        pa.array([1.0, -0.0, 0.1, 1e300, 5e-324, math.nan]),
        ["1", "0", "0.1", "1e+300", "5e-324", None],
    ),
    "float32": (pa.array([0.1, 3.0], pa.float32()), ["0.1", "3"]),
    "bool": (pa.array([True, False]), ["true", "false"]),
    "decimal": (
        pa.array([Decimal("1.10"), Decimal("-0.0000001")], pa.decimal128(20, 7)),
        ["1.1000000", "-0.0000001"],
    ),
    "date": (pa.array([dt.date(2024, 2, 29), dt.date(1, 1, 1)]), ["2024-02-29", "0001-01-01"]),
    "midnight": (
        pa.array([dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 1)]),
        ["2024-02-29", "2024-02-29T01:00:00"],
    ),
    "nanoseconds": (
        pa.array([1, 10**9], pa.timestamp("ns")),
        ["1970-01-01T00:00:00.000000001", "1970-01-01T00:00:01"],
    ),
    "before 1970": (pa.array([-1], pa.timestamp("us")), ["1969-12-31T23:59:59.999999"]),
    "the hour that comes twice": (
        pa.array([1729989000, 1729992600], pa.timestamp("s", BERLIN)),
        ["2024-10-27T00:30:00+00:00", "2024-10-27T01:30:00+00:00"],
    ),
    "time": (pa.array([dt.time(1, 2, 3)]), ["01:02:03"]),
    "dictionary": (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"]),
    "view": (pa.array(["x" * 20], pa.string_view()), ["x" * 20]),
    "nothing": (pa.nulls(2), [None, None]),
}


EDGES = (0.0, -0.0, 1e-4, 9.999e-5, 1e9, 999999999.5, 1e9 + 0.5, 2.0**53, 2.0**53 - 1, math.inf, -math.inf)


@given(st.lists(st.none() | st.sampled_from(EDGES) | st.floats() | st.floats(-1e10, 1e10)))
def test_floats_are_written_at_once_as_one_by_one(cells):
    def written(cell):
        if cell is None or math.isnan(cell):
            return None
        return (
            str(int(cell)) if math.isfinite(cell) and cell == int(cell) and abs(cell) < 2**53 else str(cell)
        )

    assert canonical(pa.array(cells, pa.float64())).to_pylist() == [written(cell) for cell in cells]


@pytest.mark.parametrize("case", TEXTS)
def test_canonical_text(case):
    array, expected = TEXTS[case]
    assert canonical(array).to_pylist() == expected


@pytest.mark.parametrize(
    "array", [pa.array([b"x"]), pa.array([dt.timedelta(1)]), pa.array([[1]]), pa.array([{"a": 1}])]
)
def test_types_without_a_text_are_refused(array):
    with pytest.raises(BadData, match="'c'"):
        canonical(array, "c")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True, max_size=8))
def test_different_floats_have_different_texts_that_read_back(values):
    texts = canonical(pa.array(values, pa.float64())).to_pylist()
    assert [float(text) for text in texts] == values
    assert len(set(texts)) == len({v + 0.0 for v in values})


@given(st.lists(st.datetimes(), unique=True, max_size=8))
def test_different_moments_have_different_texts_that_read_back(values):
    texts = canonical(pa.array(values, pa.timestamp("us"))).to_pylist()
    assert [dt.datetime.fromisoformat(text) for text in texts] == values


def test_infinite_numbers_are_refused_where_they_are_coded():
    source = open_source(pa.table({"a": [1.0, math.inf]}))
    with pytest.raises(BadData, match="infinite"):
        source.count(codings(["a"]))


TYPED = pa.table(
    {
        "key": ["x", "y", "x"],
        "whole": pa.array([3, None, 2**53 + 1], pa.int64()),
        "small": pa.array([3, 1, 2], pa.int8()),
        "real": pa.array([0.5, None, -1.5]),
        "flag": pa.array([True, None, False]),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
        "moment": pa.array([1, None, 2], pa.timestamp("us", "UTC")),
        "money": pa.array([Decimal("1.10"), None, Decimal("2.00")], pa.decimal128(9, 2)),
        "bytes": pa.array([b"1", None, b"2"]),
    }
)


def _published(frame):
    source = open_source(frame)
    recoding = next(recodings(source.count(codings(["key"], ["whole"]))))
    return source, source.recode(recoding)


def test_arrow_types_are_kept():
    _, out = _published(TYPED)
    assert out.schema == TYPED.schema.remove_metadata()
    assert out.column("small").to_pylist() == [2, 3, 1] or out.column("whole").to_pylist() == [
        3,
        2**53 + 1,
        None,
    ]
    assert out.column("key").to_pylist() == ["*"] * 3


def test_polars_types_are_kept():
    frame = pl.from_arrow(TYPED).with_columns(
        pl.col("key").cast(pl.Categorical), e=pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b", "zz"]))
    )
    _, out = _published(frame)
    assert dict(out.schema) == dict(frame.schema) | {"e": pl.Enum(["a", "b"])}
    assert out["key"].cast(pl.String).to_list() == ["*"] * 3


def test_duckdb_types_are_kept():
    relation = duckdb.from_arrow(TYPED).project("*, 12345678901234567890123::hugeint as huge")
    _, out = _published(relation)
    assert out.types[:-1] == relation.types[:-1]
    assert out.project("huge").fetchall() == [(12345678901234567890123,)] * 3


def test_duckdb_results_stay_with_their_connection():
    con = duckdb.connect()
    relation = con.sql("select * from (values ('x', 1), ('y', 2)) t(key, whole)")
    _, out = _published(relation)
    assert out.join(con.sql("select '*' as key, 5 as z"), "key").fetchall() == [("*", 1, 5), ("*", 2, 5)]
    con.close()


def test_duckdb_tables_of_the_same_name_are_not_published():
    con = duckdb.connect()
    for name in ("source", "published", "relation", "table_", "sfumato_source_rows"):
        con.execute(f"create table {name} as select 'raw' as key, 9 as whole")
    _, out = _published(con.sql("select * from (values ('x', 1), ('y', 2)) t(key, whole)"))
    assert out.fetchall() == [("*", 1), ("*", 2)]
    con.execute("create table sfumato_published_rows as select 'raw' as key, 9 as whole")
    with pytest.raises(UsageError, match="of its own"):
        _published(con.sql("select * from (values ('x', 1), ('y', 2)) t(key, whole)"))
    con.close()


PANDAS = pd.DataFrame(
    {
        "key": ["x", "y", "x"],
        "whole": np.array([1, 2, 3], np.int32),
        "nullable": pd.array([2**53 + 1, None, 3], dtype="Int64"),
        "flag": pd.array([True, None, False], dtype="boolean"),
        "real": [1.5, np.nan, 2.0],
        "moment": pd.to_datetime(["2024-01-01 00:00", None, "2024-10-27 02:30"]).tz_localize(
            BERLIN, ambiguous=True
        ),
        "words": pd.Series(["a", None, "b"], dtype=object),
        "arrow": pd.array(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
        "size": pd.Categorical(["s", "l", "s"], categories=["xs", "s", "l"], ordered=True),
        "kind": pd.Categorical(["q", "p", None], categories=["z", "q", "p"]),
    }
).set_axis([7, 8, 9])


def test_pandas_dtypes_are_kept_and_nothing_else():
    frame = PANDAS.copy()
    frame.attrs["note"] = "from ward 7"
    _, out = _published(frame)
    assert isinstance(out.index, pd.RangeIndex) and list(out.index) == [0, 1, 2]
    assert out.attrs == {}
    same = [name for name in frame.columns if name not in ("size", "kind")]
    assert out[same].dtypes.to_dict() == frame[same].dtypes.to_dict()
    assert list(out["size"].cat.categories) == ["s", "l"] and out["size"].cat.ordered
    assert list(out["kind"].cat.categories) == ["p", "q"]
    assert sorted(out["nullable"].dropna()) == [3, 2**53 + 1]
    assert out["words"].tolist() == ["a", None, "b"]


@pytest.mark.parametrize("column", [[1, "a"], [2**70, 1], ["\ud800", "a"], [object(), object()]])
def test_pandas_columns_of_several_types_are_refused_without_their_content(column):
    frame = pd.DataFrame({"c": pd.Series(column, dtype=object)})
    with pytest.raises(BadData, match="'c'") as refusal:
        open_source(frame).count(codings(["c"]))
    assert refusal.value.__cause__ is None and refusal.value.__suppress_context__


def test_names_that_are_no_names():
    for frame in (pd.DataFrame({0: ["x"]}), pd.DataFrame([["x", "y"]], columns=["a", "a"])):
        with pytest.raises(BadData, match="name"):
            open_source(frame).columns  # noqa: B018


def test_what_is_no_table():
    with pytest.raises(UsageError, match="no table"):
        open_source([1, 2])
    with pytest.raises(BadData, match="no column"):
        open_source(TYPED).count(codings(["nowhere"]))


def test_nan_is_a_missing_cell_and_zeros_are_one_number():
    frame = pl.DataFrame({"a": [float("nan"), None, 0.0, -0.0]})
    table = open_source(frame).count(codings(["a"]))
    assert sorted(table.counts.tolist()) == [2, 2]
    assert open_source(frame).count(codings(["a"]), missing=Missing.SUPPRESS).dropped == 2


def test_unicode_twins_stay_apart():
    twins = ["é", "e\u0301", "É", "é ", "\u0435", "e"]
    assert open_source(pa.table({"a": twins})).count(codings(["a"])).distinct == len(twins)


def test_key_columns_of_categories_stay_categories():
    frame = pd.DataFrame(
        {"key": pd.Categorical(["x", "y", "x"], ["y", "x", "z"], ordered=True), "whole": [1, 2, 3]}
    )
    _, out = _published(frame)
    assert list(out["key"].cat.categories) == ["*"] and not out["key"].cat.ordered
    _, out = _published(pl.from_pandas(frame).with_columns(pl.col("key").cast(pl.Enum(["y", "x", "z"]))))
    assert out.schema["key"] == pl.Enum(["*"])


def test_categories_that_are_published_as_they_are_keep_their_order():
    policy = {
        "columns": {"size": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    cells = ["m", "s", "m", "s", "l", "l"]
    frame = pd.DataFrame({"size": pd.Categorical(cells, ["s", "m", "l", "xl"], ordered=True)})
    size = sf.protect(frame, policy).apply(frame)["size"]
    assert (list(size.cat.categories), size.cat.ordered) == (["s", "m", "l"], True)
    numbers = pd.DataFrame({"size": pd.Categorical([3, 1, 3, 1, 2, 2], [3, 1, 2, 9])})
    size = sf.protect(numbers, policy).apply(numbers)["size"]
    assert (list(size.cat.categories), size.cat.ordered) == (["1", "2", "3"], False)
    frame = pl.DataFrame({"size": pl.Series(cells, dtype=pl.Enum(["s", "m", "l", "xl"]))})
    assert sf.protect(frame, policy).apply(frame).schema["size"] == pl.Enum(["s", "m", "l"])
