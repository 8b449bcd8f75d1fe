"""Limits of `discover` kept, in random calls: `python -m benchmarks.discover_limits --calls 200`.

Every call runs in a process of its own. It must answer within 1.2 times its deadline and a second, stay below
its memory limit, and claim nothing (`complete`, `proved`, `lower_bound`) that is not so: small tables are
looked through exhaustively. On a busy machine a process gets the processor only now and then: a call that
is late by the clock is outside only if it also works that long after its deadline, in seconds of the
processor. Both are told.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pandas as pd

import sfumato as sf

LONGEST = 10.0
READINGS = ({"mode": "all"}, {"mode": "distinct"}, {"mode": "any"}, {"fraction": "1/2"}, {"fraction": "1/20"})
Cells = dict[str, list[int]]


@dataclass(frozen=True)
class Call:
    """One random call; `small` tables are checked exhaustively."""

    seed: int
    small: bool
    deadline: float
    megabytes: int
    k: int
    reading: dict[str, str]
    max_size: int | None
    max_results: int | None

    def cells(self) -> Cells:
        """Made-up answers: few values each, some columns that repeat others, some constant."""
        draw = random.Random(self.seed)
        columns = draw.randint(3, 8) if self.small else draw.randint(30, 90)
        rows = draw.randint(4, 40) if self.small else draw.choice((300, 1000, 4000))
        made: Cells = {}
        for j in range(columns):
            values = draw.choice((1, 2, 2, 3, 5, 9))
            twin = draw.choice(list(made)) if made and draw.random() < 0.3 else None
            made[f"c{j}"] = (
                [draw.randrange(values) for _ in range(rows)] if twin is None else [3 - x for x in made[twin]]
            )
        return made


@dataclass(frozen=True)
class Kept:
    """What a call came to: seconds, those of the processor after its deadline, peak of memory, and what was
    wrong with its claims."""

    call: Call
    overtime: float
    seconds: float
    megabytes: float
    complete: bool
    proved: bool
    stopped: str | None
    sets: int
    wrong: str

    @property
    def on_time(self) -> bool:
        """By the clock."""
        return self.seconds <= 1.2 * self.call.deadline + 1

    @property
    def in_time(self) -> bool:
        """By the clock, or as far as it is up to the call."""
        return self.on_time or self.overtime <= 0.2 * self.call.deadline + 1

    @property
    def in_memory(self) -> bool:
        return self.megabytes <= self.call.megabytes


def calls(count: int, *, seed: int, longest: float = LONGEST) -> Iterator[Call]:
    draw = random.Random(seed)
    for _ in range(count):
        reading = draw.choice(READINGS)
        yield Call(
            draw.randrange(1 << 30),
            draw.random() < 0.4,
            draw.uniform(1, longest),
            draw.choice((450, 600, 1000, 2000)),
            2 if reading == {"mode": "distinct"} else draw.choice((2, 2, 3, 5)),
            reading,
            draw.choice((None, None, 2, 3, 4)),
            draw.choice((None, None, None, 1, 100)),
        )


def keep(call: Call) -> Kept:
    """Makes the call in a forked process, so that its memory is its own."""
    frame = pd.DataFrame({name: list(map(str, cells)) for name, cells in call.cells().items()})
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            os.write(writer, json.dumps(_answer(call, frame)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    early, _, _ = select.select([reader], [], [], call.deadline)
    worked = float("inf") if early else _processor_seconds(child)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        return Kept(call, float("inf"), float("inf"), float("inf"), False, False, None, 0, "the call failed")
    told = json.loads(text)
    return Kept(call, max(0.0, told.pop("worked") - worked), **told)


def _processor_seconds(process: int) -> float:
    """What a process has worked until now."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _answer(call: Call, frame: pd.DataFrame) -> dict[str, object]:
    began = time.monotonic()
    scan = sf.discover(
        frame,
        k=call.k,
        **call.reading,
        max_size=call.max_size,
        max_results=call.max_results,
        deadline=call.deadline,
        memory=call.megabytes * 10**6,
    )
    str(scan)
    seconds, worked = time.monotonic() - began, time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {
        "worked": worked,
        "seconds": seconds,
        "megabytes": peak,
        "complete": scan.complete,
        "proved": scan.proved,
        "stopped": scan.found.stopped or None,
        "sets": len(scan.minimal),
        "wrong": wrong_claims(call, scan),
    }


