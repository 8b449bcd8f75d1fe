"""Other Sparks: workers and disks that fail, and a server in between."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from table.spark.settings import JAVA

pytestmark = pytest.mark.xdist_group("spark")

FULL = """
import os, sys
from pathlib import Path
from pyspark.sql import SparkSession, functions as F
from sfumato.table.source import open_source
from sfumato.system.errors import BadData
from sfumato.testing.engines import codings, recodings

os.environ["PYSPARK_PYTHON"] = sys.executable
folder = Path(sys.argv[1])
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2")
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
rows = spark.range(60_000).select(
    (F.col("id") % 3).cast("string").alias("a"), F.sha2(F.col("id").cast("string"), 512).alias("x")
)
source = open_source(rows)
recoding = next(recodings(source.count(codings(["a"]))))
try:
    source.write(recoding, folder / "out.parquet")
except BadData as refused:
    print(refused)
print(sorted(path.name for path in folder.iterdir()))
"""


def run(code, *arguments, before=None):
    done = subprocess.run(
        [sys.executable, *code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=before,
        env=os.environ | {"JAVA_TOOL_OPTIONS": JAVA, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    return done.stdout.splitlines()


def test_a_killed_task_and_a_lost_executor(tmp_path):
    """On a cluster of two workers: what was counted and published is what it would have been without."""
    told = json.loads(run([str(Path(__file__).with_name("lost.py"))], str(tmp_path))[-1])
    fine = {"killed": True, "counted": True, "published": True, "left": []}
    assert told == {"task": fine, "executor": fine}


def test_spark_connect(tmp_path):
    told = json.loads(run([str(Path(__file__).with_name("connected.py"))], str(tmp_path))[-1])
    kind = told.pop("kind")
    assert kind.startswith("pyspark.sql.connect") and all(told.values())


@pytest.mark.skipif(os.name != "posix", reason="file sizes are limited by POSIX")
def test_no_room_to_spill(tmp_path):
    """No file may grow beyond a megabyte: Spark cannot move the rows, and nothing is published."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    refusal, left = run(["-c", FULL], str(tmp_path), before=limited)[-2:]
    assert refusal.startswith("Spark could not finish writing") and left == "[]"
