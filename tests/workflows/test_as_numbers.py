"""`sf.as_numbers`: intervals to calculate with, from nothing but their texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.system.errors import BadData, UsageError

CELLS = {
    "age": ["[20, 30)", "23", "*", "90+", None, "<18"],
    "pay": ["[1.5, 2)", "[2, 4)", "[1.5, 2)", "[2, 4)", "[2, 4)", "*"],
    "zip": ["021**", "022**", "021**", "*****", "02139", "02138"],
    "sex": ["m", "f", "*", "m", "f", "f"],
    "n": [1, 2, 3, 4, 5, 6],
}
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars-lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "categories": lambda cells: pd.DataFrame(cells).astype({"age": "category"}),
}


def listed(table):
    """The columns of a table as lists, NaN as None."""
    if isinstance(table, pa.Table):
        return table.to_pydict()
    if isinstance(table, pl.DataFrame):
        return table.to_dict(as_series=False)
    return {name: [None if pd.isna(x) else x for x in table[name].tolist()] for name in table.columns}


@pytest.mark.parametrize("kind", KINDS)
def test_middles(kind):
    found = listed(sf.as_numbers(KINDS[kind](CELLS)))
    assert list(found) == ["age", "pay", "zip", "sex", "n"]
    assert found["age"] == [24.5, 23, None, None, None, None]
    assert found["pay"] == [1.75, 3, 1.75, 3, 3, None]
    assert {name: found[name] for name in ("zip", "sex", "n")} == {n: CELLS[n] for n in ("zip", "sex", "n")}


@pytest.mark.parametrize("kind", KINDS)
def test_bounds(kind):
    found = listed(sf.as_numbers(KINDS[kind](CELLS), form="bounds", columns=["age"]))
    assert list(found) == ["age_from", "age_to", "pay", "zip", "sex", "n"]
    assert found["age_from"] == [20, 23, None, 90, None, None]
    assert found["age_to"] == [30, 24, None, None, None, 18]


def test_an_index_stays_and_files_are_read(tmp_path):
    frame = pd.DataFrame(CELLS, index=list("abcdef"))
    assert list(sf.as_numbers(frame).index) == list("abcdef")
    frame.to_csv(tmp_path / "safe.csv", index=False)
    assert sf.as_numbers(tmp_path / "safe.csv").column("pay").to_pylist() == [1.75, 3, 1.75, 3, 3, None]


@given(
    st.lists(st.integers(-40, 40), min_size=12, max_size=60),
    st.sampled_from(["mondrian", "local", "top-down"]),
)
def test_numbers_lie_around_the_values(ages, search):
    raw = pd.DataFrame({"age": ages, "n": range(len(ages))})
    policy = {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 50, 100], "from": -50, "to": 50}},
            "n": {"role": "insensitive"},
        },
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"search": search, "suppress": 0},
    }
    safe = sf.protect(raw, policy).apply(raw).sort_values("n", ignore_index=True)
    told = sf.as_numbers(safe, form="bounds")
    if "age_from" in told.columns:
        known = told["age_from"].notna().to_numpy()
        values, ends = np.array(ages)[known], told[known]
        assert ((ends["age_from"].to_numpy() <= values) & (values < ends["age_to"].to_numpy())).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"form": "middle"}, UsageError, "no form middle"),
        ({"columns": ["zip"]}, BadData, "neither numbers nor intervals"),
        ({"columns": ["wage"]}, BadData, "no column 'wage'"),
    ],
)
def test_what_cannot_be_done_is_refused_without_a_cell(call, error, message):
    with pytest.raises(error, match=message) as raised:
        sf.as_numbers(pd.DataFrame(CELLS), **call)
    assert "021" not in str(raised.value)


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(BadData, match="age_to"):
        sf.as_numbers(pd.DataFrame(CELLS).assign(age_to=1), form="bounds")
