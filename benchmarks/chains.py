"""Long chains of four kinds, through a ledger: what a release takes, in a process and by command.

    python -m benchmarks.chains [--releases 200] [--at 10 50 100 200] [KIND ...]

Prints a JSON document per kind: CPU seconds of the whole `release` at these numbers of releases, in one
process that makes them all, and the most that any but the first took; then those of `sfumato release` in a
process of its own, start included, the least of three runs, on a copy of the folder. Planning alone is
measured by `python -m benchmarks.table_steps chain KIND 200`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import yaml

import sfumato as sf
from benchmarks.table_steps import timed
from benchmarks.waits import CHAIN, KINDS, PROGRAM, SOURCE, batches, seconds

RUNS = 3


def by_command(folder: Path) -> float:
    """Returns the CPU seconds of releasing the table of a folder by command, with its ledger."""
    taken = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as place:
            copy = Path(shutil.copytree(folder, Path(place) / "copy"))
            given = (
                "release",
                "table.csv",
                "-p",
                "policy.yaml",
                "--ledger",
                "sqlite:///ledger.db",
                "--into",
                "next",
            )
            taken.append(seconds(SOURCE, "-c", PROGRAM, *given, folder=copy))
    return min(taken)


def measured(kind: str, releases: int, at: list[int], folder: Path) -> dict[str, Any]:
    """Makes a chain of this kind in a folder and returns what it took."""
    (folder / "policy.yaml").write_text(yaml.safe_dump(CHAIN, sort_keys=False), encoding="utf-8")
    ledger, before = sf.Ledger(f"sqlite:///{folder / 'ledger.db'}"), os.getloadavg()[0]
    frames, released, losses, commands = [], [], [], {}
    for number, people in enumerate(batches(kind, releases), 1):
        frames.append(pl.DataFrame(people))
        table, into = pl.concat(frames, rechunk=True), folder / f"release-{number}"
        if number in at:
            table.write_csv(folder / "table.csv")
            commands[number] = by_command(folder)

        def release(table: pl.DataFrame = table, into: Path = into) -> sf.Receipt:
            return sf.release(table, CHAIN, ledger=ledger, into=into)

        taken, receipt = timed(release)
        released.append(taken)
        losses.append(receipt.record.figures["loss"])
        shutil.rmtree(into)
    return {
        "kind": kind,
        "releases": releases,
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        "mean loss": round(sum(losses) / len(losses), 4),
        "in one process": {n: round(released[n - 1], 2) for n in at} | {"most": round(max(released[1:]), 2)},
        "above 2 s": sum(taken > 2 for taken in released[1:]),
        "by command": {n: round(taken, 2) for n, taken in commands.items()},
    }


def main() -> None:
    """Measures the kinds that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--at", type=int, nargs="+", default=[10, 50, 100, 200])
    given = parser.parse_args()
    for kind in given.kinds or KINDS:
        with tempfile.TemporaryDirectory() as place:
            at = [number for number in given.at if number <= given.releases]
            print(json.dumps(measured(kind, given.releases, at, Path(place))), flush=True)


if __name__ == "__main__":
    main()
