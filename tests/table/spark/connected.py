"""Spark Connect: counted and published through a server; run by a test, in a process of its own.

python connected.py FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from sfumato.table.source import open_source
from sfumato.testing.engines import AWKWARD, codings, recodings
from table.spark.settings import QUICK_START

CELLS = {name: [cell for table in AWKWARD[1:3] for cell in table[name]] for name in "absp"}


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[1]")
    for name, value in {"spark.sql.shuffle.partitions": "1", **QUICK_START}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    table = pa.table({name: pa.array(column, pa.string()) for name, column in CELLS.items()})
    mine, known = open_source(spark.createDataFrame(table)), open_source(table)
    coded = mine.count(codings(["a", "b"], ["s"]), person="p")
    recoding = list(recodings(coded))[-1]
    expected = open_source(known.recode(recoding, drop=["p"])).digest()
    found = {
        "kind": type(mine.frame).__module__,
        "counted": coded.digest == known.count(codings(["a", "b"], ["s"]), person="p").digest,
        "recoded": open_source(mine.recode(recoding, drop=["p"])).digest() == expected,
        "written": open_source(mine.write(recoding, folder / "out.parquet", drop=["p"])).digest() == expected,
    }
    print("\n" + json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
