"""t-closeness of raw Adult (8 quasi-identifiers, sensitive occupation), ours beside pyCANON's.

    python -m benchmarks.pycanon [DATA]

DATA holds adult/adult.csv (default ../shared/data). Both sides start from a table in memory and are timed in
CPU seconds: ours from coded columns, grouping included; pyCANON's from a pandas frame, in `.venv-peers`.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.models.t_closeness.promise import TCloseness
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy

SENSITIVE = "occupation"
GOAL = 100
REPEAT = 5
DATA = Path("../shared/data")
PYTHON = Path(__file__).resolve().parents[1] / ".venv-peers" / "bin" / "python"

THEIRS = """
import json, sys, time, pandas
from pycanon.anonymity import t_closeness
frame = pandas.read_csv(sys.argv[1], sep=";")
keys = [name for name in frame.columns if name != sys.argv[2]]
begin = time.process_time()
t = t_closeness(frame, keys, [sys.argv[2]])
json.dump({"seconds": time.process_time() - begin, "t": float(t)}, sys.stdout)
"""


def main(data: Path = DATA) -> list[dict[str, object]]:
    file = data / "adult" / "adult.csv"
    for needed, remedy in (
        (file, "give the folder that holds adult/adult.csv"),
        (PYTHON, "run make test once"),
    ):
        if not needed.exists():
            raise SystemExit(f"{needed} is not there: {remedy}")
    columns, codes = read(file)
    ours, measured, classes = best(columns, codes)
    command = [PYTHON, "-W", "ignore", "-c", THEIRS, file, SENSITIVE]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    ratio = theirs["seconds"] / ours
    same = abs(float(measured) - theirs["t"]) < 1e-9
    return [
        {
            "name": f"t-closeness of raw Adult, {classes} classes, CPU s",
            "ours": ours,
            "theirs": theirs["seconds"],
            "ratio": ratio,
            "goal": f">= {GOAL}x",
            "ok": ratio >= GOAL and same,
        }
    ]


def read(file: Path) -> tuple[list[Column], list[NDArray[np.int32]]]:
    """The columns with flat taxonomies, and every row's leaf ranks."""
    with file.open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines, delimiter=";")
    columns, codes = [], []
    for name, cells in zip(header, zip(*rows, strict=True), strict=True):
        taxonomy = Taxonomy.flat(sorted(set(cells)))
        role = Role.SENSITIVE if name == SENSITIVE else Role.QUASI
        columns.append(Column(name, role, taxonomy))
        codes.append(np.array([taxonomy.rank(cell) for cell in cells], np.int32))
    return columns, codes


def best(columns: list[Column], codes: list[NDArray[np.int32]]) -> tuple[float, Fraction, int]:
    """Group and judge a few times; the least CPU seconds, the measured t, the number of classes."""
    seconds = []
    for _ in range(REPEAT):
        begin = time.process_time()
        table = Microdata.of_codes(columns, codes)
        cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
        classes = Classes.of(table, classes_under(table, cuts)[0])
        verdict = TCloseness(SENSITIVE, Fraction(1, 5)).verdict(classes)
        seconds.append(time.process_time() - begin)
    assert isinstance(verdict.measured, Fraction)
    return min(seconds), verdict.measured, len(classes)


if __name__ == "__main__":
    for row in main(*(Path(folder) for folder in sys.argv[1:2])):
        print(row)
