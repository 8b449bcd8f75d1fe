"""Run the experiments: `python -m experiments --data FOLDER [--out FOLDER] [--figures FOLDER] [NAME ...]`."""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import shutil
import subprocess
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
    "term_tree": "",
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
    "term-tree-*.svg",
    "continuous-*.svg",
    "charging-*.svg",
)
"""The figures that the page of reproductions shows."""

TERM_TABLES = 40
"""So many tables of knowledge are drawn for what defences of term removal buy."""


def keep_figures(out: Path, figures: Path) -> list[str]:
    """Copies the figures of the page to their folder; returns their names. Folders become parts of names."""
    figures.mkdir(parents=True, exist_ok=True)
    names = []
    for drawn in sorted(path for pattern in SHOWN for path in out.glob(pattern)):
        names.append("-".join(drawn.relative_to(out).parts))
        shutil.copyfile(drawn, figures / names[-1])
    return names


MEASURED = {
    "quasi_sensitive.csv": "{quasi_sensitive}",
    "term_removal.csv": "All worlds of all classes of two rows; {term_removal} drawn tables of knowledge.",
    "fingerprint_capacity.csv": "Adult, 9 columns, 12,960 patterns.",
    "fingerprint_guarded.csv": "Adult, 9 columns, nothing suppressed; beyond one framer as many as found.",
    "fingerprint_agreement.csv": "Adult, k = 5, up to 5 % suppressed, a tolerance of 5 %.",
    "fingerprint_leaks.csv": "Adult, k = 5, up to 5 % suppressed; who could have made a leak, not guessing.",
}
"""Files of figures that pages show, and what their first line says of them."""


def keep_measured(out: Path, measured: Path) -> list[str]:
    """Copies the figures that pages show, with a first line that says when and how they were made."""
    words = {"quasi_sensitive": _scale(), "term_removal": str(TERM_TABLES)}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    day = datetime.date.today()
    when = f"{day.day} {day:%B %Y}, {commit.stdout.strip() or 'no commit'}, load {os.getloadavg()[0]:.0f}."
    measured.mkdir(parents=True, exist_ok=True)
    names = [name for name in MEASURED if (out / name).exists()]
    for name in names:
        first = f"# {when} {MEASURED[name].format(**words)}"
        (measured / name).write_text(f"{first}\n{(out / name).read_text(encoding='utf-8')}", encoding="utf-8")
    return names


def _scale() -> str:
    """How much of the paper's experiment on quasi-sensitive values was run."""
    shares = (("SFUMATO_ROWS", "3000"), ("SFUMATO_SECONDS", "10"), ("SFUMATO_EVERY", "1"))
    rows, seconds, every = (int(os.environ.get(name, usual)) for name, usual in shares)
    searched = "all were searched" if every == 1 else f"one in {every} was searched, with the same share"
    return (
        f"{rows:,} rows of Adult; {seconds} s a run, shared evenly by the classes that break the promise,"
        f" in CPU time for removal ({searched})."
    )


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
        if NEEDS[name] and not folder.is_dir():
            print(f"{name}: left out, {folder} is not there (give --data FOLDER)")
            missing += 1
            continue
        chosen.out.mkdir(parents=True, exist_ok=True)
        print(f"{name}, load {os.getloadavg()[0]:.1f}")
        importlib.import_module(f"experiments.{name}").main(chosen.data, chosen.out)
    if chosen.figures is not None and missing < len(names):
        print(f"{len(keep_figures(chosen.out, chosen.figures))} figures are in {chosen.figures}")
        keep_measured(chosen.out, chosen.figures.parents[1] / "reference" / "measured")
    return int(missing > 0 and missing == len(names))


if __name__ == "__main__":
    sys.exit(main())
