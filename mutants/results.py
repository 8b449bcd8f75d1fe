"""The results of a run: a line for every mutant, written as it ends, and read again by a run that goes on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PLACE = Path(__file__).with_name("results.txt")
OUTCOMES = ("killed", "timeout", "equivalent", "survived")
LINE = re.compile(r"^(\w+)\t([0-9.]+) s\t(\S+)\t(\d+)\t(.*)\t(\S*)$")
HEAD = re.compile(r"^# commit (\S+), (\S+), seed (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """What became of a mutant at a commit: one of `OUTCOMES`, and the test that failed."""

    outcome: str
    seconds: float
    commit: str
    line: int
    name: str
    by: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}\t{self.seconds:.1f} s\t{self.commit}\t{self.line}\t{self.name}\t{self.by}"


def read(text: str) -> dict[str, Result]:
    """Return the last result of every mutant in a file of results."""
    found = {}
    for line in text.splitlines():
        if match := LINE.match(line):
            outcome, seconds, commit, number, name, by = match.groups()
            found[name] = Result(outcome, float(seconds), commit, int(number), name, by)
    return found


def written(results: Iterable[Result], *, commit: str, date: str, seed: int) -> str:
    """Return the file of results: what was run, how many met which end, survivors in full, every line."""
    every = sorted(results, key=lambda result: result.name)
    counts = ", ".join(f"{sum(r.outcome == o for r in every)} {o}" for o in OUTCOMES)
    lines = [
        "# Mutants of Sfumato: `make mutants` makes them, asks the related tests, and writes this file.",
        f"# commit {commit}, {date}, seed {seed}",
        f"# {len(every)} mutants: {counts}",
    ]
    survivors = [r for r in every if r.outcome == "survived"]
    lines += ["#", "# survivors:" if survivors else "# no survivors"]
    for result in survivors:
        path, where, before, after = result.name.split(" | ", 3)
        lines += [f"#   {path}:{result.line}  {where}", f"#     - {before}", f"#     + {after}"]
    lines += ["#", "# outcome, processor time, commit, line, mutant, test that failed", *map(str, every)]
    return "\n".join(lines) + "\n"
