"""Spark does what every engine does: the same counts, the same published table, the same digest."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.system.errors import BadData, UsageError
from sfumato.table.microdata import Missing
from sfumato.table.source import open_source
from sfumato.testing.engines import AWKWARD, check_engine, codings, published, recodings
from table.spark.tables import arrow, frame, read

pytestmark = pytest.mark.xdist_group("spark")

MIXED = {name: [cell for table in AWKWARD[1:4] for cell in table[name]] for name in "absp"}
"""What is awkward about text, missing cells, and quotes and large numbers, in one table."""

TEXT = st.one_of(st.none(), st.sampled_from(["", "a", "A", "é", "e\u0301", "\n", "0"]), st.text(max_size=2))


@st.composite
def cells(draw):
    count = draw(st.integers(0, 6))
    column = st.lists(TEXT, min_size=count, max_size=count)
    people = st.lists(st.sampled_from("pqr"), min_size=count, max_size=count)
    return {"a": draw(column), "b": draw(column), "s": draw(column), "p": draw(people)}


def test_conformance(spark):
    check_engine(
        lambda table: open_source(frame(spark, table)), read=read, endings=["parquet"], tables=[MIXED]
    )


@given(table=cells(), missing=st.sampled_from([Missing.OWN_VALUE, Missing.SUPPRESS]), people=st.booleans())
@example(table=AWKWARD[4], missing=Missing.SUPPRESS, people=True)
@settings(max_examples=6, deadline=None)
def test_random_tables(spark, table, missing, people):
    """The same coded table, the same rows in the same order, the same digest as Polars."""
    source, other = open_source(frame(spark, table)), open_source(pl.from_arrow(arrow(table)))
    how = {"missing": missing, "person": "p" if people else None}
    coded = source.count(codings(["a", "b"], ["s"]), **how)
    assert coded.digest == other.count(codings(["a", "b"], ["s"]), **how).digest
    recoding = list(recodings(coded))[-1]
    made, known = source.recode(recoding, drop=["p"]), other.recode(recoding, drop=["p"])
    assert list(zip(*read(made).values(), strict=True)) == published(table, recoding, ["p"])
    assert open_source(made).digest() == open_source(known).digest()


def test_what_spark_does_not_write(spark, tmp_path):
    source = open_source(frame(spark, AWKWARD[0]))
    recoding = next(recodings(source.count(codings(["a", "b"], ["s"]))))
    with pytest.raises(UsageError, match="Parquet"):
        source.write(recoding, tmp_path / "out.csv")
    source.write(recoding, tmp_path / "out.parquet", drop=["p"])
    with pytest.raises(UsageError, match="exists"):
        source.write(recoding, tmp_path / "out.parquet", drop=["p"])
    with pytest.raises(BadData, match="no column"):
        source.count(codings(["nowhere"]))
    with pytest.raises(UsageError, match="no column is left"):
        source.recode(recoding, drop=list("absp"))
