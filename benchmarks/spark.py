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

import gc
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.processes import cpu, forget_peak, measure, serve, status
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
    from sfumato.table.cut import Cut
    from sfumato.table.recoding import Recoding
    from sfumato.table.source import open_source

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


def _turns(folder: Path) -> dict[str, Any]:
    """Both sides in turn: what each took, turn by turn."""
    spark = _session()
    java = spark.sparkContext._gateway.proc.pid
    for side in (*SIDES, *SIDES):
        _step(spark, java, side, folder, "small")
    found = []
    for turn in range(TURNS):
        order = list(SIDES) if turn % 2 == 0 else list(reversed(SIDES))
        found.append({side: _step(spark, java, side, folder, "rows") for side in order})
        if not _same(folder):
            raise RuntimeError("the two published tables differ")
    spark.stop()
    return {"turns": found}


def _step(spark: Any, java: int, side: str, folder: Path, table: str) -> dict[str, float]:
    out = folder / f"{side}.parquet"
    shutil.rmtree(out, ignore_errors=True)
    gc.collect()
    spark.sparkContext._jvm.System.gc()
    found: dict[str, float] = {}
    forget_peak()
    held, before = status("VmRSS"), [_cpu(java)]

    def told(phase: str) -> None:
        now = _cpu(java)
        found[phase], before[0] = now - before[0], now

    SIDES[side](spark, folder / f"{table}.parquet", out, told)
    return found | {"python": (status("VmHWM") - held) / 1e6, "java": status("VmHWM", java) / 1e6}


def _cpu(java: int) -> float:
    fields = Path(f"/proc/{java}/stat").read_text().rpartition(")")[2].split()
    return cpu() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
        told = measure("benchmarks.spark", "turns", folder, quiet=True)
    found = told["turns"]
    loads = f"load {told['load']:.1f} at the end; CPU s of each turn"
    for what in ("count", "recode"):
        each = [f"{turn['ours'][what]:.1f}/{turn['theirs'][what]:.1f}" for turn in found]
        print(f"Spark, {what}: {loads}, ours/theirs: {', '.join(each)}")
    allowed = (PER_ROW * rows + BESIDE) / 1e6
    return [
        _row(f"Spark, rows to counts, {rows:,} rows, CPU s", found, "count", GOAL),
        _row(f"Spark, recode, sort, write, {rows:,} rows, CPU s", found, "recode", GOAL),
        _row(f"Spark, driver's Python, {rows:,} rows, rise MB", found, "python")
        | {"ratio": None, "goal": f"<= {allowed:,.0f} MB"}
        | {"ok": max(turn["ours"]["python"] for turn in found) <= allowed},
        _row(f"Spark, Java (driver and worker), {rows:,} rows, peak MB", found, "java"),
    ]


def _row(name: str, turns: list[dict[str, Any]], what: str, goal: float | None = None) -> dict[str, Any]:
    """Medians over all turns."""
    mine, known = ([turn[side][what] for turn in turns] for side in SIDES)
    ratio = median(a / b for a, b in zip(mine, known, strict=True))
    figures = {"ours": round(median(mine), 2), "theirs": round(median(known), 2), "ratio": round(ratio, 2)}
    return {"name": name, **figures, "goal": goal, "ok": None if goal is None else ratio <= goal}


if __name__ == "__main__":
    serve({"turns": _turns})
