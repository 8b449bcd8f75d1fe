"""Files of one, ten and a hundred million rows on one machine, beside a Polars scan and a DuckDB join.

    python -m benchmarks scale
    python -m benchmarks.scale [--sizes 1000000 10000000] [--tables FOLDER]

The tables are those of `benchmarks/rows.py`, made once into FOLDER and kept there if it is named. Every
measurement is a process of its own. Of a hundred million rows, counts are measured, and the same table
recoded, sorted and written within a limit, most of it on disk meanwhile. `searches` holds what a search was
said to take against what it took.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import rows as of_rows
from benchmarks.processes import Step, cpu, forget_peak, measure, row, serve, status

SIZES = (1_000_000, 10_000_000, 100_000_000)
JOINED = 10_000_000
LIMITS = {10_000_000: "1200MB", 100_000_000: "8GB"}
"""Within which the table is written, where it is large enough that some of it has to wait on disk."""

LITTLE, START = "500MB", 3
SEARCHED = 1_000_000
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "top-down": {},
    "top-down, l": {"sensitive": True, "suppress": "1/20"},
    "mondrian": {},
    "mondrian, l": {"sensitive": True},
    "lattice": {},
    "lattice, l": {"sensitive": True},
    "optimum": {},
}


def table(folder: Path, rows: int) -> Path:
    """The table of so many rows, made unless it is there."""
    place = folder / str(rows)
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "rows.parquet").exists():
        draft = place / "rows.draft"
        of_rows.generate(draft, rows)
        draft.rename(place / "rows.parquet")
    return place


def policy(
    search: str = "top-down",
    *,
    start: int = 0,
    few: bool = False,
    sensitive: bool = False,
    suppress: str | None = None,
) -> dict[str, Any]:
    """k = 10; the zip by digits, the age by intervals: from a level on, and fewer columns, if asked for."""
    columns: dict[str, Any] = {name: {"role": "quasi"} for name in of_rows.KEYS}
    columns["zip"]["taxonomy"] = {"prefix": [3, 2, 1]}
    columns["age"]["taxonomy"] = {"intervals": [5, 10, 20], "from": 0, "to": 120}
    if start:
        columns["zip"]["start"] = columns["age"]["start"] = start
    if few:
        columns |= {name: {"role": "identifier"} for name in ("education", "occupation", "country")}
    columns[of_rows.SENSITIVE] = {"role": "sensitive"}
    promises: list[dict[str, Any]] = [{"k-anonymity": {"k": 10}}]
    if sensitive:
        promises.append({"l-diversity": {"of": of_rows.SENSITIVE, "l": 2}})
    rule = {"search": search} | ({} if suppress is None else {"suppress": suppress})
    return {"columns": columns, "promises": promises, "protect": rule}


def _protect(folder: Path, search: str, memory: str | None = None, **given: Any) -> dict[str, Any]:
    from sfumato.workflows.protect_file import protect_file

    out = folder / f"{search}.parquet"
    asked = policy(search, **given)
    plan, _ = protect_file(folder / "rows.parquet", asked, out, overwrite=True, memory=memory)
    return {"classes": plan.classes, "distinct": plan.recoding.table.distinct}


def _limited(folder: Path) -> dict[str, Any]:
    """The middle level of every column, counted and written within a limit; how much went to disk."""
    from sfumato.table.spill import Longs, Spill, StoredArray

    store, spilled = Spill.store, [0]

    def counting(spill: Spill, numbers: Longs) -> StoredArray:
        spilled[0] += numbers.nbytes
        return store(spill, numbers)

    Spill.store = counting  # type: ignore[method-assign]
    told = of_rows.recode(folder, "limited.parquet", LIMITS[int(folder.name)])
    return told | {"spilled": spilled[0] / 1e6}


def _search(folder: Path, case: str) -> dict[str, Any]:
    """What a search and its proof take beside the table; a small table first, so that code is loaded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sfumato.policy.policy import Policy
    from sfumato.search.plan import bytes_needed, make_plan
    from sfumato.table.source import open_source

    asked = Policy.from_dict(policy(case.partition(",")[0], **SEARCHES[case]))
    path = folder / "rows.parquet"
    few = pq.ParquetFile(path).read_row_group(0).slice(0, 20_000)
    make_plan(open_source(few).count(asked.codings), asked)
    counted = open_source(path).count(asked.codings)
    del few
    pa.default_memory_pool().release_unused()
    before, began = status("VmRSS"), cpu()
    forget_peak()
    make_plan(counted, asked)
    taken = status("VmHWM") - before
    return {
        "taken": taken,
        "need": bytes_needed(counted, asked),
        "distinct": counted.distinct,
        "cpu": cpu() - began,
    }


