"""A table that Spark reads, named on a command line."""

from __future__ import annotations

import os
import sys
import warnings

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sfumato.terms.errors import BadData


def spark_table(name: str) -> DataFrame:
    """The Parquet files or the CSV file at a path or URI, else the table of that name in Spark's catalogue.

    The session is the one that is there (under `spark-submit`), or a new one with Spark's own settings. Cells
    of a CSV file are text, as everywhere here.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        # PySpark says of every newer pandas that it may not work; nothing here goes through pandas.
        warnings.filterwarnings("ignore", category=FutureWarning)
        builder = SparkSession.builder.appName("sfumato").config("spark.ui.showConsoleProgress", "false")
        session = builder.getOrCreate()
    try:
        if name.lower().endswith(".csv"):
            return session.read.option("header", True).option("escape", '"').csv(name)
        if "/" in name or name.lower().endswith((".parquet", ".pq")):
            return session.read.parquet(name)
        return session.table(name)
    except PySparkException:
        raise BadData(
            "Spark cannot read this table",
            where=name,
            remedy="Name a Parquet folder, a CSV file, or a table of Spark's catalogue.",
        ) from None
