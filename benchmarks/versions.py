"""What versions for recipients lose beside the base of a chain of groups, and how many rows carry a symbol.

    python -m benchmarks.versions [DATA]

DATA holds adult/ (default ../shared/data). k = 5. `ours` of a row of shares is the share of rows in marked
groups, `theirs` that of a prototype, which bounded the mean loss of versions and not that of each; a row is
ok at `AT_LEAST` of it. `ours` of a row of losses is the worst of `RECIPIENTS` versions; it is ok up to 1.1
times the base.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sfumato as sf
from benchmarks.adult import DATA, table_of
from benchmarks.groups import AIM, K
from sfumato.models.contract import Promises
from sfumato.models.registry import make
from sfumato.recipients.marks import MarkRule, PlannedMarks, marks_of_chain
from sfumato.releases.ledger.ledger import Ledger
from sfumato.search.contract import find
from sfumato.table.microdata import Microdata

RECIPIENTS = (3, 50)
TOLERANCES = (2, 5, 10, 20)
GOALS = {30_162: (16, 32, 52, 78), 2_514: (23, 46, 72, 100), 500: (26, 53, 88, 100)}
"""Shares of Adult's rows that carried a symbol, in percent, by the number of rows."""
AT_LEAST = 0.7


def main(data: Path = DATA) -> Iterator[dict[str, object]]:
    adult = table_of(data, sensitive=False)
    for rows, goals in GOALS.items():
        yield from marked(f"Adult, {rows:,}", sample(adult, rows), goals)
    yield from (row for rows in (3_000, 20_000) for row in released(rows))


def sample(table: Microdata, rows: int) -> Microdata:
    """Returns so many rows, drawn by a seed."""
    every = np.repeat(np.arange(table.distinct), table.counts)
    here = np.sort(np.random.default_rng(11).choice(every, rows, replace=False))
    return Microdata.of_codes(table.columns, [table.codes(column.name)[here] for column in table.columns])


def marked(name: str, table: Microdata, goals: tuple[int, ...]) -> Iterator[dict[str, object]]:
    """Yields the share of rows in marked groups by the tolerance, and how columns share marks."""
    promises = Promises((make("k-anonymity", {"k": K}),))
    recoding = find("local")(table, promises, AIM).recoding
    rows = recoding.rows
    for percent, theirs in zip(TOLERANCES, goals, strict=True):
        planned = PlannedMarks.of(recoding, MarkRule(Fraction(percent, 100)))
        ours = 100 * float(rows[planned.classes].sum() / rows.sum())
        used = np.bincount(planned.pairs.ravel(), minlength=len(table.keys))
        left = int((planned.pairs != used.argmax()).all(axis=1).sum())
        words = f"{len(planned.classes):,} marked groups, {left:,} without the column used most"
        yield {
            "name": f"{name}: percent of rows with a symbol at +{percent} % ({words})",
            "ours": ours,
            "theirs": theirs,
            "ratio": ours / theirs,
            "goal": f">= {AT_LEAST}",
            "ok": ours >= AT_LEAST * theirs,
        }


def released(rows: int) -> Iterator[dict[str, object]]:
    """Yields what the worst of some versions loses beside the base, in a release of the demo's hospital."""
    words = sf.demo.policy().to_dict()
    promises = [promise for promise in words["promises"] if "t-closeness" not in promise]
    policy = {**words, "promises": promises, "person": "patient_id", "chain": {}}
    with TemporaryDirectory() as home:
        ledger = Ledger(f"sqlite:///{home}/ledger.db")
        sf.release(sf.demo.hospital(rows), policy, ledger=ledger, into=f"{home}/first")
        chain = marks_of_chain(ledger, "main")
        base, begin = chain.base.loss(chain.base.shown()), time.process_time()
        lost = [
            version.loss(version.shown()) for version in map(chain.version, map(str, range(max(RECIPIENTS))))
        ]
        seconds = time.process_time() - begin
        for count in RECIPIENTS:
            worst = max(lost[:count])
            yield {
                "name": f"hospital, {rows:,}: loss of the worst of {count} versions, and of the base",
                "ours": worst,
                "theirs": base,
                "ratio": worst / base,
                "goal": f"<= 1.1, {seconds:.1f} s for {len(lost)}",
                "ok": worst <= 1.1 * base,
            }


if __name__ == "__main__":
    for row in main(*map(Path, sys.argv[1:2])):
        figures = " | ".join(f"{row[name]:.3f}" for name in ("ours", "theirs", "ratio"))
        print(f"{row['name']} | {figures} | {row['goal']} | {row['ok']}", flush=True)
