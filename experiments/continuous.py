"""Figures 1 and 2 of the paper on continuous publishing, on UCI Adult, in all three scopes.

D1 = the 15,060 complete test rows, D2 = the first 200 or 2,000, or all 30,162 complete training rows. R1 and
R2 are k-anonymized one by one and attacked (Figure 1: FA, BA); then R2 is made again beside R1 (Figure 2:
cost is the sum of squared class sizes over the squared number of rows).
Run as a script: `python -m experiments.continuous --data FOLDER`.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from experiments.adult_history import SENSITIVE, SIZES, table
from sfumato.attack.correspondence import correspondence
from sfumato.declare.promises import Continuous, KAnonymity
from sfumato.protect.search import Aim
from sfumato.protect.top_down import top_down
from sfumato.terms.imprint import Imprint
from sfumato.terms.microdata import Microdata
from sfumato.terms.promise import Promises
from sfumato.terms.recoding import Recoding

KS = (40, 80, 120, 160, 200)
SCOPES = ("literal", "feasible", "realized")
AIM = Aim(loss="discernibility")


def cost(recoding: Recoding) -> float:
    """The paper's discernibility: 0 is best, 1 worst."""
    sizes = recoding.rows.astype(float)
    return float((sizes**2).sum() / sizes.sum() ** 2)


def alone(data: Microdata, k: int) -> Recoding:
    return top_down(data, Promises((KAnonymity(k),)), AIM).recoding


def one(folder: Path, sensitive: str, name: str, k: int) -> dict[str, object]:
    later = SIZES[name]
    d1, d2, both = (table(folder, sensitive, later, batches=b) for b in ((1,), (2,), (1, 2)))
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


def main(folder: Path) -> list[dict[str, object]]:
    return [one(folder, s, d, k) for s in SENSITIVE for d in SIZES for k in KS]


def show(rows: list[dict[str, object]]) -> None:
    """A table in Markdown."""
    names = list(rows[0])
    print("| " + " | ".join(names) + " |")
    print("|" + "---|" * len(names))
    for row in rows:
        cells = [f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values()]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    show(main(parser.parse_args().data / "adult_uci"))
    print(f"load {os.getloadavg()[0]:.1f}")
