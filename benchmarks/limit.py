"""A whole `protect` by the default search beside the limit, Polars reading and writing the same file.

    python -m benchmarks limit
    python -m benchmarks.limit [--sizes 30000 300000 1000000 3000000] [--tables FOLDER]

The table is made up from a seed: 14 columns, of which 9 are quasi-identifiers, and nearly every row is
another combination of them. k = 5 is promised, and `suppress` is the default. CPU seconds of whole processes,
start included; `where` says what planning took of it, search by search.
"""
# ruff: noqa: PLC0415  # each step is a process of its own

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import Step, measure, row, serve

SIZES = (30_000, 300_000)
GOAL = 12.0
POLICY = """\
columns:
  id: {role: identifier}
  age: {role: quasi, taxonomy: {intervals: [5, 10, 20, 40], from: 0, to: 120}}
  work: {role: quasi}
  weight: {role: insensitive}
  education: {role: quasi}
  marital: {role: quasi}
  occupation: {role: quasi}
  relation: {role: insensitive}
  origin: {role: quasi}
  sex: {role: quasi}
  zip: {role: quasi, taxonomy: {prefix: [4, 3, 2, 1]}}
  hours: {role: quasi, taxonomy: {intervals: [5, 10, 20, 40], from: 0, to: 120}}
  income: {role: insensitive}
  disease: {role: sensitive}
promises: [{k-anonymity: {k: 5}}]
"""
VALUES = {
    "work": 8,
    "education": 16,
    "marital": 7,
    "occupation": 14,
    "relation": 6,
    "origin": 5,
    "disease": 30,
}


def people(rows: int, seed: int = 42) -> dict[str, Any]:
    """Returns the columns of so many made-up people."""
    draw = np.random.default_rng(seed)

    def skewed(size: int) -> Any:
        share = np.sort(draw.lognormal(0, 1, size))[::-1]
        return np.searchsorted(np.cumsum(share / share.sum())[:-1], draw.random(rows))

    texts = {
        name: np.array([f"{name} {i:02d}" for i in range(size)])[skewed(size)]
        for name, size in VALUES.items()
    }
    zips = 10_000 + (draw.zipf(1.3, rows) % 800) * 37
    return {
        "id": np.array([f"P{i:08d}" for i in draw.permutation(rows)]),
        "age": np.clip(draw.gamma(6, 7, rows), 17, 90).astype(int),
        "weight": draw.integers(12_000, 1_000_000, rows),
        "sex": np.where(draw.random(rows) < 0.48, "female", "male"),
        "zip": np.array([f"{z:05d}" for z in zips]),
        "hours": np.clip(draw.normal(40, 12, rows), 1, 99).astype(int),
        "income": (draw.lognormal(10.5, 0.6, rows) // 1000 * 1000).astype(int),
        **texts,
    }


def made(folder: Path, rows: int) -> Path:
    """Writes the table and its policy, unless they are there; returns their folder."""
    import polars as pl

    place = folder / str(rows)
    if not (place / "people.csv").exists():
        place.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(people(rows)).write_csv(place / "people.csv")
        (place / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return place


def _scan(folder: Path) -> dict[str, Any]:
    import polars as pl

    pl.scan_csv(folder / "people.csv", infer_schema=False).sink_csv(folder / "written.csv")
    return {}


def _protect(folder: Path) -> dict[str, Any]:
    from sfumato.workflows.protect_file import protect_file

    plan, _ = protect_file(
        folder / "people.csv",
        folder / "policy.yaml",
        folder / "safe.csv",
        confirm=("disease",),
        overwrite=True,
    )
    return {"loss": plan.loss, "where": {each.search: round(each.seconds, 1) for each in plan.compared}}


STEPS: dict[str, Step] = {"scan": _scan, "protect": _protect}


def figures(sizes: Sequence[int], folder: Path) -> Iterator[dict[str, Any]]:
    """Yields the ratio at each size."""
    for rows in sizes:
        place = made(folder, rows)
        scan = min(measure("benchmarks.limit", "scan", place)["process"] for _ in range(3))
        ours = measure("benchmarks.limit", "protect", place)
        figure = row(
            f"protect by best, {rows:,} rows, CPU s (Polars scan and write)", ours["process"], scan, GOAL
        )
        yield figure | {name: ours[name] for name in ("loss", "where", "peak", "load")}


def main() -> list[dict[str, Any]]:
    """The figures as table rows."""
    with tempfile.TemporaryDirectory() as name:
        return list(figures(SIZES, Path(name)))


def _arguments() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limit", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--tables", type=Path, help="where tables are made and kept")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for figure in figures(chosen.sizes, (chosen.tables or Path(name)).absolute()):
            print(json.dumps(figure), flush=True)


if __name__ == "__main__":
    serve(STEPS) if "--step" in sys.argv else _arguments()
