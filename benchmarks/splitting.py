"""Top-down specialization and Mondrian on a large generated table, beside a plain scan of the same columns.

A search is timed in a warm process, from the counted table to the finished recoding and its loss. The scan is
a process of its own, start-up included, as in `rows.py`: that is how the goal was set.
Run as a script: `python benchmarks/splitting.py --rows 10000000`.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search.contract import Aim
from sfumato.search.mondrian import mondrian
from sfumato.search.top_down import top_down
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

GOAL = 8.0
"""A search may cost this many scans."""

SIZES = {
    "age": 74,
    "zip": 30_000,
    "gender": 2,
    "race": 5,
    "marital": 7,
    "education": 16,
    "occupation": 14,
    "country": 41,
    "disease": 50,
}
ORDERED = ("age", "zip", "education")


def taxonomy(name: str) -> Taxonomy:
    """A tree of the usual shape: prefixes for zip, nested intervals for age, groups for the rest."""
    size = SIZES[name]
    steps = {"zip": (10, 100, 1_000, 10_000), "age": (5, 10, 20, 40)}.get(name, (max(2, round(size**0.5)),))
    values = [f"{i:05d}" if name == "zip" else f"{name} {i:02d}" for i in range(size)]
    labels, parent, below = list(values), [-1] * size, list(range(size))
    for step in steps:
        groups = -(-size // step)
        first = len(labels)
        labels += [f"{name} {step}x{g}" for g in range(groups)]
        parent += [-1] * groups
        for node, leaf in zip(
            below, np.linspace(0, size, len(below), endpoint=False).astype(int), strict=True
        ):
            parent[node] = first + int(leaf) // step
        below = list(range(first, first + groups))
    labels.append("*")
    parent.append(-1)
    for node in below:
        parent[node] = len(labels) - 1
    return Taxonomy.grow(labels, parent, ordered=name in ORDERED)


def generate(rows: int, *, seed: int = 7) -> tuple[list[Column], list[np.ndarray]]:
    """Codes of a skewed, partly correlated table about people."""
    rng = np.random.default_rng(seed)

    def skewed(size: int, spread: float = 1.0) -> np.ndarray:
        weight = rng.lognormal(0, spread, size)
        return rng.choice(size, rows, p=weight / weight.sum())

    age = np.clip(rng.normal(32, 19, rows), 0, 73).astype(np.int64)
    education = skewed(16)
    race = skewed(5)
    codes = {
        "age": age,
        "zip": skewed(30_000),
        "gender": rng.integers(0, 2, rows),
        "race": race,
        "marital": np.clip(age // 15 + rng.integers(-1, 3, rows), 0, 6),
        "education": education,
        "occupation": np.where(rng.random(rows) < 0.5, education * 14 // 16, skewed(14)),
        "country": np.where(rng.random(rows) < 0.9, race * 8, skewed(41)),
        "disease": np.where(rng.random(rows) < 0.3, age * 50 // 74, skewed(50)),
    }
    columns = [
        Column(name, Role.SENSITIVE if name == "disease" else Role.QUASI, taxonomy(name)) for name in SIZES
    ]
    return columns, [codes[name].astype(np.int32) for name in SIZES]


def write_strings(path: Path, columns: list[Column], codes: list[np.ndarray]) -> None:
    """The same table as text in a Parquet file."""
    frame = pl.DataFrame(
        {
            c.name: pl.Series(c.taxonomy.leaf_labels).gather(pl.Series(code))
            for c, code in zip(columns, codes, strict=True)
        }
    )
    frame.write_parquet(path)


SCAN = """
import sys
import polars as pl
pl.scan_parquet(sys.argv[1]).select(pl.all().str.len_bytes().sum()).collect(engine="streaming")
"""


def scan(path: Path, *, repeat: int = 3) -> float:
    """CPU seconds of a process that touches every value of every column once; the least of some runs."""
    best = float("inf")
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", SCAN, str(path)], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main(rows: int = 10_000_000) -> list[dict[str, object]]:
    promises = Promises((KAnonymity(10),))
    searches = {"top-down": top_down, "mondrian": mondrian}
    aim = Aim(loss="discernibility")
    small = Microdata.of_codes(*generate(1_000))
    for search in searches.values():
        search(small, promises, aim)
    columns, codes = generate(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_strings(path, columns, codes)
        theirs = scan(path)
    table = Microdata.of_codes(columns, codes)
    del codes
    found: list[dict[str, object]] = []
    for name, search in searches.items():
        ours = cpu(lambda search=search: search(table, promises, aim))  # type: ignore[misc]
        ratio = ours / theirs
        found.append(
            {
                "name": f"{name}, {rows:,} rows, k = 10, CPU s (Polars scan)",
                "ours": ours,
                "theirs": theirs,
                "ratio": ratio,
                "goal": GOAL,
                "ok": ratio <= GOAL,
            }
        )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    for line in main(parser.parse_args().rows):
        print(line)
    print(f"load {os.getloadavg()[0]:.1f}")
