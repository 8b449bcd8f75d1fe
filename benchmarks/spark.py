"""Rows to counts and back in Spark, beside the same group-by and the same joins written in Spark by hand.

    python -m benchmarks spark [--rows 10000000]

Both sides run in a process of their own with a local Spark, first over a small table, so that the machine
code is there, then over the large one. CPU seconds are those of the driver's Python and of the Java process,
which is driver and worker in one here; peak memory is told for each of the two.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.processes import measure, row
from benchmarks.rows import KEYS, SENSITIVE, _codings, _taxonomies, generate

GOAL = 1.2
SMALL = 200_000
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "8",
}


def _session() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def ours(spark: Any, path: Path, out: Path, told: Callable[[str], None]) -> None:
    """As a user would, without the search in between: every key becomes its parent."""
    from sfumato.engine import open_source
    from sfumato.terms.cut import Cut
    from sfumato.terms.recoding import Recoding

    source = open_source(spark.read.parquet(str(path)))
    table = source.count(_codings())
    told("count")
    recoding = Recoding.of_cuts(table, {c.name: Cut.level(c.taxonomy, 1) for c in table.keys})
    told("between")
    source.write(recoding, out)
    told("recode")


def theirs(spark: Any, path: Path, out: Path, told: Callable[[str], None]) -> None:
    """The values of every column, codes by broadcast joins, packed keys, counts; labels by joins."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    frame, rules = spark.read.parquet(str(path)), _taxonomies()
    maps, shift = {}, 0
    for name in (SENSITIVE, *reversed(KEYS)):
        values = sorted(row[0] for row in frame.select(name).distinct().collect())
        tree = rules[name](values)
        labels = [tree.labels[tree.levels[1][tree.rank(value)]] for value in values]
        codes = [rank << shift for rank in range(len(values))]
        maps[name] = pa.table({f"{name}_value": values, f"{name}_code": codes, f"{name}_label": labels})
        shift += max(1, (len(values) - 1).bit_length())

    def joined(names: Any, wanted: str) -> Any:
        found = frame
        for name in names:
            small = spark.createDataFrame(maps[name].select([f"{name}_value", f"{name}_{wanted}"]))
            found = found.join(F.broadcast(small), F.col(name) == F.col(f"{name}_value"))
        return found

    every = (*KEYS, SENSITIVE)
    key = sum((F.col(f"{name}_code") for name in every), F.lit(0))
    keyed = joined(every, "code").select(key.alias("key"))
    counted = keyed.groupBy("key").count().toArrow()
    told("count")
    del counted
    told("between")
    shown = [F.col(f"{name}_label").alias(name) for name in KEYS]
    table = joined(KEYS, "label").select(*shown, SENSITIVE).orderBy(*every)
    table.write.option("compression", "zstd").parquet(str(out))
    told("recode")


SIDES = {"ours": ours, "theirs": theirs}


def _step(side: str, folder: Path) -> None:
    spark = _session()
    java = spark.sparkContext._gateway.proc.pid
    found: dict[str, float] = {}
    before = [0.0]

    def told(phase: str) -> None:
        now = _cpu(java)
        found[phase], before[0] = now - before[0], now

    SIDES[side](spark, folder / "small.parquet", folder / f"small_{side}.parquet", told)
    before[0] = _cpu(java)
    SIDES[side](spark, folder / "rows.parquet", folder / f"{side}.parquet", told)
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps(found | {"python": python, "java": _peak(java)}))
    spark.stop()


def _cpu(java: int) -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    fields = Path(f"/proc/{java}/stat").read_text().rpartition(")")[2].split()
    return own.ru_utime + own.ru_stime + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def _same(folder: Path) -> bool:
    import duckdb

    told = [
        duckdb.sql(
            f"SELECT count(*), sum(hash(COLUMNS(*))) FROM read_parquet('{folder}/{side}.parquet/*.parquet')"
        )
        for side in SIDES
    ]
    return told[0].fetchall() == told[1].fetchall()


def main(rows: int = 10_000_000) -> list[dict[str, Any]]:
    """The figures as table rows: name, ours, theirs, ratio, goal, ok."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "small.parquet", min(SMALL, rows))
        generate(folder / "rows.parquet", rows)
        mine, known = (measure("benchmarks.spark", side, folder, quiet=True) for side in SIDES)
        if not _same(folder):
            raise RuntimeError("the two published tables differ")
    return [
        row(f"Spark, rows to counts, {rows:,} rows, CPU s", mine["count"], known["count"], GOAL),
        row(f"Spark, recode, sort, write, {rows:,} rows, CPU s", mine["recode"], known["recode"], GOAL),
        row(f"Spark, driver's Python, {rows:,} rows, peak MB", mine["python"], known["python"], None),
        row(f"Spark, Java (driver and worker), {rows:,} rows, peak MB", mine["java"], known["java"], None),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", choices=SIDES, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    _step(given.step, given.folder)
