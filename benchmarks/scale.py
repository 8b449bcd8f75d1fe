"""Files of one, ten and a hundred million rows on one machine, beside a Polars scan and a DuckDB join.

    python -m benchmarks scale [--tables FOLDER] [--sizes 1000000 10000000 100000000]

The tables are those of `benchmarks/rows.py`, made once into FOLDER and kept there if it is named. Every
measurement is a process of its own; memory is the resident set of its process tree, sampled. Above ten
million rows only counts are measured: the join takes minutes.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import rows as of_rows

SIZES = (1_000_000, 10_000_000, 100_000_000)
JOINED = 10_000_000
LIMIT, LITTLE = "1500MB", "500MB"
START = 3


def table(folder: Path, rows: int) -> Path:
    """The table of so many rows, made unless it is there."""
    place = folder / str(rows)
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "rows.parquet").exists():
        draft = place / "rows.draft"
        of_rows.generate(draft, rows)
        draft.rename(place / "rows.parquet")
    return place


def policy(search: str = "top-down", start: int = 0) -> dict[str, Any]:
    """k = 10; the zip by digits, the age by intervals: from a level on, and fewer columns, if asked for."""
    columns: dict[str, Any] = {name: {"role": "quasi"} for name in of_rows.KEYS}
    columns["zip"]["taxonomy"] = {"prefix": [3, 2, 1]}
    columns["age"]["taxonomy"] = {"intervals": [5, 10, 20], "from": 0, "to": 120}
    if start:
        columns["zip"]["start"] = columns["age"]["start"] = start
        columns |= {name: {"role": "identifier"} for name in ("education", "occupation", "country")}
    columns[of_rows.SENSITIVE] = {"role": "sensitive"}
    return {
        "columns": columns,
        "promises": [{"k-anonymity": {"k": 10}}],
        "protect": {"search": search},
    }


def _protect(folder: Path, search: str, **given: Any) -> None:
    from sfumato import journey

    out = folder / f"{search}.parquet"
    start = given.pop("start", 0)
    plan, _ = journey.protect_file(
        folder / "rows.parquet", policy(search, start), out, overwrite=True, **given
    )
    print(json.dumps({"classes": plan.classes, "distinct": plan.recoding.table.distinct}))


def _limited(folder: Path) -> None:
    """The middle level of every column, written within a limit; the table is counted before."""
    from sfumato.engine import open_source
    from sfumato.terms.cut import Cut
    from sfumato.terms.memory import Memory
    from sfumato.terms.recoding import Recoding

    source = open_source(folder / "rows.parquet", memory=Memory.of(LIMIT))
    counted = source.count(of_rows._codings())
    recoding = Recoding.of_cuts(counted, {c.name: Cut.level(c.taxonomy, 1) for c in counted.keys})
    before = of_rows._cpu(resource.RUSAGE_SELF)
    source.write(recoding, folder / "limited.parquet", overwrite=True)
    print(json.dumps({"cpu": of_rows._cpu(resource.RUSAGE_SELF) - before}))


STEPS = {
    **of_rows.STEPS,
    "limited": _limited,
    "top-down": lambda folder: _protect(folder, "top-down"),
    "mondrian": lambda folder: _protect(folder, "mondrian"),
    "coarse": lambda folder: _protect(folder, "top-down", start=START, memory=LITTLE),
}


def measure(step: str, folder: Path) -> dict[str, Any]:
    """Run one step as a process: what it printed, its CPU seconds, its peak memory in MB."""
    before = of_rows._cpu(resource.RUSAGE_CHILDREN)
    command = [sys.executable, str(Path(__file__).resolve()), "--step", step, "--folder", str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(child, peak))
    watcher.start()
    output, _ = child.communicate()
    watcher.join()
    if child.returncode:
        raise RuntimeError(f"step {step} failed")
    process = of_rows._cpu(resource.RUSAGE_CHILDREN) - before
    found = {"process": process, "peak": peak[0] / 1e6, "load": os.getloadavg()[0]} | json.loads(output)
    print(json.dumps({"rows": int(folder.name), "step": step} | found), file=sys.stderr, flush=True)
    return found


def _watch(child: subprocess.Popen[str], peak: list[int]) -> None:
    while child.poll() is None:
        peak[0] = max(peak[0], sum(_resident(pid) for pid in _family(child.pid)))
        time.sleep(0.02)


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        children = []
    return [pid, *(one for child in children for one in _family(int(child)))]


def _resident(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * resource.getpagesize()


def main(sizes: Sequence[int] = SIZES, tables: Path | None = None) -> list[dict[str, Any]]:
    """The figures as table rows: name, ours, theirs, ratio, goal, ok."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for rows in sizes:
            folder = table(tables or Path(name), rows)
            found += _figures(folder, rows)
    return found


def _figures(folder: Path, rows: int) -> list[dict[str, Any]]:
    count, scan = measure("count", folder), measure("scan", folder)
    budget = rows * 16 / 1e6 + 400
    found = [
        _row(f"counts, {rows:,} rows, CPU s (Polars scan)", count["process"], scan["process"], 8.0),
        _row(f"counts, {rows:,} rows, peak MB (16 B/row + 400)", count["peak"], budget, 1.0),
    ]
    if rows > JOINED:
        return found
    write, join = measure("recode", folder), measure("join", folder)
    found += [
        _row(f"recode, sort, write, {rows:,} rows, CPU s (DuckDB)", write["cpu"], join["cpu"], 1.2),
        _row(f"recode, sort, write, {rows:,} rows, peak MB (DuckDB)", write["peak"], join["peak"], None),
    ]
    within = measure("limited", folder)
    found.append(_row(f"the same within {LIMIT}, {rows:,} rows, peak MB", within["peak"], 1500, 1.0))
    coarse = measure("coarse", folder)
    found.append(
        _row(f"protect from level {START} within {LITTLE}, {rows:,} rows, peak MB", coarse["peak"], 500, 1.0)
    )
    for search in ("top-down", "mondrian"):
        whole = measure(search, folder)
        found.append(
            _row(f"protect by {search}, {rows:,} rows, CPU s (scan)", whole["process"], scan["process"], None)
        )
        found.append(
            _row(f"protect by {search}, {rows:,} rows, peak MB (table)", whole["peak"], budget, None)
        )
    return found


_row = of_rows._row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.step:
        STEPS[given.step](given.folder)
    else:
        for line in main(given.sizes, given.tables):
            print(json.dumps(line))
