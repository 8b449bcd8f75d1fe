"""The curve of cost: a whole call by the number of rows, held against the one that was recorded.

    python -m benchmarks.curve [--sizes 10000 100000 1000000 10000000] [--record]

A call counts, searches top-down, writes and judges the table of `benchmarks/rows.py`, a Parquet file. Its CPU
seconds, start included, are divided by those of a Polars scan of the same file in the same run, so that
machines can be compared; memory is the largest resident set. Where one of both is more than a fifth above
`benchmarks/curve.json`, the program says so and ends with exit 1. `--record` replaces the recorded points.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from benchmarks.processes import measure
from benchmarks.scale import table

RECORDED = Path(__file__).with_name("curve.json")
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
MORE = Fraction(6, 5)
"""How many times what was recorded is too much."""

Point = Mapping[str, float]
"""CPU seconds (`cpu`), those of a `scan`, their `ratio`, and the largest resident set, `peak`, in MB."""


def point(rows: int) -> Point:
    """Measures one size."""
    with tempfile.TemporaryDirectory() as name:
        folder = table(Path(name), rows)
        ours, scan = (measure("benchmarks.scale", step, folder) for step in ("top-down", "scan"))
    cpu, beside = ours["process"], scan["process"]
    figures = {"cpu": cpu, "scan": beside, "ratio": cpu / beside, "peak": ours["peak"]}
    return {name: round(value, 2) for name, value in figures.items()}


def alarms(recorded: Mapping[str, Point], now: Mapping[str, Point]) -> list[str]:
    """Says of every size what grew by more than a fifth, and which sizes were never recorded.

    >>> alarms({"10": {"ratio": 2.0, "peak": 100.0}}, {"10": {"ratio": 2.5, "peak": 119.0}})
    ['10 rows: ratio 2.5, recorded 2.0']
    """
    told = [f"{size} rows: never recorded" for size in now if size not in recorded]
    return told + [
        f"{size} rows: {name} {figures[name]}, recorded {recorded[size][name]}"
        for size, figures in now.items()
        for name in ("ratio", "peak")
        if size in recorded and Fraction(figures[name]) > MORE * Fraction(recorded[size][name])
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, compares or records; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--recorded", type=Path, default=RECORDED)
    given = parser.parse_args(arguments)
    recorded = json.loads(given.recorded.read_text(encoding="utf-8")) if given.recorded.exists() else {}
    now = {}
    for size in given.sizes:
        now[str(size)] = point(size)
        print(json.dumps({size: now[str(size)]}), flush=True)
    if given.record:
        content = json.dumps(recorded | now, indent=1)
        given.recorded.write_text(content + "\n", encoding="utf-8")
        return 0
    told = alarms(recorded, now)
    for alarm in told:
        print(alarm, file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
