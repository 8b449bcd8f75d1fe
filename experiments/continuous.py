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
from collections.abc import Mapping
from pathlib import Path

from experiments import continuous_trees
from experiments.adult_history import SENSITIVE, SIZES, TREES, table
from sfumato.attacks.chain.correspondence import correspondence
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.promises import Continuous, KAnonymity
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.top_down import top_down
from sfumato.testing.exhaustive import exhaustive

KS = (40, 80, 120, 160, 200)
SCOPES = ("literal", "feasible", "realized")
AIM = Aim(loss="discernibility")
FEW = ("marital", "race", "sex")
"""Key columns with few recodings."""


def cost(recoding: Recoding) -> float:
    """The paper's discernibility: 0 is best, 1 worst."""
    sizes = recoding.rows.astype(float)
    return float((sizes**2).sum() / sizes.sum() ** 2)


def alone(data: Microdata, k: int) -> Recoding:
    return top_down(data, Promises((KAnonymity(k),)), AIM).recoding


def one(
    folder: Path, sensitive: str, name: str, k: int, *, trees: Mapping[str, object] = TREES
) -> dict[str, object]:
    later = SIZES[name]
    d1, d2, both = (table(folder, sensitive, later, batches=b, trees=trees) for b in ((1,), (2,), (1, 2)))
    first, second = alone(d1, k), alone(both, k)
    unchanged = SENSITIVE[sensitive]
    imprints = [Imprint.of(r, unchanged, since="since") for r in (first, second)]
    row: dict[str, object] = {"case": f"{sensitive} {name}", "k": k}
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


def gap(folder: Path, sensitive: str, name: str, k: int) -> dict[str, object]:
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


def main(data: Path, out: Path) -> list[dict[str, object]]:
    folder = data / "adult_uci"
    rows = []
    for sensitive, name, k in itertools.product(SENSITIVE, SIZES, KS):
        rows.append(one(folder, sensitive, name, k))
        print("  " + "  ".join(f"{key} {_shown(value)}" for key, value in rows[-1].items()), flush=True)
    with (out / "continuous.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    print(f"  written: {out / 'continuous.csv'}")
    for sensitive, name in itertools.product(SENSITIVE, SIZES):
        found = gap(folder, sensitive, name, 80)
        shown = "  ".join(f"{key} {_shown(value)}" for key, value in found.items())
        print(f"  best of all: {shown}", flush=True)
    _with_other_trees(folder)
    return rows


def _with_other_trees(folder: Path) -> None:
    """FA of separately k-anonymized releases, three unchanged columns and all of D2, tree by tree; and every
    figure again under the trees that come nearest to the paper."""
    for names, trees in continuous_trees.alternatives():
        print(f"  trees {'; '.join(names)}: FA {forward(folder, trees)}", flush=True)
    for sensitive, name in itertools.product(SENSITIVE, SIZES):
        rows = [one(folder, sensitive, name, k, trees=continuous_trees.NEAREST) for k in KS]
        found = {key: [row[f"{key} feasible"] for row in rows] for key in ("FA", "BA")}
        saved = sum(1 - float(str(row["BCF-R2"])) / float(str(row["k-D2"])) for row in rows) / len(rows)
        cheaper = [row["k"] for row in rows if float(str(row["BCF-R2"])) < float(str(row["k-R2"]))]
        print(f"  nearest trees, {sensitive} {name}: {found}, {saved:.0%} saved, cheaper at k in {cheaper}")


def forward(folder: Path, trees: Mapping[str, object]) -> list[int | None]:
    """FA for every k where there are three unchanged columns and all newcomers."""
    found, unchanged = [], SENSITIVE["Sen3"]
    both = [table(folder, "Sen3", SIZES["allD2"], batches=b, trees=trees) for b in ((1,), (1, 2))]
    for k in KS:
        imprints = [Imprint.of(alone(data, k), unchanged, since="since") for data in both]
        found.append(correspondence(imprints).FA)
    return found


def _shown(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
