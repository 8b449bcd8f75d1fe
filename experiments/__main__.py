"""Run the experiments: `python -m experiments --data FOLDER [--out FOLDER] [--figures FOLDER] [NAME ...]`."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

NEEDS = {
    "quasi_identifiers": "",
    "freeform": "adult",
    "fingerprint": "adult",
    "fingerprint_robustness": "adult",
    "quasi_sensitive": "symptoms",
    "term_removal": "",
    "continuous": "adult_uci",
    "minimality": "adult",
    "charging": "",
}
"""Experiment -> the folder of the data it reads; nothing where it makes its own."""


SHOWN = (
    "quasi-identifiers-*.svg",
    "freeform-threats.svg",
    "fingerprint-paper/*.svg",
    "fingerprint-robustness-*.svg",
    "quasi-sensitive-drawn-*.svg",
    "continuous-*.svg",
    "charging-*.svg",
)
"""The figures that the page of reproductions shows."""


def keep_figures(out: Path, figures: Path) -> list[str]:
    """Copies the figures of the page to their folder; returns their names. Folders become parts of names."""
    figures.mkdir(parents=True, exist_ok=True)
    names = []
    for drawn in sorted(path for pattern in SHOWN for path in out.glob(pattern)):
        names.append("-".join(drawn.relative_to(out).parts))
        shutil.copyfile(drawn, figures / names[-1])
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which of {', '.join(NEEDS)} (default: all)")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with the data")
    parser.add_argument("--out", type=Path, default=Path("experiments-out"), help="where figures go")
    parser.add_argument("--figures", type=Path, help="where the figures of the page of reproductions go")
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
    if chosen.figures is not None and missing < len(names):
        print(f"{len(keep_figures(chosen.out, chosen.figures))} figures are in {chosen.figures}")
    return int(missing > 0 and missing == len(names))


if __name__ == "__main__":
    sys.exit(main())