STEPS: dict[str, Step] = {
    **of_rows.STEPS,
    "limited": _limited,
    "top-down": lambda folder: _protect(folder, "top-down"),
    "mondrian": lambda folder: _protect(folder, "mondrian"),
    "coarse": lambda folder: _protect(folder, "top-down", LITTLE, start=START, few=True),
    **{f"search {case}": lambda folder, case=case: _search(folder, case) for case in SEARCHES},  # type: ignore[misc]
}


def main(sizes: Sequence[int] = SIZES, tables: Path | None = None) -> list[dict[str, Any]]:
    """The figures as table rows: name, ours, theirs, ratio, goal, ok."""
    found: list[dict[str, Any]] = []
    _warm_up()
    for rows in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = table(tables or Path(name), rows)
            try:
                found += _figures(folder, rows)
            except RuntimeError as error:
                found.append({"name": f"{rows:,} rows: {error}", "goal": None, "ok": False})
            finally:
                for made in folder.iterdir():
                    if made.is_file() and made.name != "rows.parquet":
                        made.unlink()
    return found


def _warm_up(rows: int = 20_000) -> None:
    """Have kernels compiled before anything is measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = table(Path(name), rows)
        for step in ("count", "recode", "top-down", "mondrian"):
            measure("benchmarks.scale", step, folder)


def _figures(folder: Path, rows: int) -> list[dict[str, Any]]:
    def told(step: str) -> dict[str, Any]:
        figures = measure("benchmarks.scale", step, folder)
        print(json.dumps({"rows": rows, "step": step} | figures), file=sys.stderr, flush=True)
        return figures

    steps = ("count", "scan", "recode", "join") if rows <= JOINED else ("count", "scan")
    measured = {step: told(step) for step in steps}
    found = of_rows.figures(measured, rows)
    if "join" in measured and not of_rows.same(folder):
        raise RuntimeError("the two published tables differ")
    if rows in LIMITS:
        found += _within(told("limited"), rows)
    if rows <= JOINED:
        coarse = told("coarse")
        name = f"protect from level {START} within {LITTLE}, {rows:,} rows, peak MB"
        found.append(row(name, coarse["peak"], 500, 1.0))
        for search in ("top-down", "mondrian"):
            whole, scan = told(search), measured["scan"]
            name = f"protect by {search}, {rows:,} rows, "
            found.append(row(f"{name}CPU s (scan)", whole["process"], scan["process"], None))
            found.append(row(f"{name}peak MB (table)", whole["peak"], rows * 16 / 1e6 + 400, None))
    if rows == SEARCHED:
        for case in SEARCHES:
            search = told(f"search {case}")
            each = [search[name] / search["distinct"] for name in ("taken", "need")]
            found.append(row(f"search {case}, B per different row (as estimated)", each[0], each[1], 1.0))
    return found


def _within(limited: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
    from sfumato.system.memory import Memory

    allowed = (Memory.of(LIMITS[rows]).limit or 0) / 1e6
    spilled = round(limited["spilled"], 1)
    name = f"within {LIMITS[rows]}, {rows:,} rows, "
    return [
        row(f"{name}peak MB (the limit)", limited["peak"], allowed, 1.0),
        {"name": f"{name}MB on disk", "ours": spilled, "goal": "some", "ok": spilled > 0},
        {"name": f"{name}CPU s of writing", "ours": round(limited["cpu"], 2), "goal": None, "ok": None},
    ]


if __name__ == "__main__":
    if "--step" in sys.argv:
        serve(STEPS)
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
        parser.add_argument("--tables", type=Path)
        given = parser.parse_args()
        for line in main(given.sizes, given.tables):
            print(json.dumps(line))
