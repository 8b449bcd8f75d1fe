"""Run the benchmarks and print one table: `python -m benchmarks [--data FOLDER] [--rows N] [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

NEEDS_DATA = ("adult", "local", "anjana", "pycanon", "fingerprint", "groups")
GENERATED = ("rows", "spark", "splitting", "continuous", "freeform", "quasi_sensitive")
NAMES = (*NEEDS_DATA, *GENERATED, "identifiers", "record_risk", "ledger", "scale", "trace", "start")
NAMES += ("first_use", "usefulness", "local_ladders", "limit", "borders")
COMPARED = ("sfumato", "numpy", "pyarrow", "polars", "duckdb")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"which of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with adult/")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the generated tables")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.names) - set(NAMES)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}"
    )
    print(", ".join(f"{name} {version(name)}" for name in COMPARED))
    figures: list[dict[str, object]] = []
    for name in chosen.names:
        if name in NEEDS_DATA and not (chosen.data / "adult").is_dir():
            print(f"{name}: left out, {chosen.data}/adult is not there (give --data FOLDER)")
            continue
        module = importlib.import_module(f"benchmarks.{name}")
        rows = (
            module.main(chosen.data)
            if name in NEEDS_DATA
            else (module.main(chosen.rows) if name in GENERATED else module.main())
        )
        for row in rows:
            figures.append({"benchmark": name, **row})
            print(line(figures[-1]), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1, default=str) + "\n", encoding="utf-8")
    return int(any(row.get("ok") is False for row in figures))


def line(row: dict[str, object]) -> str:
    """One figure: what, ours, theirs, their ratio, the goal, and whether it is met."""
    cells = [f"{row['benchmark']:10}", f"{row['name']!s:52}"]
    for key in ("ours", "theirs", "ratio"):
        value = row.get(key)
        cells.append(f"{value:>10.4g}" if isinstance(value, int | float) else f"{value or '':>10}")
    met = "MISSED" if row.get("ok") is False else "ok" if row.get("ok") or row.get("goal") else ""
    cells += [f"{row.get('goal') or '':>14}", met]
    return "  ".join(cells)


if __name__ == "__main__":
    sys.exit(main())
