"""Tables about people, protected as they come: `declare`, `policy confirm COLUMN…`, `protect`, nothing else.

    python -m benchmarks.usefulness [--packages FOLDER] [--json FILE] [--seconds N] [TABLE …]

The tables ship inside packages (`usefulness_requirements.txt`), which `make usefulness` installs into a
folder; only their files are read. What each column is was fixed by hand (`usefulness_labels.yaml`). Per
table: were the roles right (a missed identifier or quasi-identifier is a failure of its own), how many key
cells tell nothing, does another search keep a column that was lost, how far is the loss from the best search,
how many rows were suppressed, how long did it take (and the processor), and what became of a line and of a
model. Failures are listed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.usefulness_tables import LabelledTable, labelled_tables
from sfumato.policy.policy import Policy

ROOT = Path(__file__).parent.parent
PACKAGES = ROOT / ".venv-tables"
SEARCHES = ("top-down", "lattice", "mondrian", "optimum", "local")
SECONDS = 240
"""How long one call may take before it counts as no answer."""
MOST_LOST = 0.10
CLOSE = 1.01
"""So much more than the best search's loss is as good."""
STRICT = {"identifier": ("identifier",), "quasi": ("quasi", "identifier")}
"""The roles that a column may get without being missed."""
Words = dict[str, Any]


@dataclass
class Story:
    """What became of one table."""

    table: LabelledTable
    rows: int = 0
    failures: list[str] = field(default_factory=list)
    figures: Words = field(default_factory=dict)

    def fail(self, what: str) -> None:
        self.failures.append(f"{self.table.name}: {what}")


def main(arguments: Sequence[str] = ()) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.usefulness")
    parser.add_argument("tables", nargs="*", help="which tables (default: all)")
    parser.add_argument("--packages", type=Path, default=PACKAGES, help="the folder of the packages")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="how long one call may take")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--searches", nargs="*", default=SEARCHES, help="searches to hold the draft's against"
    )
    chosen = parser.parse_args(arguments)
    stories = list(tell(chosen.tables, chosen.packages, chosen.seconds, chosen.searches))
    if chosen.json:
        words = [
            {"table": s.table.name, "rows": s.rows, **s.figures, "failures": s.failures} for s in stories
        ]
        chosen.json.write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
    failures = [failure for story in stories for failure in story.failures]
    print(*(f"FAILED {failure}" for failure in failures), sep="\n")
    return summary(stories, failures)


def summary(stories: Sequence[Story], failures: Sequence[str]) -> list[dict[str, object]]:
    """The figures that count, for the table of all benchmarks."""
    done = [s for s in stories if "share_lost" in s.figures]
    share = sum(s.figures["share_lost"] for s in done) / len(done) if done else 1.0
    missed = sum(s.figures.get("missed", 0) for s in stories)
    return [
        {"name": "tables of people, published with no switch turned", "ours": len(done), "goal": len(stories),
         "ok": bool(stories) and len(done) == len(stories)},
        {"name": "key cells that tell nothing, mean share", "ours": share, "goal": f"<= {MOST_LOST}",
         "ok": share <= MOST_LOST},
        {"name": "missed identifiers and quasi-identifiers", "ours": missed, "goal": 0, "ok": missed == 0},
        {"name": "failures of any kind", "ours": len(failures), "goal": 0, "ok": not failures},
    ]  # fmt: skip


def tell(names: Sequence[str], packages: Path, seconds: int, searches: Sequence[str]) -> Iterable[Story]:
    """Yields what became of each table whose package is there."""
    for table in labelled_tables():
        if names and table.name not in names:
            continue
        frame = table.read(packages)
        if frame is None:
            print(f"{table.name}: left out, its package is not in {packages} (make usefulness)")
            continue
        story = Story(table, len(frame))
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "people.csv"
            frame.to_csv(data, index=False)
            protect_as_it_comes(story, data, seconds)
            if "share_lost" in story.figures:
                hold_against_others(story, data, seconds, searches)
        print(line(story), flush=True)
        yield story


def protect_as_it_comes(story: Story, data: Path, seconds: int) -> None:
    """Declare, confirm, protect, compare; notes what was refused and what was missed."""
    policy, safe, begin = data.with_name("policy.yaml"), data.with_name("safe.csv"), time.monotonic()
    worked = cpu_seconds()
    if not called(story, "declare", seconds, "declare", data, "-o", policy):
        return
    drafted = Policy.load(policy)
    if drafted.waiting:
        called(story, "confirm", seconds, "policy", "confirm", policy, *drafted.waiting)
    judge_roles(story, drafted)
    if not called(story, "protect", seconds, "protect", data, "-p", policy, "-o", safe):
        return
    story.figures["seconds"] = round(time.monotonic() - begin, 1)
    story.figures["cpu_seconds"] = round(cpu_seconds() - worked, 1)
    slopes = json.dumps(story.table.regression) if story.table.regression else ""
    told = job(seconds, "compare", data, safe, policy, story.table.model or "", slopes)
    if told is None:
        story.fail("compare: no answer")
        return
    story.figures |= told
    if told["share_lost"] > MOST_LOST:
        named = ", ".join(told["columns_lost"]) or "no column"
        story.fail(f"{told['share_lost']:.0%} of the key cells tell nothing; {named} lost")


