"""Figures 1 and 2 of the paper on continuous publishing, on UCI Adult, in all three scopes.

D1 = the 15,060 complete test rows, D2 = the first 200 or 2,000, or all 30,162 complete training rows. R1 and
R2 are k-anonymized one by one and attacked (Figure 1: FA, BA); then R2 is made again beside R1 (Figure 2:
cost is the sum of squared class sizes over the squared number of rows). On three columns, whose recodings can
all be tried, the search is held against the best there is.
"""

from __future__ import annotations

import csv
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from experiments.adult_history import SENSITIVE, SIZES, TREE_FILE, table
from experiments.drawing import draw_figure
from sfumato.attacks.correspondence import correspondence
from sfumato.models.continuous.promise import Continuous
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search.contract import Aim
from sfumato.search.top_down import top_down
from sfumato.system.presentation.charts import Lines
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint
from sfumato.testing.searches import exhaustive

KS = (40, 80, 120, 160, 200)
SCOPES = ("literal", "feasible", "realized")
AIM = Aim(loss="discernibility")
COSTS = {"BCF-R2": "BCF-anonymous R2", "k-R2": "k-anonymous R2", "k-D2": "k-anonymous D2"}
Row = dict[str, Any]
"""A line of the file of results: texts, counts and costs by name."""

FEW = ("marital", "race", "sex")
"""Key columns with few recodings."""


def cost(recoding: Recoding) -> float:
    """The paper's discernibility: 0 is best, 1 worst."""
    sizes = recoding.rows.astype(float)
    return float((sizes**2).sum() / sizes.sum() ** 2)


def alone(data: Microdata, k: int) -> Recoding:
    return top_down(data, Promises((KAnonymity(k),)), AIM).recoding


def one(folder: Path, sensitive: str, name: str, k: int) -> Row:
    later = SIZES[name]
    d1, d2, both = (table(folder, sensitive, later, batches=b) for b in ((1,), (2,), (1, 2)))
    first, second = alone(d1, k), alone(both, k)
    unchanged = SENSITIVE[sensitive]
    imprints = [Imprint.of(r, unchanged, since="since") for r in (first, second)]
    row: Row = {"case": f"{sensitive} {name}", "k": k}
    for scope in SCOPES:
        mine = {"data": both, "since": "since"} if scope == "realized" else {}
        found = correspondence(imprints, scope=scope, **mine)  # type: ignore[arg-type]
        row |= {f"FA {scope}": found.FA, f"BA {scope}": found.BA}
    beside = Promises((Continuous(k, since="since"),)).given(imprints[:1])
    begin = time.process_time()
    safe = top_down(both, beside, AIM).recoding
    row["CPU s"] = round(time.process_time() - begin, 3)
    row |= {"BCF-R2": cost(safe), "k-R2": cost(second), "k-D2": cost(alone(d2, k))}
    return row


def gap(folder: Path, sensitive: str, name: str, k: int) -> Row:
    """The cost of what the search finds beside R1, and of the best recoding, on a small lattice."""
    later = SIZES[name]
    d1, both = (few(table(folder, sensitive, later, batches=b)) for b in ((1,), (1, 2)))
    beside = Promises((Continuous(k, since="since"),)).given(
        [Imprint.of(alone(d1, k), SENSITIVE[sensitive], since="since")]
    )
    found, best = top_down(both, beside, AIM), exhaustive(both, beside, AIM)
    return {
        "case": f"{sensitive} {name}",
        "k": k,
        "search": cost(found.recoding),
        "best": cost(best.recoding),
        "gap": found.loss / best.loss - 1,
        "recodings": best.checked,
    }


def few(data: Microdata) -> Microdata:
    """The same people with three key columns."""
    kept = [c for c in data.columns if not c.role.is_key or c.name in FEW]
    return Microdata.of_codes(kept, [data.codes(c.name) for c in kept], counts=data.counts)