def wrong_claims(call: Call, scan: sf.Discovery) -> str:
    """What is not so of what a discovery says; of a large table only what can be checked without all sets."""
    cells = call.cells()
    shown = scan.minimal[:50]
    rows = _counted(cells, call)
    for columns in (*shown, *([scan.minimum] if scan.minimum is not None else [])):
        if not _exposing(rows, columns, scan):
            return "a set that is none"
    for columns in shown:
        if any(_exposing(rows, columns[:i] + columns[i + 1 :], scan) for i in range(len(columns))):
            return "a set that is not minimal"
    if len(set(shown)) < len(shown) or [len(s) for s in shown] != sorted(len(s) for s in shown):
        return "a set twice, or out of order"
    return _against_all(cells, rows, call, scan) if call.small else ""


def _against_all(cells: Cells, rows: list[dict[str, int]], call: Call, scan: sf.Discovery) -> str:
    every: list[tuple[str, ...]] = []
    for size in range(len(cells) + 1):
        for columns in combinations(cells, size):
            smaller = any(set(known) <= set(columns) for known in every)
            if not smaller and _exposing(rows, columns, scan):
                every.append(columns)
    wanted = [s for s in every if call.max_size is None or len(s) <= call.max_size]
    if scan.complete and list(scan.minimal) != sorted(
        wanted, key=lambda s: (len(s), [*map(list(cells).index, s)])
    ):
        return "complete, and is not"
    known = scan.found.complete_to
    if not scan.complete and any(len(s) <= known and s not in scan.minimal for s in every):
        return "complete up to a size, and is not"
    least = min(map(len, every), default=None)
    if scan.proved and (None if scan.minimum is None else len(scan.minimum)) != least:
        return "proved, and is not"
    return "a lower bound that is none" if least is not None and scan.lower_bound > least else ""


def _counted(cells: Cells, call: Call) -> list[dict[str, int]]:
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    return (
        list({tuple(row.values()): row for row in rows}.values())
        if call.reading == {"mode": "distinct"}
        else rows
    )


def _exposing(rows: list[dict[str, int]], columns: tuple[str, ...], scan: sf.Discovery) -> bool:
    """Whether at least t rows share their values in these columns with fewer than k."""
    groups: dict[tuple[int, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in columns)
        groups[key] = groups.get(key, 0) + 1
    return sum(size for size in groups.values() if size < scan.k) >= scan.t


def warm_up() -> None:
    """Loads, and if need be compiles, what the calls use: a deadline is not for that."""
    draw = random.Random(0)
    frame = pd.DataFrame({f"c{j}": [str(draw.randrange(2)) for _ in range(12)] for j in range(6)})
    for reading in READINGS:
        str(sf.discover(frame, k=2, **reading))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=LONGEST, help="the longest deadline, in seconds")
    asked = parser.parse_args(arguments)
    warm_up()
    bad = stopped = complete = late = 0
    worst = most = 0.0
    for number, call in enumerate(calls(asked.calls, seed=asked.seed, longest=asked.longest)):
        kept = keep(call)
        stopped, complete = stopped + bool(kept.stopped), complete + kept.complete
        worst, most = max(worst, kept.seconds - 1.2 * call.deadline), max(most, kept.overtime)
        late += not kept.on_time
        if not (kept.in_time and kept.in_memory and not kept.wrong):
            bad += 1
            print(number, kept)
    print(
        f"{asked.calls} calls, {complete} complete, {stopped} stopped, {bad} outside; by the clock {late} are"
        f" late, the worst {worst:+.2f} s beyond 1.2 deadlines; the most work after a deadline {most:.2f} s;"
        f" load {os.getloadavg()[0]:.0f}"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
