"""Rows to counts and back at scale, beside a Polars scan and a DuckDB join of the same table in the same run.

    python -m benchmarks rows [--rows 10000000]

Every measurement is a process of its own that loads only what it needs; CPU seconds are those of that process
(start-up included for counts and scan), and memory is its largest resident set.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import Step, cpu, measure, row, serve

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
    from sfumato.table.taxonomy import Taxonomy

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
    from sfumato.table.microdata import Coding, Role

    rules = _taxonomies()
    return [Coding(n, Role.SENSITIVE if n == SENSITIVE else Role.QUASI, rules[n]) for n in COLUMNS]


def _count(folder: Path) -> dict[str, Any]:
    from sfumato.table.source import open_source

    table = open_source(folder / "rows.parquet").count(_codings())
    return {"distinct": table.distinct}


def _scan(folder: Path) -> dict[str, Any]:
    import polars as pl

    lengths = pl.scan_parquet(folder / "rows.parquet").select(pl.col(COLUMNS).str.len_bytes().sum())
    return {"bytes": sum(lengths.collect(engine="streaming").row(0))}


def recode(folder: Path, out: str = "ours.parquet", memory: str | None = None) -> dict[str, Any]:
    """Count, recode to the middle level, sort and write; reports the CPU of the second half alone."""
    from sfumato.system.memory import Memory
    from sfumato.table.cut import Cut
    from sfumato.table.recoding import Recoding
    from sfumato.table.source import open_source

    source = open_source(folder / "rows.parquet", memory=Memory.of(memory))
    table = source.count(_codings())
    recoding = Recoding.of_cuts(table, {c.name: Cut.level(c.taxonomy, 1) for c in table.keys})
    before = cpu()
    source.write(recoding, folder / out, overwrite=True)
    return {"cpu": cpu() - before}


def _join(folder: Path) -> dict[str, Any]:
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
    before = cpu()
    joins = " ".join(f"join map_{n} on r.{n} = map_{n}.value" for n in KEYS)
    labels = ", ".join(f"map_{n}.label as {n}" for n in KEYS)
    query = f"select {labels}, {SENSITIVE} from {rows} r {joins} order by all"
    con.execute(f"copy ({query}) to '{folder / 'theirs.parquet'}' (format parquet, compression zstd)")
    return {"cpu": cpu() - before}


def same(folder: Path) -> bool:
    import polars as pl

    ours, theirs = (pl.scan_parquet(folder / f"{who}.parquet") for who in ("ours", "theirs"))
    digest = [f.select(pl.struct(COLUMNS).hash().sum(), pl.len()).collect().row(0) for f in (ours, theirs)]
    return digest[0] == digest[1]


STEPS: dict[str, Step] = {"count": _count, "scan": _scan, "recode": recode, "join": _join}


def main(rows: int = 10_000_000) -> list[dict[str, Any]]:
    """The figures as table rows: name, ours, theirs, ratio, goal, ok."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "rows.parquet", rows)
        measure("benchmarks.rows", "count", folder)  # fills caches: pages, compiled code
        told = {step: measure("benchmarks.rows", step, folder) for step in STEPS}
        if not same(folder):
            raise RuntimeError("the two published tables differ")
    return figures(told, rows)


def figures(told: dict[str, dict[str, Any]], rows: int) -> list[dict[str, Any]]:
    """Counts beside a scan, and where it was measured the written table beside a join."""
    count, scan = told["count"], told["scan"]
    budget = rows * 16 / 1e6 + 400
    found = [
        row(f"counts, {rows:,} rows, CPU s (Polars scan)", count["process"], scan["process"], SCAN_GOAL),
        row(f"counts, {rows:,} rows, peak MB (16 B/row + 400)", count["peak"], budget, 1.0),
    ]
    if "join" in told:
        ours, join = told["recode"], told["join"]
        found += [
            row(f"recode, sort, write, {rows:,} rows, CPU s (DuckDB)", ours["cpu"], join["cpu"], JOIN_GOAL),
            row(f"recode, sort, write, {rows:,} rows, peak MB (DuckDB)", ours["peak"], join["peak"], None),
        ]
    return found


if __name__ == "__main__":
    serve(STEPS)