def main(data: Path, out: Path) -> list[Row]:
    folder = data / "adult_uci"
    if not (folder / TREE_FILE).is_file():
        print(f"  left out: {folder / TREE_FILE}, the trees of the paper's authors, is not there")
        return []
    rows = []
    for sensitive, name, k in itertools.product(SENSITIVE, SIZES, KS):
        rows.append(one(folder, sensitive, name, k))
        print("  " + "  ".join(f"{key} {_shown(value)}" for key, value in rows[-1].items()), flush=True)
    with (out / "continuous.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(f"  written: {out / 'continuous.csv'}")
    for line in (*figures(rows), *compared(rows)):
        if isinstance(line, str):
            print(f"  {line}")
        else:
            print(f"  written: {draw_figure(line, out)}")
    for sensitive, name in itertools.product(SENSITIVE, SIZES):
        found = gap(folder, sensitive, name, 80)
        shown = "  ".join(f"{key} {_shown(value)}" for key, value in found.items())
        print(f"  best of all: {shown}", flush=True)
    return rows


def figures(rows: Sequence[Row]) -> list[Lines]:
    """The paper's Figures 1a to 1d and 2a to 2f."""
    drawn = []
    for letter, (measure, sensitive) in zip("abcd", itertools.product(("FA", "BA"), SENSITIVE), strict=True):
        series = {
            f"{size}": [(row["k"], row[f"{measure} feasible"]) for row in of_case(rows, sensitive, size)]
            for size in SIZES
        }
        series = {name: [p for p in points if p[1] is not None] for name, points in series.items()}
        title = f"Figure 1{letter}: {measure} of releases made one by one, {sensitive}"
        boundary = (f"{measure} = k", [(k, k) for k in KS])
        drawn.append(Lines(f"continuous-1{letter}", title, ("k", measure), series, boundary))
    for letter, (size, sensitive) in zip("abcdef", itertools.product(SIZES, SENSITIVE), strict=True):
        series = {
            COSTS[kind]: [(row["k"], row[kind]) for row in of_case(rows, sensitive, size)] for kind in COSTS
        }
        title = f"Figure 2{letter}: discernibility cost, {sensitive}, {size}"
        drawn.append(Lines(f"continuous-2{letter}", title, ("k", "cost"), series))
    return drawn


def of_case(rows: Sequence[Row], sensitive: str, size: str) -> list[Row]:
    return [row for row in rows if row["case"] == f"{sensitive} {size}"]


def compared(rows: Sequence[Row]) -> list[str]:
    """What the paper prints as numbers, beside what was found."""
    lines = []
    for sensitive, printed in (("Sen1", "66 %"), ("Sen3", "32 %")):
        some = of_case(rows, sensitive, "200D2")
        saved = mean(1 - row["BCF-R2"] / row["k-D2"] for row in some)
        lines.append(f"200D2, {sensitive}: BCF-R2 {saved:.0%} below k-anonymous D2 (printed: {printed})")
    medium = of_case(rows, "Sen3", "2000D2")
    more = [row["BCF-R2"] / row["k-R2"] - 1 for row in medium]
    lines.append(
        f"2d: BCF-R2 {mean(more):+.0%} above k-anonymous R2 on average, {median(more):+.0%} in the median, "
        f"{[f'{x:+.0%}' for x in more]} (printed: +25 % on average)"
    )
    cheaper = [row["k"] for row in of_case(rows, "Sen1", "2000D2") if row["BCF-R2"] < row["k-R2"]]
    lines.append(f"2c: BCF-R2 cheaper than k-anonymous R2 at k in {cheaper} (printed: 40)")
    worst = [row["FA feasible"] for row in of_case(rows, "Sen3", "allD2")]
    lines.append(f"1b: FA of allD2 {worst} (printed: 21 at k = 40, below k in 4 of 5)")
    backward = [row["BA feasible"] for row in of_case(rows, "Sen1", "200D2")]
    lines.append(f"1c: BA of 200D2 {backward} (printed: 1 at k = 80)")
    return lines


def _shown(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
