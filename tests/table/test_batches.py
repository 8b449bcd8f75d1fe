"""Where batches end makes no difference, and arrays that begin in the middle of a buffer are read right."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.table import frames as duckdb
from sfumato.table import polars_frames as polars
from sfumato.table import reader as arrow
from sfumato.table.arrow_arrays import text_array, to_arrow, to_numpy
from sfumato.table.microdata import Missing
from sfumato.table.reading import parquet
from sfumato.testing.engines import codings, counted, decoded, published, recodings
from table.kinds import MAKERS, make_source, read

pytestmark = pytest.mark.slow

WHOLE = st.one_of(st.none(), st.integers(0, 100))


@given(st.lists(WHOLE, max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_slices_of_numbers(values, start, length):
    array = pa.array(values, pa.int32()).slice(start, length)
    expected = [-1 if v is None else v for v in values[start : start + length]]
    numbers = to_numpy(array, missing=-1)
    assert numbers.tolist() == expected
    again = to_arrow(numbers.astype("int64"), missing=-1)
    assert again.to_pylist() == array.to_pylist()
    assert again.null_count == array.null_count


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))), max_size=12))
def test_texts(texts):
    assert text_array(texts).to_pylist() == texts
    text_array(texts, pa.string()).validate(full=True)


CELLS = {
    "a": ["x", None, "y", "x", "z", "x", None, "w", "y", "x"],
    "b": ["1", "2", None, "1", "2", "1", "3", "3", None, "1"],
    "s": ["u", "u", "v", None, "u", "v", "v", "u", "u", None],
    "p": list("abcabcabca"),
}


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("missing", [Missing.OWN_VALUE, Missing.SUPPRESS])
def test_small_batches(kind, size, missing, monkeypatch):
    for module in (arrow, duckdb, parquet, polars):
        monkeypatch.setattr(module, "ROWS_AT_A_TIME", size)
    source = make_source(kind)(CELLS)
    given_ = codings(["a", "b"], ["s"])
    table = source.count(given_, missing=missing)
    assert decoded(table) == counted(CELLS, given_, missing=missing)
    for recoding in recodings(table):
        got = read(source.recode(recoding))
        assert list(zip(*got.values(), strict=True)) == published(CELLS, recoding)
    assert source.survey().columns["a"].counts.tolist() == [1, 4, 2, 1, 2]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from(["x", "y", None]), min_size=1, max_size=20),
    st.integers(1, 19),
    st.integers(0, 10),
)
def test_sliced_tables(column, length, start):
    table = pa.table({"a": pa.array(column, pa.string()), "s": pa.array(range(len(column)))}).slice(
        start, length
    )
    cells = {"a": table.column("a").to_pylist(), "s": [str(v) for v in table.column("s").to_pylist()]}
    from sfumato.table.source import open_source

    assert decoded(open_source(table).count(codings(["a"], ["s"]))) == counted(cells, codings(["a"], ["s"]))
