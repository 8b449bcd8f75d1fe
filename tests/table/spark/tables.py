"""Tables of text in Spark, and published ones read back."""

from __future__ import annotations

import pyarrow as pa

from sfumato.testing.engines import read_back


def arrow(cells):
    return pa.table({name: pa.array(column, pa.string()) for name, column in cells.items()})


def frame(spark, cells):
    return spark.createDataFrame(arrow(cells))


def read(native):
    """A Spark table, or a path, as lists."""
    return native.toArrow().to_pydict() if hasattr(native, "toArrow") else read_back(native)
