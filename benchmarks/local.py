"""Local recoding of Adult (30,162 rows, nothing suppressed) beside Mondrian, and of larger made-up tables.

    python -m benchmarks.local [DATA]

DATA holds adult/ (default ../shared/data). Loss is the mean share of a column's values that a published value
stands for beyond one. `theirs` is what Mondrian takes for the same request in the same run, in CPU seconds. A
row is ok when the loss is at most the goal.

An adversary who knows a key and nothing else sees all rows whose published values cover it: `candidates` are
the fewest and the median number of these, `cheaper box` the share of keys that a published box with less loss
also covers, both for every tenth key.
"""

from __future__ import annotations

import resource
import sys
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.adult import DATA, JOBS, promises_of, table_of
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.search.best import best
from sfumato.search.contract import Aim, Outcome, Search
from sfumato.search.key_groups import WHOLE_PRICE, KeyGroups
from sfumato.search.local import STEP, LevelLattice, local, neighbours_of
from sfumato.search.mondrian import mondrian
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Taxonomy

GOALS = {2: 0.0197, 5: 0.0497, 10: 0.0742, 50: 0.1483}
"""k -> the most that may be lost."""
BESIDE_K = {"distinct": 0.0502, "recursive": None, "t equal": 0.4263}
"""k = 5 beside a promise about occupation: what a granularity of 0.9498 and of 0.5737 leaves to lose."""
LADDER = (2, 3, 5, 10, 20, 50, 100)
DEFAULT = Aim(suppress=Fraction(1, 20), price=Fraction(3))
"""What a policy of version 2 asks for."""
LARGE = (50_000, 200_000, 1_000_000)
"""Rows of the made-up tables with a tree of 100,000 zips."""
LEVELS_OF_ZIP = 5
EVERY = 10


def main(data: Path = DATA) -> list[dict[str, object]]:
    rows = []
    table = table_of(data, sensitive=False)
    for k, goal in GOALS.items():
        promises = Promises((KAnonymity(k),))
        outcome, seconds = timed(local, table, promises)
        other, theirs = timed(mondrian, table, promises)
        rows.append(
            line(f"k={k}: {outcome.loss:.5f} (Mondrian {other.loss:.4f})", seconds, theirs, outcome, goal)
        )
        if k == 5:
            rows.append(adversary(outcome.recoding, seconds))
            rows.append(row_bound(table, k, outcome, seconds))
    secret = table_of(data, sensitive=True)
    for job in (next(j for j in JOBS if j.beside_k == kind) for kind in BESIDE_K):
        outcome, seconds = timed(local, secret, promises_of(job, secret), repeat=1)
        other, theirs = timed(mondrian, secret, promises_of(job, secret), repeat=1)
        name = f"k=5, {job.name}: {outcome.loss:.5f} (Mondrian {other.loss:.4f})"
        rows.append(line(name, seconds, theirs, outcome, BESIDE_K[job.beside_k]))
    return [*rows, *ladder(table), *(compared(table, k) for k in GOALS), *large_domains()]


def ladder(table: Microdata) -> list[dict[str, object]]:
    """Returns how much worse local recoding gets when less is asked, as a share of the loss: 1 % at most."""
    found = [timed(local, table, Promises((KAnonymity(k),)), repeat=1) for k in LADDER]
    losses = [outcome.loss for outcome, _ in found]
    worst = max(0.0, *(loss / more - 1 for loss, more in pairwise(losses)))
    told = ", ".join(f"{loss:.4f}" for loss in losses)
    seconds = sum(seconds for _, seconds in found)
    return [
        {
            "name": f"k = {', '.join(map(str, LADDER))}: {told}; worse than the next by {worst:.2%}",
            "ours": seconds,
            "theirs": seconds,
            "ratio": 1.0,
            "goal": "<= 1 %",
            "ok": worst <= 0.01,
        }
    ]


def compared(table: Microdata, k: int) -> dict[str, object]:
    """Returns what `best` gives as a policy of version 2 asks for it, beside each single search."""
    begin = time.process_time()
    outcome = best(table, Promises((KAnonymity(k),)), DEFAULT)
    seconds = time.process_time() - begin
    each = ", ".join(f"{one.search} {one.loss:.4f} ({one.suppressed})" for one in outcome.compared)
    return {
        "name": f"best, k={k}, 5 %, price 3: {outcome.search} {outcome.loss:.5f}; {each}",
        "ours": seconds,
        "theirs": sum(one.seconds for one in outcome.compared if one.search == outcome.search),
        "ratio": 1.0,
        "goal": "the least",
        "ok": outcome.loss == min(one.loss for one in outcome.compared),
    }


def timed(search: Search, table: Microdata, promises: Promises, repeat: int = 2) -> tuple[Outcome, float]:
    """Returns the outcome and the least CPU seconds of a few runs."""
    seconds = []
    for _ in range(repeat):
        begin = time.process_time()
        outcome = search(table, promises, Aim())
        seconds.append(time.process_time() - begin)
    return outcome, min(seconds)


def line(name: str, ours: float, theirs: float, outcome: Outcome, goal: float | None) -> dict[str, object]:
    asked = "–" if goal is None else f"loss <= {goal}"
    return {
        "name": name,
        "ours": ours,
        "theirs": theirs,
        "ratio": theirs / ours,
        "goal": asked,
        "ok": goal is None or outcome.loss <= goal,
        "loss": outcome.loss,
        "classes": outcome.recoding.count,
    }