def judge_roles(story: Story, policy: Policy) -> None:
    """Counts roles that are right, and notes identifiers and quasi-identifiers that were missed."""
    drafted = {name: rule.role.value for name, rule in policy.columns.items()}
    right = sum(drafted[name] == role for name, role in story.table.roles.items())
    missed = [
        (name, role)
        for name, role in story.table.roles.items()
        if role in STRICT and drafted[name] not in STRICT[role]
    ]
    for name, role in missed:
        story.fail(f"column {name}: {role}, declared {drafted[name]}")
    story.figures |= {"roles": len(drafted), "right": right, "missed": len(missed), "declared": drafted}


def hold_against_others(story: Story, data: Path, seconds: int, searches: Sequence[str]) -> None:
    """Plans with every other search, and with the right roles; notes what they keep that was lost."""
    policy = data.with_name("policy.yaml")
    plans = {s: job(seconds, "plan", data, policy, s) for s in ("as-it-is", *searches)}
    story.figures["searches"] = plans
    found = {s: p for s, p in plans.items() if p is not None and "loss" in p}
    mine = found.pop("as-it-is", None)
    if mine is None:
        return
    best = min([mine["loss"], *(p["loss"] for p in found.values())])
    story.figures |= {"loss": mine["loss"], "best": best, "by": mine["search"]}
    if mine["loss"] > best * CLOSE:
        better = min(found, key=lambda s: found[s]["loss"])
        story.fail(f"loss {mine['loss']:.4f} by {mine['search']}, {best:.4f} by {better}")
    for column in mine["columns_lost"]:
        keepers = [
            s
            for s, p in found.items()
            if column not in p["columns_lost"] and p["loss"] <= mine["loss"] * CLOSE
        ]
        if keepers:
            story.fail(f"column {column}: lost, and kept by {', '.join(keepers)} at no greater loss")
    story.figures["right_roles"] = job(seconds, "roles", data, json.dumps(story.table.roles))


def called(story: Story, step: str, seconds: int, *arguments: object) -> bool:
    """Runs the program as a user would; notes a refusal with its message."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sfumato", *map(str, arguments)],
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        story.fail(f"{step}: no answer in {seconds} s")
        return False
    if done.returncode:
        story.fail(f"{step}: exit {done.returncode}: {' '.join(done.stderr.split())[:300]}")
    return done.returncode == 0


def cpu_seconds() -> float:
    """The seconds that processors worked for the programs that were run: what others do at the time aside."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def job(seconds: int, *arguments: object) -> Words | None:
    """The answer of a job in a process of its own; nothing where it takes too long or breaks down."""
    call = [sys.executable, "-m", "benchmarks.usefulness_jobs", *map(str, arguments)]
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, timeout=seconds, check=False, cwd=ROOT, env=os.environ
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout) if done.returncode == 0 else None


def line(story: Story) -> str:
    """One table on one line."""
    f = story.figures
    cells = [f"{story.table.name:20}", f"{story.rows:>7,} rows"]
    if "roles" in f:
        cells.append(f"roles {f['right']}/{f['roles']}, {f['missed']} missed")
    if "share_lost" in f:
        cells.append(f"lost {f['share_lost']:6.1%}, {len(f['columns_lost'])} columns, {f['suppressed']} rows")
        cells.append(f"{f['seconds']} s ({f['cpu_seconds']} s of a processor)")
    if "loss" in f:
        cells.append(f"loss {f['loss']:.4f} ({f['by']}), best {f['best']:.4f}")
    if f.get("right_roles") and "share_lost" in f["right_roles"]:
        cells.append(f"right roles: lost {f['right_roles']['share_lost']:.1%}")
    if f.get("model"):
        cells.append("model raw {:.3f} safe {:.3f} guess {:.3f}".format(*f["model"]))
    if f.get("line"):
        cells.append(
            "line "
            + " / ".join("–" if part is None else ", ".join(f"{x:.4g}" for x in part) for part in f["line"])
        )
    return "  ".join([*cells, f"{len(story.failures)} failures"])


if __name__ == "__main__":
    met = main(sys.argv[1:])
    for figure in met:
        print(
            f"{figure['name']}: {figure['ours']} (goal {figure['goal']}) {'ok' if figure['ok'] else 'MISSED'}"
        )
    sys.exit(int(any(not figure["ok"] for figure in met)))
