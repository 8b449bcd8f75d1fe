"""What a user waits for, before and after: the cold call, the whole call, a long table, chains of releases.

    python -m benchmarks.waits [--before FOLDER] [--rows 1000000 5000000] [--releases 10] [NAME ...]

FOLDER holds the `sfumato/` of another commit (`git archive COMMIT src | tar x -C PLACE`, then PLACE/src).
Both run in turn, each measurement in a process of its own, so that a busy machine slows both alike: CPU
seconds, the least of a few runs, beside those of a Polars scan of the same file. All tables come from seeds.
"""
# ruff: noqa: PLC0415  # each step is a process of its own

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src"
REPEATS = 3
ADULT_LIKE = 30_000
POLICY = """\
columns:
  patient_id: {role: identifier}
  name: {role: identifier}
  born: {role: quasi, taxonomy: {date: [month, year, decade]}}
  zip: {role: quasi, taxonomy: {prefix: [4, 3, 2, 1]}}
  sex: {role: quasi}
  job: {role: quasi}
  income: {role: identifier}
  disease: {role: sensitive}
  symptoms: {role: identifier}
  admitted: {role: quasi}
promises: [{k-anonymity: {k: 5}}, {l-diversity: {of: disease, l: 3}}]
protect: {search: top-down, suppress: 5%}
"""
CHAIN = {
    "columns": {
        "batch": {"role": "identifier"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20, 40], "from": 0, "to": 120}},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [4, 3, 2]}},
        "sex": {"role": "quasi", "taxonomy": {"tree": ["f", "m"]}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"continuous": {"k": 5, "since": "batch"}}],
    "protect": {"search": "top-down", "suppress": 0},
    "confirm": {"disease": True},
}
KINDS = {
    "batches of 50": (50, 50, 50),
    "batches of 200": (200, 200, 200),
    "batches of 20 to 500": (20, 20, 500),
    "5,000 at first, then 50": (5000, 50, 50),
}
"""Chains by their batches: rows of the first one, and the fewest and most of every other. Small batches soon
have the same cuts, larger ones always finer ones."""


def make_table(folder: Path, rows: int) -> None:
    """Writes the demo's people as CSV and Parquet, unless it did before.

    Beside them are the demo's policy with `search: top-down` in place of `best`, and a smaller one.
    """
    from sfumato import demo
    from sfumato.demo.hospital import hospital

    if not (folder / "hospital.parquet").exists():
        demo.write(folder, 10)
        people = hospital(rows)
        people.write_csv(folder / "hospital.csv")
        people.write_parquet(folder / "hospital.parquet")
        (folder / "cold.yaml").write_text(POLICY, encoding="utf-8")
        policy = (folder / "policy.yaml").read_text(encoding="utf-8")
        (folder / "top_down.yaml").write_text(policy.replace("search: best", "search: top-down"), "utf-8")


def step_search(folder: Path) -> None:
    """Prints the CPU seconds of planning by top-down, from the counted table."""
    from sfumato.policy.policy import Policy
    from sfumato.search.plan import make_plan
    from sfumato.table.source import open_source

    policy = Policy.load(folder / "top_down.yaml")
    table = open_source(folder / "hospital.parquet").count(policy.codings, missing=policy.missing)
    begin = time.process_time()
    make_plan(table, policy)
    print(time.process_time() - begin)


def batches(kind: str, releases: int) -> Iterator[dict[str, Any]]:
    """Yields the columns of so many batches of a chain of this kind, from a seed."""
    import numpy as np

    draw, (first, fewest, most) = np.random.default_rng(5), KINDS[kind]
    for number in range(releases):
        n = int(draw.integers(fewest, most + 1)) if number else first
        age = np.clip(draw.normal(45, 18, n), 0, 99).astype(int).astype(str)
        zips = [f"{z:05d}" for z in draw.zipf(1.3, n) % 400 + 10000]
        sex, ill = np.where(draw.random(n) < 0.5, "f", "m"), draw.integers(0, 6, n).astype(str)
        yield {"batch": [f"{number:03d}"] * n, "age": age, "zip": zips, "sex": sex, "disease": ill}


