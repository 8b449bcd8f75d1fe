"""What groups lose and take: chains and people with several rows, then blind grouping beside informed one.

    python -m benchmarks.groups [DATA]

DATA holds adult/ (default ../shared/data). k = 5 and nothing is suppressed; losses are means over `KEYS` keys
of coins, batches over `BATCHES` of Adult's. A harmful value is one that so many people have by chance, beside
values that nobody else has; `goal` is what a prototype lost. `ours` and `theirs` are CPU seconds of blind
grouping, rehearsals included, and of the search for the units that it needs; a row of times is ok when
grouping takes at most twice as long. A row of losses is ok when they are at most a tenth above the goal;
`refused` counts keys by which the true values could not be grouped, `rehearsals` those in which dealt ones
could not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sfumato as sf
from benchmarks import group_chains
from benchmarks.adult import DATA, table_of
from sfumato.inputs import open_original
from sfumato.models.contract import Promises
from sfumato.models.registry import make
from sfumato.search.blind_groups import WORTH_BEING_BLIND, blind_groups, classes_of_keys
from sfumato.search.contract import Aim, find
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible
from sfumato.system.progress import silent
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy
from sfumato.workflows.protect import count_table

K = 5
KEYS = 3
BATCHES = 4
BATCH_ROWS = 686
AIM = Aim(compared=("local", "mondrian"))
TIMED_ROWS = (30_000, 300_000, 1_000_000)
AT_MOST = 1.1
"""A loss may be so many times what the prototype lost."""


@dataclass(frozen=True)
class Asked:
    """What is promised beside k: `share` of the people have a harmful value, in a column made up for it."""

    name: str
    promise: str
    words: dict[str, object]
    share: float | None = None

    def on(self, table: Microdata) -> tuple[Microdata, Promises]:
        """Returns the table with the column that the promise is about, and the promises."""
        of = table.sensitive[0].name
        if self.share is not None:
            table, of = with_harmful_value(table, self.share), "harmful"
        return table, Promises((make("k-anonymity", {"k": K}), make(self.promise, {"of": of, **self.words})))


ASKED = (
    *(Asked(f"l = {l}", "l-diversity", {"l": l}) for l in (2, 3, 4)),  # noqa: E741  # as everywhere
    Asked("harmful 5 % <= 1/2", "confidence-bounding", {"confidence": "1/2"}, 0.05),
    Asked("harmful 5 % <= 1/3", "confidence-bounding", {"confidence": "1/3"}, 0.05),
    Asked("harmful 10 % <= 1/2", "confidence-bounding", {"confidence": "1/2"}, 0.1),
    Asked("harmful 26 % <= 1/2", "confidence-bounding", {"confidence": "1/2"}, 0.26),
    Asked("t = 0.7", "t-closeness", {"t": 0.7}),
)
GOALS = {
    "Adult": (0.030, 0.048, 0.073, 0.028, 0.033, 0.036, 0.119, 0.063),
    "Adult in batches": (0.140, 0.168, 0.223, 0.139, 0.153, 0.152, 0.205, 0.202),
    "hospital of 30,000": (0.092, 0.099, 0.120, 0.092, 0.101, 0.105, 0.184, 0.189),
    "hospital of 3,000": (0.207, 0.224, 0.256, 0.206, 0.215, 0.213, 0.292, 0.347),
}
"""What a prototype lost, promise by promise."""


def main(data: Path = DATA) -> Iterator[dict[str, object]]:
    yield from group_chains.main(data)
    adult = one_by_one(table_of(data, sensitive=True))
    yield from losses("Adult", [adult])
    yield from losses("Adult in batches", batches_of(adult))
    yield from losses("hospital of 3,000", [hospital(3_000)])
    yield from losses("hospital of 30,000", [hospital(30_000)])
    yield from (times(hospital(rows)) for rows in TIMED_ROWS)


def losses(name: str, tables: Sequence[Microdata]) -> Iterator[dict[str, object]]:
    """Returns what is lost under every promise, blindly and by the searches that look at values."""
    for asked, goal in zip(ASKED, GOALS[name], strict=True):
        begin = time.process_time()
        blind, plain, informed = list[float](), list[float](), list[float]()
        refused = rehearsals = unworthy = 0
        for bare in tables:
            table, promises = asked.on(bare)
            informed.append(least_loss(table, promises))
            for key in range(KEYS):
                coins = Coins(f"benchmark {key}".encode())
                groups = blind_groups(table, promises, AIM, coins)
                if groups is None:
                    refused += 1
                    continue
                rehearsals += groups.failures
                unworthy += not groups.worth_it
                plain.append(groups.plain)
                try:
                    blind.append(groups.outcome(promises, coins).loss)
                except Infeasible:
                    refused += 1
        ours = float(np.mean(blind)) if blind else 1.0
        told = f"blind {ours:.3f}, informed {np.mean(informed):.3f}, k alone {np.mean(plain or [1.0]):.3f}"
        count = f"{unworthy} of {KEYS * len(tables)} above {float(WORTH_BEING_BLIND)} times k alone"
        yield {
            "name": f"{name}, {asked.name}: {told}; refused {refused}, rehearsals {rehearsals}, {count}",
            "ours": ours,
            "theirs": goal,
            "ratio": ours / goal,
            "goal": f"{time.process_time() - begin:.0f} s",
            "ok": ours <= AT_MOST * goal,
        }


def least_loss(table: Microdata, promises: Promises) -> float:
    """Returns what the better of both searches loses that look at values."""
    found = []
    for name in AIM.compared or ():
        try:
            found.append(find(name)(table, promises, AIM).loss)
        except Infeasible:
            continue
    return min(found, default=1.0)


def times(table: Microdata) -> dict[str, object]:
    """Returns the seconds that grouping takes, and those of the searches for its units."""
    table, promises = ASKED[1].on(table)
    searched: list[float] = []

    begin = time.process_time()
    groups = blind_groups(table, promises, AIM, Coins(b"benchmark"), progress=silent)
    if groups is not None:
        groups.outcome(promises, Coins(b"benchmark"))
    ours = time.process_time() - begin
    for people in (K, K + 1):
        begin = time.process_time()
        classes_of_keys(table, people, AIM, silent)
        searched.append(time.process_time() - begin)
    return {
        "name": f"{table.rows:,} people, {ASKED[1].name}: seconds, beside two searches for units",
        "ours": ours,
        "theirs": sum(searched),
        "ratio": ours / sum(searched),
        "goal": "<= 2",
        "ok": ours <= 2 * sum(searched),
    }


def one_by_one(table: Microdata, rows: np.ndarray | None = None) -> Microdata:
    """Returns the same people, or some of them, each a row of their own."""
    every = np.repeat(np.arange(table.distinct), table.counts)
    chosen = every if rows is None else every[rows]
    codes = [table.codes(column.name)[chosen] for column in table.columns]
    return Microdata.of_codes(table.columns, codes, person=np.arange(len(chosen)))


def batches_of(table: Microdata) -> list[Microdata]:
    order = np.random.default_rng(0).permutation(table.rows)
    return [one_by_one(table, order[n * BATCH_ROWS :][:BATCH_ROWS]) for n in range(BATCHES)]


def with_harmful_value(table: Microdata, share: float) -> Microdata:
    """Returns the table with a column in which some people have the same value, and all others their own."""
    has = np.random.default_rng(1).random(table.rows) < share
    codes = np.where(has, 0, np.arange(1, table.rows + 1)).astype(np.int32)
    tree = Taxonomy.flat([f"v{number:07d}" for number in range(table.rows + 1)])
    held = [*(table.codes(column.name) for column in table.keys), codes]
    columns = [*table.keys, Column("harmful", Role.SENSITIVE, tree)]
    return Microdata.of_codes(columns, held, person=table.person)


def hospital(rows: int) -> Microdata:
    """Returns the people of the demo by its own policy."""
    policy = sf.demo.policy()
    source = open_original(sf.demo.hospital(rows), None, policy)
    return count_table(source, policy, one_by_one=True, progress=silent)


if __name__ == "__main__":
    for row in main(*[Path(word) for word in sys.argv[1:]][:1]):
        figures = " | ".join(f"{row[name]:.3f}" for name in ("ours", "theirs", "ratio"))
        print(f"{row['name']} | {figures} | {row['goal']} | {row['ok']}", flush=True)
