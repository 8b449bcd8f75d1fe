"""What Spark has of its own: types, numbers for people, limits, tables that change, names."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    FloatType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from sfumato.system.errors import BadData
from sfumato.table.cell_text import canonical
from sfumato.table.source import open_source
from sfumato.table.spark import row_order as checksum
from sfumato.table.spark.counting import column_codes, fetch_counts
from sfumato.table.spark.source import SparkSource
from sfumato.table.spark.text import NumberedTable, numbered, text_of
from sfumato.testing.engines import codings, recodings
from table.spark.tables import frame, read

pytestmark = pytest.mark.xdist_group("spark")

TYPED = pa.table(
    {
        "whole": pa.array([1, -7, None, 2**53 + 1]),
        "small": pa.array([1, 2, None, 1], pa.int8()),
        "real": [0.1, -0.0, math.nan, 1e300],
        "single": pa.array([0.1, 3.0, None, 1e-7], pa.float32()),
        "awkward": [2.0**-44, 2e-3, 123456789.0, 1.0e22],
        "flag": [True, False, None, True],
        "money": pa.array([Decimal("1.10"), Decimal("-0.0000001"), None, Decimal(0)], pa.decimal128(20, 7)),
        "big": pa.array([Decimal(10) ** 30, None, Decimal(-1), Decimal(0)], pa.decimal128(38, 0)),
        "day": pa.array([dt.date(2024, 2, 29), dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
        "moment": pa.array([0, 1729989000123456, None, 1729992600000000], pa.timestamp("us", "UTC")),
        "text": ["é", "", None, "a,b\n"],
    }
)


def typed(spark):
    """The table above, and a time without a zone."""
    return spark.createDataFrame(TYPED).withColumn(
        "local",
        F.when(F.col("whole") == 1, F.lit("2024-02-29").cast(TimestampNTZType())).when(
            F.col("flag"), F.lit("1969-12-31 23:59:59.999990").cast(TimestampNTZType())
        ),
    )


def test_the_text_of_every_type(spark):
    opened, known = NumberedTable.of(typed(spark)), typed(spark).toArrow()
    cells = [text_of(F.col(opened.at(n)), opened.kind(n), n).alias(n) for n in opened.names]
    found = opened.frame.select(*cells).toArrow()
    for name in opened.names:
        assert found[name].to_pylist() == canonical(known[name].combine_chunks(), name).to_pylist(), name


def test_typed_tables_are_counted_surveyed_and_published_alike(spark, tmp_path):
    mine, other = open_source(typed(spark)), open_source(typed(spark).toArrow())
    assert mine.digest() == other.digest()
    keys = ["whole", "real", "single", "money", "moment", "local"]
    table = mine.count(codings(keys, ["flag", "day", "text"]))
    assert table.digest == other.count(codings(keys, ["flag", "day", "text"])).digest
    for name, column in mine.survey().columns.items():
        known = other.survey([name]).columns[name]
        assert (column.kind, column.distinct, column.missing, column.values) == (
            known.kind,
            known.distinct,
            known.missing,
            known.values,
        )
        assert column.counts.tolist() == known.counts.tolist()
    recoding = list(recodings(other.count(codings(["whole", "real"], ["moment"]))))[2]
    written = open_source(mine.write(recoding, tmp_path / "out.parquet"))
    assert written.digest() == open_source(other.recode(recoding)).digest()
    assert written.reader.schema.field("moment").type == pa.timestamp("us", "UTC")


def test_long_columns_are_told_by_their_kind(spark):
    """Where a survey does not list the values, Spark itself looks at all of them."""
    days = [f"2024-01-{i + 1:02}" for i in range(9)]
    cells = {
        "n": list("123456789"),
        "d": days,
        "x": [*days[:8], "2024-02-30"],
        "b": ["true", "false", None] * 3,
    }
    found = open_source(frame(spark, cells)).survey(limit=4)
    known = open_source(pa.table(cells)).survey(limit=4)
    for name, column in found.columns.items():
        assert (column.kind, column.complete, column.missing) == (
            known.columns[name].kind,
            known.columns[name].complete,
            known.columns[name].missing,
        )
    assert found.columns["n"].values == () and found.columns["b"].values == ("false", "true", None)


def test_people_are_numbered_in_the_order_of_their_texts(spark):
    """In parts as well as at once, and rows that repeat their person share the number."""
    rng = np.random.default_rng(5)
    people = [f"P{i}" for i in rng.integers(0, 900, 1500)] + [None]
    rows = spark.createDataFrame(pa.table({"who": people})).repartition(3)
    for alone in (10, 10_000):
        found, count = numbered(rows, "who", "number", rows=len(people), what="a test", alone=alone)
        place = {who: i for i, who in enumerate(sorted({p for p in people if p}))}
        assert count == len(place)
        assert all(place.get(row["who"]) == row["number"] for row in found.collect())


def test_one_person_written_in_two_ways_is_refused(spark):
    cells = {"a": ["x"] * 4, "p": ["1", " 1", "1\u00a0", "2 "]}
    with pytest.raises(BadData, match="'p' names the person, and 2 of its keys differ"):
        SparkSource(frame(spark, cells)).count(codings(["a"]), person="p")
    cells = {"a": ["x"] * 3, "p": ["1", "01", "2 "]}
    assert SparkSource(frame(spark, cells)).count(codings(["a"]), person="p").people == 3


def test_checksums(spark):
    rng = np.random.default_rng(1)
    words, counts = rng.integers(0, 2**63 - 1, (2, 50)), rng.integers(1, 5, 50)
    rows = np.repeat(words, counts, axis=1)
    table = spark.createDataFrame(pa.table({"w0": rows[0], "w1": rows[1]}))
    assert [*table.agg(*checksum.sums(["w0", "w1"])).collect()[0]] == checksum.expected(words, counts)


def test_the_packed_table_comes_in_parts_or_not_at_all(spark):
    words = np.arange(100)
    table = spark.createDataFrame(pa.table({"w0": words, "n": words + 1}))
    found, counts = fetch_counts(table, ["w0"], at_most=100, part=7 * 16)
    assert sorted(zip(found[0].tolist(), counts.tolist(), strict=True)) == [(i, i + 1) for i in range(100)]
    cells = {"a": [str(i) for i in range(20)]}
    with pytest.raises(BadData, match="20 distinct rows, and the driver takes 10") as refusal:
        SparkSource(frame(spark, cells), limit=10).count(codings(["a"]))
    assert "start level" in str(refusal.value)
    with pytest.raises(BadData, match="sample"):
        SparkSource(frame(spark, cells), limit=10).column_codes(["a"])


def test_codes_of_columns_with_many_values_are_made_in_spark(spark):
    cells = {"a": ["x", "y", None, "x", "z"], "b": ["1", "1", "2", None, "2"]}
    codes, sizes = column_codes(NumberedTable.of(frame(spark, cells)), ["a", "b"], limit=100, few=1)
    rows = list(zip(*codes.tolist(), strict=True))
    assert sizes == (4, 3) and sorted(rows) == [(0, 0), (0, 2), (1, 0), (2, 1), (3, 1)]


def test_a_table_that_changed_is_refused(spark, tmp_path):
    cells = {"a": ["x", "y", "x"], "s": ["u", "v", "v"]}
    recoding = next(recodings(open_source(frame(spark, cells)).count(codings(["a"], ["s"]))))
    others = [
        {"a": ["x", "y", "x", "x"], "s": ["u", "v", "v", "v"]},
        {"a": ["x", "y", "z"], "s": ["u", "v", "v"]},
        {"a": ["x", "x", "y"], "s": ["u", "v", "u"]},
        {"a": ["x", "y", None], "s": ["u", "v", "v"]},
    ]
    for other in others:
        source = open_source(frame(spark, other))
        with pytest.raises(BadData, match="not the table that was planned"):
            source.recode(recoding)
        with pytest.raises(BadData, match="planned"):
            source.write(recoding, tmp_path / "out.parquet")
        assert list(tmp_path.iterdir()) == []


def test_awkward_names_and_types(spark):
    """Names that Spark would take apart, names that differ by case alone, comments, and collations."""
    kind = StructType(
        [
            StructField("a.b", StringType(), metadata={"comment": "from ward 7"}),
            StructField("c`d", StringType()),
            StructField("x", DoubleType()),
            StructField("y", FloatType()),
            StructField("when", TimestampType()),
        ]
    )
    table = spark.createDataFrame([("p", "q", math.nan, -0.0, None), ("p", None, 1.5, 0.0, None)], kind)
    source = open_source(table)
    recoding = next(recodings(source.count(codings(["a.b", "c`d"], ["x"]))))
    out = source.recode(recoding)
    assert out.columns == ["a.b", "c`d", "x", "y", "when"]
    assert all(not field.metadata for field in out.schema)
    assert read(out)["x"] == [1.5, None] and read(out)["a.b"] == ["*", "*"]
    twins = spark.createDataFrame([("p", "q")], ["A", "a"])
    assert open_source(twins).count(codings(["A"], ["a"])).distinct == 1
    folded = spark.createDataFrame([("x",), ("X",)], ["a"]).select(F.collate("a", "UTF8_LCASE").alias("a"))
    assert open_source(folded).count(codings(["a"])).distinct == 2
    lists = spark.createDataFrame([(["x"],)], ["l"])
    with pytest.raises(BadData, match="lists or records"):
        open_source(lists).count(codings(["l"]))


def test_what_spark_says_is_not_repeated(spark, capfd):
    """A cell that cannot be read shows up in Spark's complaint, and in ours there is nothing of it."""
    table = spark.createDataFrame(pa.table({"a": ["1", "canary"]})).select(F.col("a").cast("int").alias("a"))
    with pytest.raises(BadData, match="Spark could not finish") as refusal:
        open_source(table).count(codings(["a"]))
    assert "canary" not in str(refusal.value) + capfd.readouterr().err
    assert refusal.value.__suppress_context__