def step_chain(kind: str, releases: int) -> None:
    """Prints the CPU seconds of planning the last of so many releases of a chain."""
    import polars as pl

    import sfumato as sf

    frames, kept, taken = [], [], 0.0
    for people in batches(kind, releases):
        frames.append(pl.DataFrame(people))
        begin = time.process_time()
        plan = sf.protect(pl.concat(frames), CHAIN, earlier=kept)
        taken = time.process_time() - begin
        kept.append(plan.imprint)
    print(taken)


SCAN = """
import sys, polars as pl
table = pl.scan_csv(sys.argv[1], infer_schema=False)
table.select(pl.all().str.len_bytes().sum()).collect(engine="streaming")
"""
PROGRAM = "from sfumato.__main__ import main; main()"


def seconds(source: Path, *command: str, told: bool = False, folder: Path | None = None) -> float:
    """Returns the CPU seconds of a process or, if it tells them, those that it prints."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{SOURCE.parent}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    out = subprocess.run(
        [sys.executable, *command], check=True, env=environment, cwd=folder, capture_output=True, text=True
    )
    after = os.times()
    if told:
        return float(out.stdout.split()[-1])
    return after.children_user + after.children_system - before.children_user - before.children_system


def measurements(folder: Path, rows: list[int], releases: int) -> dict[str, Callable[[Path], float]]:
    """Returns what is measured, by name: each takes the source that is run."""
    found: dict[str, Callable[[Path], float]] = {}

    def call(place: Path, policy: str) -> Callable[[Path], float]:
        given = ("protect", "hospital.csv", "-p", policy, "-o", "safe.csv", "--overwrite")
        return lambda source: seconds(source, "-c", PROGRAM, *given, folder=place)

    small = folder / str(ADULT_LIKE)
    make_table(small, ADULT_LIKE)
    found["cold call, 30,000 rows, top-down"] = call(small, "cold.yaml")
    for count in rows:
        place = folder / str(count)
        make_table(place, count)
        found[f"protect from CSV by top-down, {count:,} rows"] = call(place, "top_down.yaml")
        found[f"top-down alone, {count:,} rows"] = lambda source, place=place: seconds(
            source, "-m", "benchmarks.waits", "--step", "search", str(place), told=True
        )
    for kind in KINDS:
        found[f"release {releases} of a chain, {kind}"] = lambda source, kind=kind: seconds(
            source, "-m", "benchmarks.waits", "--step", "chain", kind, str(releases), told=True
        )
    return found


def main() -> None:
    """Reads the arguments and prints one line for each measurement."""
    if sys.argv[1:2] == ["--step"]:
        step, *given = sys.argv[2:]
        step_search(Path(given[0])) if step == "search" else step_chain(given[0], int(given[1]))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waits", description=__doc__)
    parser.add_argument("names", nargs="*", help="only measurements whose names hold one of these")
    parser.add_argument("--before", type=Path, help="the folder that holds another commit's sfumato/")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--tables", type=Path, help="where tables are made and kept")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = (chosen.tables or Path(name)).absolute()
        sources = {"after": SOURCE} | ({"before": chosen.before.absolute()} if chosen.before else {})
        for title, measure in measurements(folder, chosen.rows, chosen.releases).items():
            if chosen.names and not any(part in title for part in chosen.names):
                continue
            taken: dict[str, list[float]] = {which: [] for which in sources}
            for _ in range(REPEATS):
                for which, source in sources.items():
                    taken[which].append(measure(source))
            told = {which: round(min(each), 2) for which, each in taken.items()}
            rows = title.split(", ")[-1].split(" rows")[0].replace(",", "") if "rows" in title else ""
            if rows.isdigit():
                told["scan"] = round(
                    min(seconds(SOURCE, "-c", SCAN, str(folder / rows / "hospital.csv")) for _ in range(2)), 2
                )
            print(json.dumps({"name": title, **told, "load": round(os.getloadavg()[0], 1)}), flush=True)


if __name__ == "__main__":
    main()
