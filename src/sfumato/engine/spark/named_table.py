"""A table that Spark reads, named on a command line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from sfumato.core.errors import BadData, WrongCall
from sfumato.engine.csv.reader import CsvReader
from sfumato.engine.files.readers import CSV_ENDINGS, PARQUET_ENDINGS


def spark_table(name: str) -> DataFrame:
    """The Parquet files or the CSV file at a path or URI, else the table of that name in Spark's catalogue.

    The session is the one that is there (under `spark-submit`), or a new one with Spark's own settings.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        # PySpark says of every newer pandas that it may not work; nothing here goes through pandas.
        warnings.filterwarnings("ignore", category=FutureWarning)
        builder = SparkSession.builder.appName("sfumato").config("spark.ui.showConsoleProgress", "false")
        session = builder.getOrCreate()
        if name.lower().endswith(CSV_ENDINGS):
            return _csv(session, name)
    try:
        if "/" in name or name.lower().endswith(PARQUET_ENDINGS):
            return session.read.parquet(name)
        return session.table(name)
    except PySparkException:
        raise BadData(
            "Spark cannot read this table",
            where=name,
            remedy="Name a Parquet folder, a CSV file, or a table of Spark's catalogue.",
        ) from None


def _csv(session: SparkSession, name: str) -> DataFrame:
    """A CSV file, read in one task by the reader of files.

    Spark's own reader drops empty lines of a single column, and replaces bytes that are no text.
    """
    place = name.removeprefix("file://")
    if "://" in place:
        raise WrongCall(
            "a CSV file is read from a folder that driver and workers share",
            where=name,
            remedy="Copy it there, or have Spark turn it into Parquet first.",
        )
    if not Path(place).is_file():
        raise BadData("there is no such CSV file", where=name, remedy="Check the path.")
    reader = CsvReader(Path(place).absolute())
    names = reader.schema.names

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            for batch in reader.batches(names):
                cells = [column.dictionary_decode() for column in batch.columns]
                yield pa.RecordBatch.from_arrays(cells, names=names)

    text = StructType([StructField(column, StringType()) for column in names])
    return session.range(0, 1, 1, 1).mapInArrow(rows, text)
