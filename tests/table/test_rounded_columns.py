"""Columns of numbers are rounded where they are read, whatever type they have."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.system.errors import BadData, UsageError
from sfumato.table.cell_text import canonical
from sfumato.table.published_texts import rounded_number
from sfumato.table.source import open_source, with_digits


def rounded(cells, digits):
    source = with_digits(open_source(pa.table({"n": cells})), {"n": digits})
    table = pa.Table.from_batches(source.reader.batches(["n"]), source.reader.schema)
    return table.column("n")


@pytest.mark.parametrize(
    ("cells", "digits", "expected", "kind"),
    [
        (pa.array([1 / 3, 2.5, -0.001, None, math.nan]), 1, [0.3, 2.5, 0.0, None, None], pa.float64()),
        (pa.array([33.333333333333336]), 2, [33.33], pa.float64()),
        (pa.array([1.25, 7.0], pa.float32()), 1, [float(np.float32(1.2)), 7.0], pa.float32()),
        (pa.array([125, None, -5], pa.int8()), -1, [120, None, 0], pa.int64()),
        (pa.array([250], pa.uint8()), -2, [200], pa.uint64()),
        (pa.array([125], pa.int8()), 3, [125], pa.int8()),
        (pa.array([Decimal("99.995")]), 2, [Decimal("100.00")], pa.decimal128(6, 2)),
        (pa.array([Decimal("95")], pa.decimal128(2, 0)), -1, [Decimal("100")], pa.decimal128(3, 0)),
        (pa.array([Decimal("9.5")]), 2, [Decimal("9.5")], pa.decimal128(2, 1)),
        (pa.array(["1e3", " 2.50", "007", None]), 1, ["1000", "2.5", "7", None], pa.large_string()),
        (pa.array(["0.25", "0.35"]).dictionary_encode(), 1, ["0.2", "0.4"], pa.large_string()),
        (pa.array([0.25, 0.35]).dictionary_encode(), 1, [0.2, 0.4], pa.float64()),
        (pa.nulls(2), 1, [None, None], pa.null()),
    ],
)
def test_every_type_of_numbers(cells, digits, expected, kind):
    found = rounded(cells, digits)
    assert found.to_pylist() == expected and found.type == kind
    assert not any(isinstance(n, float) and math.copysign(1, n) < 0 for n in found.to_pylist() if n == 0)


@given(st.lists(st.floats(-1e12, 1e12) | st.none(), min_size=1), st.integers(-3, 6))
def test_floats_and_their_texts_are_rounded_alike(numbers, digits):
    """A column of floats has, in text, what the texts of the same column would have."""
    cells = pa.array(numbers, pa.float64())
    as_floats = canonical(rounded(cells, digits).combine_chunks()).to_pylist()
    assert as_floats == rounded(canonical(cells), digits).to_pylist()
    assert as_floats == [
        None if t is None else rounded_number(t, digits) for t in canonical(cells).to_pylist()
    ]


@pytest.mark.parametrize(
    "cells",
    [pa.array([date(2026, 1, 1)]), pa.array([True]), pa.array([b"1"])],
    ids=["dates", "truths", "bytes"],
)
def test_types_that_are_no_numbers_are_refused_at_once(cells):
    with pytest.raises(BadData, match="no numbers to be rounded") as refused:
        with_digits(open_source(pa.table({"n": cells})), {"n": 1})
    assert "`digits`" in refused.value.remedy


@pytest.mark.parametrize("cells", [["1.5", "secret"], ["2026-01-01"], ["1,5"], ["NaN"], [math.inf]])
def test_cells_that_are_no_numbers_are_refused_without_being_shown(cells):
    with pytest.raises(BadData, match=r"1 different cells that are no numbers such as") as refused:
        rounded(pa.array(cells), 1)
    assert "secret" not in f"{refused.value}"


def test_a_number_without_room_is_refused_without_being_shown():
    with pytest.raises(BadData, match="no room in its type") as refused:
        rounded(pa.array([2**63 - 1]), -1)
    assert "9223" not in f"{refused.value}"


def test_other_columns_and_kinds_are_kept():
    frame = pd.DataFrame(
        {"n": pd.array([1.26, None], "Float64"), "c": pd.Categorical([1.26, 2.0]), "t": ["a", "b"]}
    )
    source = with_digits(open_source(frame), {"n": 1, "c": 1, "elsewhere": 0})
    table = pa.Table.from_batches(source.reader.batches(["n", "c", "t"]), source.reader.schema)
    back = source.reader.native(table)
    assert back["n"].dtype == "Float64" and back["n"][0] == 1.3
    assert list(back["c"]) == [1.3, 2.0] and list(back["t"]) == ["a", "b"]
    plain = open_source(frame)
    assert with_digits(plain, {"elsewhere": 0}) is plain


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pa.table, pd.DataFrame])
def test_frames_of_every_library(make):
    source = with_digits(open_source(make({"n": [0.25, 0.35]})), {"n": 1})
    assert [n for b in source.reader.batches(["n"]) for n in b.column("n").to_pylist()] == [0.2, 0.4]
    assert source.survey().columns["n"].values == ("0.2", "0.4")


def test_a_source_that_hands_out_no_rows_is_refused():
    class Elsewhere:
        kind, columns = "spark", ("n",)

    with pytest.raises(UsageError, match="numbers of a spark table are not rounded here"):
        with_digits(Elsewhere(), {"n": 1})
