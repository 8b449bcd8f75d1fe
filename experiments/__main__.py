"""Run the experiments: `python -m experiments --data FOLDER [--out FOLDER] [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

NEEDS = {
    "quasi_identifiers": "",
    "freeform": "adult",
    "fingerprint": "adult",
    "quasi_sensitive": "symptoms",
    "continuous": "adult_uci",
    "minimality": "adult",
}
"""Experiment -> the folder of the data it reads; nothing where it makes its own."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which of {', '.join(NEEDS)} (default: all)")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with the data")
    parser.add_argument("--out", type=Path, default=Path("experiments-out"), help="where figures go")
    chosen = parser.parse_args(arguments)
    names = chosen.names or list(NEEDS)
    unknown = set(names) - set(NEEDS)
    if unknown:
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    missing = 0
    for name in names:
        folder = chosen.data / NEEDS[name]
        if not folder.is_dir():
            print(f"{name}: left out, {folder} is not there (give --data FOLDER)")
            missing += 1
            continue
        chosen.out.mkdir(parents=True, exist_ok=True)
        print(f"{name}, load {os.getloadavg()[0]:.1f}")
        importlib.import_module(f"experiments.{name}").main(chosen.data, chosen.out)
    return int(missing > 0 and missing == len(names))


if __name__ == "__main__":
    sys.exit(main())
