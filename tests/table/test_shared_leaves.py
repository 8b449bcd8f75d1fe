"""Values that a taxonomy holds to be one are judged as one and published as they are, in their own type."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.policy.policy import Policy
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source
from table.kinds import MAKERS, make_source, read

RULE = {"intervals": [5, 10], "from": -9, "to": 120, "bottom": 5, "top": 20}
WORDS = {"columns": {"a": {"role": "quasi"}, "s": {"role": "sensitive", "taxonomy": RULE}}}
POLICY = Policy.from_dict({**WORDS, "promises": [{"k-anonymity": {"k": 2}}]})

TYPED = {
    "pandas": pd.DataFrame,
    "pandas-nullable": lambda c: pd.DataFrame(c).astype({"s": "Int16"}),
    "pandas-float": lambda c: pd.DataFrame(c).astype({"s": "float32"}),
    "polars": lambda c: pl.DataFrame(c, schema_overrides={"s": pl.Int8}),
    "polars-float": lambda c: pl.DataFrame(c, schema_overrides={"s": pl.Float64}),
    "pyarrow": pa.table,
    "pyarrow-decimal": lambda c: pa.table(
        {**c, "s": pa.array(c["s"], pa.int64()).cast(pa.decimal128(21, 2))}
    ),
    "duckdb": lambda c: duckdb.from_arrow(pa.table(c)),
}


def recoded(table):
    source = open_source(table)
    coded = source.count(POLICY.codings)
    return source.recode(Recoding.of_cuts(coded, {"a": Cut.leaves(coded.column("a").taxonomy)}))


def type_of(table):
    if isinstance(table, pa.Table):
        return table.schema.field("s").type
    return table["s"].dtype if not isinstance(table, duckdb.DuckDBPyRelation) else table.types[1]


@pytest.mark.parametrize("kind", TYPED)
@given(numbers=st.lists(st.integers(-9, 119), min_size=1, max_size=12))
@settings(max_examples=15, deadline=None)
def test_numbers_beyond_the_ends_keep_their_value_and_type(kind, numbers):
    table = TYPED[kind]({"a": ["x"] * len(numbers), "s": numbers})
    safe = recoded(table)
    assert read(safe)["s"] == sorted(numbers)
    assert type_of(safe) == type_of(table)


@pytest.mark.parametrize("kind", MAKERS)
def test_numbers_written_in_several_ways_stay_as_they_were_written(kind):
    cells = {"a": list("xyxyxyxy"), "s": ["07", "7", "7.0", "93", "93", "95.0", "-1", None]}
    source = make_source(kind)(cells)
    coded = source.count(POLICY.codings)
    assert len(set(coded.codes("s").tolist())) == 4
    safe = read(source.recode(Recoding.of_cuts(coded, {"a": Cut.root(coded.column("a").taxonomy)})))
    assert safe["s"] == [*sorted(cells["s"][:-1]), None]
