"""Local recoding along the ladder of k on tables of people: how much worse it gets when less is asked.

    python -m benchmarks.local_ladders [--packages FOLDER] [TABLE …]

Roles are those that were fixed by hand (`usefulness_labels.yaml`), nothing is suppressed, and k alone is
promised. A violation is a loss above that of the next larger k, as a share of that loss: 1 % at most is the
goal. `best` asks for the larger k, too, and takes the better table.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.usefulness import PACKAGES
from benchmarks.usefulness_tables import LabelledTable, labelled_tables
from sfumato.inputs import count_table
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.policy import RoleNames
from sfumato.search.best import LADDER_OF_PEOPLE
from sfumato.search.contract import Aim
from sfumato.search.local import local
from sfumato.table.microdata import Microdata
from sfumato.table.source import open_source
from sfumato.workflows.declare import policy_of_roles

MOST_WORSE = 0.01


def main(arguments: Sequence[str] = ()) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_ladders")
    parser.add_argument("tables", nargs="*", help="which tables (default: all)")
    parser.add_argument("--packages", type=Path, default=PACKAGES, help="the folder of the packages")
    chosen = parser.parse_args(arguments)
    return [
        figure
        for table in labelled_tables()
        if not chosen.tables or table.name in chosen.tables
        if (figure := ladder(table, chosen.packages)) is not None
    ]


def ladder(table: LabelledTable, packages: Path) -> dict[str, object] | None:
    """Returns the losses of a table for every k, and the worst violation."""
    counted = counted_by_hand(table, packages)
    if counted is None:
        return None
    begin = time.process_time()
    rungs = [k for k in LADDER_OF_PEOPLE if k <= counted.rows]
    losses = [local(counted, Promises((KAnonymity(k),)), Aim()).loss for k in rungs]
    worst = max((less / more - 1 for less, more in pairwise(losses) if more), default=0.0)
    told = ", ".join(f"{loss:.4f}" for loss in losses)
    seconds = time.process_time() - begin
    print(f"{table.name:20} {counted.rows:>7,} rows  {told}  worse by {max(0.0, worst):.2%}  {seconds:.1f} s")
    sys.stdout.flush()
    return {
        "name": f"{table.name}: local, a smaller k is worse than the next",
        "ours": max(0.0, worst),
        "goal": f"<= {MOST_WORSE:.0%}",
        "ok": worst <= MOST_WORSE,
    }


def counted_by_hand(table: LabelledTable, packages: Path) -> Microdata | None:
    """Returns the rows of a table under the roles that were fixed by hand; nothing without its package."""
    frame = table.read(packages)
    if frame is None:
        return None
    source = open_source(frame)
    named: dict[str, list[str]] = {}
    for column, role in table.roles.items():
        named.setdefault(role, []).append(column)
    policy = policy_of_roles(source, RoleNames(**named), {"k": 2}, None)
    return count_table(source, policy)


if __name__ == "__main__":
    sys.exit(int(any(not figure["ok"] for figure in main(sys.argv[1:]))))
