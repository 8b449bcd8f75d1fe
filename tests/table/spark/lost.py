"""A small cluster on this machine whose workers die: run by a test, in a process of its own.

    python lost.py FOLDER

Prints, as JSON, what was counted and published although a task, and then a whole executor, was killed once.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from sfumato.table.source import open_source
from sfumato.testing.engines import codings, recodings
from table.spark.settings import QUICK_START

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    "spark.sql.shuffle.partitions": "4",
    **QUICK_START,
}


def deadly(folder: Path, how: str):
    """A column whose cells are left as they are, by a function that kills once."""
    mark = str(folder / f"killed-{how}")

    def cell(text):
        import os
        import signal
        from pathlib import Path

        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return text
        if how == "task":
            os._exit(1)
        daemon = os.getppid()
        executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)
        return text

    return F.udf(cell, StringType(), useArrow=False)


def main(folder: Path) -> None:
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,512]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    plain = spark.range(0, 2000, 1, 4).select(
        (F.col("id") % 7).cast("string").alias("a"),
        (F.col("id") % 11).cast("string").alias("s"),
        F.col("id").alias("x"),
    )
    found = {}
    known = open_source(plain).count(codings(["a"], ["s"]))
    recoding = list(recodings(known))[-1]
    expected = open_source(plain).recode(recoding)
    for how in ("task", "executor"):
        kill = deadly(folder, f"{how}")
        source = open_source(plain.withColumn("a", kill("a")))
        counted = source.count(codings(["a"], ["s"]))
        (folder / f"killed-{how}").unlink()
        written = source.write(recoding, folder / f"{how}.parquet")
        found[how] = {
            "killed": (folder / f"killed-{how}").exists(),
            "counted": counted.digest == known.digest,
            "published": open_source(written).digest() == open_source(expected).digest(),
            "left": sorted(path.name for path in folder.iterdir() if path.name.startswith(".")),
        }
    print("\n" + json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
