"""Rows to counts and back at scale, beside a Polars scan and a DuckDB join of the same table in the same run.

    python benchmarks/rows.py [--rows 10000000]

Every measurement is a process of its own that loads only what it needs; CPU seconds are those of that process
(start-up included for counts and scan), and memory is its largest resident set.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

KEYS = ("age", "zip", "gender", "race", "marital", "education", "occupation", "country")
SENSITIVE = "disease"
COLUMNS = (*KEYS, SENSITIVE)
SIZES = {
    "gender": 2,
    "race": 5,
    "marital": 7,
    "education": 16,
    "occupation": 14,
    "country": 41,
    "disease": 50,
}
CHUNK = 1_000_000
SCAN_GOAL, JOIN_GOAL = 8.0, 1.2


def generate(path: Path, rows: int, *, seed: int = 20) -> None:
    """A deterministic, skewed table of text: 8 quasi-identifiers, among them a zip; one sensitive column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    zips = np.sort(rng.choice(100_000, 30_000, replace=False))
    weight = rng.lognormal(0.0, 1.0, len(zips))
    texts = {name: [f"{name} {i:02d}" for i in range(size)] for name, size in SIZES.items()}
    texts["age"] = [str(17 + i) for i in range(74)]
    texts["zip"] = [f"{z:05d}" for z in zips]
    shares = {n: rng.lognormal(0.0, 0.8, len(t)) for n, t in texts.items()} | {"zip": weight}
    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, compression="zstd") as out:
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            drawn = {n: _draw(rng, shares[n], count) for n in COLUMNS}
            drawn["education"] = (drawn["education"] + drawn["occupation"] // 2) % SIZES["education"]
            columns = [pa.array(texts[n], pa.string()).take(pa.array(drawn[n])) for n in COLUMNS]
            out.write_table(pa.table(columns, schema=schema))


def _draw(rng: np.random.Generator, share: Any, count: int) -> Any:
    edges = np.cumsum(share / share.sum())
    return np.searchsorted(edges[:-1], rng.random(count))


def _taxonomies() -> dict[str, Any]:
    """Builders of two-level trees: age by decades, zip by two digits, the rest by groups of four."""
    from sfumato.terms.taxonomy import Taxonomy

    def grouped(group: Any) -> Any:
        def build(values: Any) -> Any:
            parents = sorted({group(v) for v in values})
            labels = ["*", *parents, *values]
            parent = [-1, *[0] * len(parents), *(1 + parents.index(group(v)) for v in values)]
            return Taxonomy.grow(labels, parent)

        return build

    rules = {name: grouped(lambda v: f"{v[:-2]}{int(v[-2:]) // 4}xx") for name in COLUMNS}
    return rules | {
        "age": grouped(lambda v: f"{int(v) // 10 * 10}s"),
        "zip": grouped(lambda v: v[:2] + "***"),
    }


def _codings() -> list[Any]:
    from sfumato.terms.microdata import Coding, Role

    rules = _taxonomies()
    return [Coding(n, Role.SENSITIVE if n == SENSITIVE else Role.QUASI, rules[n]) for n in COLUMNS]


def _count(folder: Path) -> None:
    from sfumato.engine import open_source

    table = open_source(folder / "rows.parquet").count(_codings())
    print(json.dumps({"distinct": table.distinct}))


def _scan(folder: Path) -> None:
    import polars as pl

    lengths = pl.scan_parquet(folder / "rows.parquet").select(pl.col(COLUMNS).str.len_bytes().sum())
    print(json.dumps({"bytes": sum(lengths.collect(engine="streaming").row(0))}))


def _recode(folder: Path) -> None:
    """Count, recode to the middle level, sort and write; reports the CPU of the second half alone."""
    from sfumato.engine import open_source
    from sfumato.terms.cut import Cut
    from sfumato.terms.recoding import Recoding

    source = open_source(folder / "rows.parquet")
    table = source.count(_codings())
    recoding = Recoding.of_cuts(table, {c.name: Cut.level(c.taxonomy, 1) for c in table.keys})
    before = _cpu(resource.RUSAGE_SELF)
    source.write(recoding, folder / "ours.parquet", overwrite=True)
    print(json.dumps({"cpu": _cpu(resource.RUSAGE_SELF) - before}))


def _join(folder: Path) -> None:
    """The same by hand in DuckDB: one map table per key column, joins, ORDER BY, Parquet."""
    import duckdb
    import pyarrow as pa

    con = duckdb.connect()
    con.execute("set preserve_insertion_order = false; set memory_limit = '4GB'")
    con.execute(f"set temp_directory = '{folder / 'spill'}'")
    rows = f"read_parquet('{folder / 'rows.parquet'}')"
    rules = _taxonomies()
    for name in KEYS:
        values = [v for (v,) in con.execute(f"select {name} from {rows} group by 1 order by 1").fetchall()]
        tree = rules[name](values)
        nodes = [tree.levels[1][tree.rank(v)] for v in values]
        label = [tree.labels[n] for n in nodes]
        con.register("maps", pa.table({"value": values, "label": label}))
        con.execute(f"create table map_{name} as select * from maps")
    before = _cpu(resource.RUSAGE_SELF)
    joins = " ".join(f"join map_{n} on r.{n} = map_{n}.value" for n in KEYS)
    labels = ", ".join(f"map_{n}.label as {n}" for n in KEYS)
    query = f"select {labels}, {SENSITIVE} from {rows} r {joins} order by all"
    con.execute(f"copy ({query}) to '{folder / 'theirs.parquet'}' (format parquet, compression zstd)")
    print(json.dumps({"cpu": _cpu(resource.RUSAGE_SELF) - before}))


def _same(folder: Path) -> bool:
    import polars as pl

    ours, theirs = (pl.scan_parquet(folder / f"{who}.parquet") for who in ("ours", "theirs"))
    digest = [f.select(pl.struct(COLUMNS).hash().sum(), pl.len()).collect().row(0) for f in (ours, theirs)]
    return digest[0] == digest[1]


STEPS = {"count": _count, "scan": _scan, "recode": _recode, "join": _join}


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measure(step: str, folder: Path) -> dict[str, Any]:
    """Run one step as a process: what it printed, its CPU seconds and its peak memory in MB."""
    before = _cpu(resource.RUSAGE_CHILDREN)
    command = [sys.executable, str(Path(__file__).resolve()), "--step", step, "--folder", str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(child, peak))
    watcher.start()
    output, _ = child.communicate()
    watcher.join()
    if child.returncode:
        raise RuntimeError(f"step {step} failed")
    process = _cpu(resource.RUSAGE_CHILDREN) - before
    return {"process": process, "peak": peak[0] / 1e6} | json.loads(output)


def _watch(child: subprocess.Popen[str], peak: list[int]) -> None:
    page = resource.getpagesize()
    while child.poll() is None:
        try:
            resident = int(Path(f"/proc/{child.pid}/statm").read_text().split()[1]) * page
        except (OSError, IndexError):
            break
        peak[0] = max(peak[0], resident)
        time.sleep(0.01)


def main(rows: int = 10_000_000) -> list[dict[str, Any]]:
    """The figures as table rows: name, ours, theirs, ratio, goal, ok."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "rows.parquet", rows)
        measure("count", folder)  # fills caches: pages, compiled code
        count, scan = measure("count", folder), measure("scan", folder)
        recode, join = measure("recode", folder), measure("join", folder)
        if not _same(folder):
            raise RuntimeError("the two published tables differ")
    budget = rows * 16 / 1e6 + 400
    return [
        _row(
            f"rows to counts, {rows:,} rows, CPU s (Polars scan)",
            count["process"],
            scan["process"],
            SCAN_GOAL,
        ),
        _row(f"rows to counts, {rows:,} rows, peak MB (16 B/row + 400)", count["peak"], budget, 1.0),
        _row(f"recode, sort, write, {rows:,} rows, CPU s (DuckDB)", recode["cpu"], join["cpu"], JOIN_GOAL),
        _row(f"recode, sort, write, {rows:,} rows, peak MB (DuckDB)", recode["peak"], join["peak"], None),
    ]


def _row(name: str, ours: float, theirs: float, goal: float | None) -> dict[str, Any]:
    ratio = ours / theirs
    ok = None if goal is None else ratio <= goal
    return {"name": name, "ours": round(ours, 2), "theirs": round(theirs, 2), "ratio": round(ratio, 2)} | {
        "goal": goal,
        "ok": ok,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.step:
        STEPS[given.step](given.folder)
    else:
        for line in main(given.rows):
            print(json.dumps(line))
