"""Rows to counts and back in Spark, beside the same group-by and the same joins written in Spark by hand.

    python -m benchmarks spark [--rows 10000000]

Both sides run in turn in one process with a local Spark, first over a small table, so that the machine code
is there, then several times over the large one, now one of them first and now the other. CPU seconds are
those of the driver's Python and of the Java process, which is driver and worker in one here. The ratio is the
median of the ratios of all turns: the machine's other work comes and goes, and both sides of a turn see about
the same of it. What the driver's Python takes is how far its memory rises above what it was before.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.rows import KEYS, SENSITIVE, _codings, _taxonomies, generate

GOAL = 1.2
TURNS = 3
PER_ROW, BESIDE = 48, 64_000_000
"""What the driver's Python may take: bytes for every distinct row of one word, and beside them."""
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


def _steps(folder: Path, turns: int) -> None:
    """Both sides in turn; prints what each turn took, one line of JSON."""
    spark = _session()
    java = spark.sparkContext._gateway.proc.pid
    for side in (*SIDES, *SIDES):
        _step(spark, java, side, folder, "small")
    found = []
    for turn in range(turns):
        order = list(SIDES) if turn % 2 == 0 else list(reversed(SIDES))
        found.append({side: _step(spark, java, side, folder, "rows") for side in order})
        if not _same(folder):
            raise RuntimeError("the two published tables differ")
    print(json.dumps(found))
    spark.stop()


def _step(spark: Any, java: int, side: str, folder: Path, table: str) -> dict[str, float]:
    out = folder / f"{side}.parquet"
    shutil.rmtree(out, ignore_errors=True)
    gc.collect()
    spark.sparkContext._jvm.System.gc()
    found: dict[str, float] = {}
    _forget_peak()
    held, before = _memory("VmRSS"), [_cpu(java)]

    def told(phase: str) -> None:
        now = _cpu(java)
        found[phase], before[0] = now - before[0], now

    SIDES[side](spark, folder / f"{table}.parquet", out, told)
    return found | {"python": _memory("VmHWM") - held, "java": _memory("VmHWM", java)}


def _cpu(java: int) -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    fields = Path(f"/proc/{java}/stat").read_text().rpartition(")")[2].split()
    return own.ru_utime + own.ru_stime + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(what: str, process: int | str = "self") -> float:
    """Megabytes of a process as Linux counts them."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1e3


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


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
        command = [sys.executable, "-m", "benchmarks.spark", "--folder", name, "--turns", str(TURNS)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
    print(f"load {os.getloadavg()[0]:.1f}; turns: {json.dumps(found)}", file=sys.stderr)
    allowed = (PER_ROW * rows + BESIDE) / 1e6
    return [
        _row(f"Spark, rows to counts, {rows:,} rows, CPU s", found, "count", GOAL),
        _row(f"Spark, recode, sort, write, {rows:,} rows, CPU s", found, "recode", GOAL),
        _row(f"Spark, driver's Python, {rows:,} rows, rise MB", found, "python")
        | {"goal": f"<= {allowed:,.0f} MB", "ok": max(turn["ours"]["python"] for turn in found) <= allowed},
        _row(f"Spark, Java (driver and worker), {rows:,} rows, peak MB", found, "java"),
    ]


def _row(name: str, turns: list[dict[str, Any]], what: str, goal: float | None = None) -> dict[str, Any]:
    """Medians over all turns."""
    mine, known = ([turn[side][what] for turn in turns] for side in SIDES)
    ratio = median(a / b for a, b in zip(mine, known, strict=True))
    figures = {"ours": round(median(mine), 2), "theirs": round(median(known), 2), "ratio": round(ratio, 2)}
    return {"name": name, **figures, "goal": goal, "ok": None if goal is None else ratio <= goal}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--turns", type=int, required=True)
    given = parser.parse_args()
    _steps(given.folder, given.turns)