def adversary(recoding: Recoding, seconds: float) -> dict[str, object]:
    """Returns what somebody sees who knows a key: all rows whose published values cover it."""
    table = recoding.table
    keys = np.stack([table.codes(c.name) for c in table.keys], axis=1)[::EVERY]
    own = recoding.class_of[::EVERY]
    domains = np.array([len(c.taxonomy.leaves) - 1 for c in table.keys])
    price = ((recoding.high - recoding.low - 1) / domains).sum(axis=1)
    candidates, cheaper = [], 0
    for key, home in zip(keys, own.tolist(), strict=True):
        covers = np.all((recoding.low <= key) & (key < recoding.high), axis=1)
        candidates.append(int(recoding.rows[covers].sum()))
        cheaper += bool((price[covers] < price[home] - 1e-12).any())
    few, middle = min(candidates), int(np.median(candidates))
    share = cheaper / len(candidates)
    return {
        "name": f"k=5: candidates {few} at least, median {middle}; cheaper box for {share:.2%}",
        "ours": seconds,
        "theirs": seconds,
        "ratio": 1.0,
        "goal": ">= 5 candidates",
        "ok": few >= 5,
    }


def row_bound(table: Microdata, k: int, outcome: Outcome, seconds: float) -> dict[str, object]:
    """Returns a loss that no local recoding falls below: what each row loses in its cheapest box of k rows.

    Every box of nodes around a row is a box of the lattice, since levels lead from its leaves to the roots.
    """
    groups = KeyGroups.of(table, {})
    lattice = LevelLattice.of(groups, neighbours_of(groups), 1)
    one, two = lattice.halves
    least = np.full(len(groups), WHOLE_PRICE)
    begin = time.process_time()
    for first, second in lattice.nodes.tolist():
        box = one.box[first][one.value].astype(np.int64) << 32 | two.box[second][two.value]
        _, number = np.unique(box, return_inverse=True)
        large = np.bincount(number, groups.weight)[number] >= k
        price = one.price[first][one.value].astype(np.int64) + two.price[second][two.value]
        least[large] = np.minimum(least[large], price[large] * STEP)
    bound = float(least @ groups.weight) / WHOLE_PRICE / table.rows
    return {
        "name": f"k={k}: {outcome.loss:.5f}, nothing is below {bound:.5f} ({len(lattice.nodes)} nodes)",
        "ours": seconds,
        "theirs": time.process_time() - begin,
        "ratio": outcome.loss / bound,
        "goal": "a bound",
        "ok": outcome.loss >= bound,
    }


def large_domains() -> list[dict[str, object]]:
    """Returns the seconds per row of two made-up tables; the larger one may take twice as many."""
    each, rows = [], []
    for count in LARGE:
        outcome, seconds = timed(local, zips_and_ages(count), Promises((KAnonymity(5),)), repeat=1)
        each.append(seconds / count)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        rows.append(
            {
                "name": f"{count:,} rows, 100,000 zips, k=5: {outcome.loss:.5f}, peak {peak:,} MB",
                "ours": each[-1] * 1e6,
                "theirs": each[0] * 1e6,
                "ratio": each[0] / each[-1],
                "goal": ">= 0.5 (µs a row)",
                "ok": each[-1] <= 2 * each[0],
            }
        )
    return rows


def zips_and_ages(rows: int) -> Microdata:
    """Returns people with a zip of five digits, an age, a sex and a job."""
    rng = np.random.default_rng(0)
    zips = rng.choice(100_000, rows, p=_log_normal(rng, 100_000))
    columns = [
        Column("zip", Role.QUASI, _digits()),
        Column("age", Role.QUASI, _ages()),
        Column("sex", Role.QUASI, Taxonomy.flat(["f", "m"])),
        Column("job", Role.QUASI, Taxonomy.flat([f"j{i}" for i in range(14)])),
    ]
    codes = [zips, rng.integers(0, 74, rows), rng.integers(0, 2, rows), rng.integers(0, 14, rows)]
    return Microdata.of_codes(columns, [code.astype(np.int32) for code in codes])


def _log_normal(rng: np.random.Generator, count: int) -> np.ndarray:
    weight = rng.lognormal(0, 1.5, count)
    return weight / weight.sum()


def _digits() -> Taxonomy:
    """Returns the tree of all texts of five digits by their beginnings."""
    labels, parent, above = ["*"], [-1], [0]
    for length in range(1, LEVELS_OF_ZIP + 1):
        here = []
        for i, node in enumerate(above):
            for digit in range(10):
                here.append(len(labels))
                labels.append(f"{i * 10 + digit:0{length}d}".ljust(LEVELS_OF_ZIP, "*"))
                parent.append(node)
        above = here
    return Taxonomy.grow(labels, parent)


def _ages() -> Taxonomy:
    """Returns 74 ages by tens."""
    tens = [f"{i}0s" for i in range(8)]
    parent = [-1, *([0] * len(tens)), *(1 + i // 10 for i in range(74))]
    return Taxonomy.grow(["*", *tens, *(str(i) for i in range(74))], parent)


if __name__ == "__main__":
    folders = [Path(word) for word in sys.argv[1:]]
    for row in main(*folders[:1]):
        figures = " | ".join(f"{row[name]:.2f}" for name in ("ours", "theirs", "ratio"))
        print(f"{row['name']} | {figures} | {row['goal']} | {row['ok']}", flush=True)
