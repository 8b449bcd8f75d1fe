"""One real Spark on this machine for all tests of a process."""

from __future__ import annotations

import os
import sys
import warnings

import pytest

from table.spark.settings import SETTINGS


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("sfumato tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def quiet():
    """PySpark says of every newer pandas that it may not work; nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
