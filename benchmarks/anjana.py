"""k-anonymity of Adult (9 quasi-identifiers, k = 5), ours beside ANJANA's.

    python -m benchmarks.anjana [DATA]

DATA holds adult/ (default ../shared/data). Both start from a table in memory and the same hierarchies,
ANJANA's cut to the values that occur, and are timed in CPU seconds: ours from coded columns, the least of a
few warm runs; ANJANA's, in `.venv-peers`, from a pandas frame. The loss of both is our `loss`, rows that are
not published counted as suppressed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from benchmarks.adult import COLUMNS, DATA, K, table_of, timed
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search.contract import Aim
from sfumato.search.loss import share_loss
from sfumato.table.microdata import Microdata

PYTHON = Path(__file__).resolve().parents[1] / ".venv-peers" / "bin" / "python"
GOALS = {0: 50, 5: 8}
"""Percent of rows that may be suppressed -> how many times faster."""

THEIRS = """
import json, sys, time
from collections import Counter
from pathlib import Path
import pandas
from anjana.anonymity import k_anonymity

folder, k, percent, columns = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(",")
frame = pandas.read_csv(folder / "adult.csv", sep=";", dtype=str)[columns]
hierarchies = {}
for name in columns:
    levels = pandas.read_csv(folder / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
    levels = levels[levels[0].isin(set(frame[name]))]
    hierarchies[name] = {i: levels[i].values for i in levels.columns}
begin = time.process_time()
result = k_anonymity(frame, [], columns, k, percent, hierarchies)
seconds = time.process_time() - begin
values = {c: Counter(result[c]) for c in columns}
json.dump({"seconds": seconds, "rows": len(result), "values": values}, sys.stdout)
"""


def main(data: Path = DATA) -> list[dict[str, object]]:
    if not PYTHON.exists():
        raise SystemExit(f"{PYTHON} is not there: run make test once")
    table = table_of(data, sensitive=False)
    return [compare(table, data, percent) for percent in GOALS]


def compare(table: Microdata, data: Path, percent: int) -> dict[str, object]:
    outcome, ours = timed(table, Promises((KAnonymity(K),)), Aim(Fraction(percent, 100)))
    command = [PYTHON, "-W", "ignore", "-c", THEIRS, data / "adult", str(K), str(percent), ",".join(COLUMNS)]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    loss = loss_of(table, theirs["rows"], theirs["values"])
    ratio = theirs["seconds"] / ours
    better = outcome.loss <= loss + 1e-12 if percent == 0 else outcome.loss < loss
    return {
        "name": f"k=5, {percent} %, CPU s (loss {outcome.loss:.4f}, theirs {loss:.4f})",
        "ours": ours,
        "theirs": theirs["seconds"],
        "ratio": ratio,
        "goal": f">= {GOALS[percent]}x, {'no more' if percent == 0 else 'less'} loss",
        "ok": ratio >= GOALS[percent] and better,
        "rows kept": theirs["rows"],
    }


def loss_of(table: Microdata, rows: int, values: dict[str, dict[str, int]]) -> float:
    """The mean loss of published values, given how often each occurs."""
    suppressed = table.rows - rows
    losses = []
    for column in table.keys:
        tree, domain = column.taxonomy, len(column.taxonomy.leaves)
        covered = sum(int(tree.leaf_count[tree.node(v)]) * n for v, n in values[column.name].items())
        losses.append(share_loss(covered + suppressed * domain, table.rows, suppressed, domain))
    return sum(losses) / len(losses)


if __name__ == "__main__":
    for row in main(*(Path(folder) for folder in sys.argv[1:2])):
        print(row)
