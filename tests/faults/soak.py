"""A soak in parts: `python -m faults.soak --minutes 30`, as often as it takes; `make soak-part` does it.

What was done is kept in build/soak.json, unit by unit. A part goes on where the last one ended, also after
it was killed: the units after the last note are done again. Where src changed since, everything begins anew.
With the last unit the figures are written to tests/faults/soak.txt. A unit that fails ends the part with exit
1 and its number.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from faults.postgresql import Cluster
from faults.soak_tasks import TASKS

ROOT = Path(__file__).parent.parent.parent
REPORT = ROOT / "tests" / "faults" / "soak.txt"
SAVED_EVERY = 5.0
"""Seconds between two notes of what was done."""


def commit():
    """The last commit that touches src; a `+` where it was changed since."""
    return (_git("log", "-1", "--format=%h", "--", "src") or "-") + (
        "+" * bool(_git("status", "-s", "--", "src"))
    )


def _git(*words):
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


class Soak:
    """What was done of each task, kept in a file."""

    def __init__(self, state, share):
        self.path, self.commit = Path(state), commit()
        self.goals = {name: max(1, round(count * share)) for name, (_, count) in TASKS.items()}
        self.done, self.outcomes = dict.fromkeys(TASKS, 0), {name: Counter() for name in TASKS}
        self.seconds, self.saved = 0.0, 0.0
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            done = {name: int(kept["done"].get(name, 0)) for name in TASKS}
            outcomes = {name: Counter(kept["outcomes"].get(name, {})) for name in TASKS}
            seconds = float(kept["seconds"])
            if kept["commit"] == self.commit:
                self.done, self.outcomes, self.seconds = done, outcomes, seconds

    @property
    def left(self):
        """The tasks that are not done, the least advanced first."""
        open_tasks = [name for name in TASKS if self.done[name] < self.goals[name]]
        return sorted(open_tasks, key=lambda name: self.done[name] / self.goals[name])

    def count(self, name, outcome):
        self.done[name] += 1
        self.outcomes[name][outcome] += 1

    def save(self):
        content = {
            "commit": self.commit,
            "seconds": self.seconds,
            "done": self.done,
            "outcomes": self.outcomes,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(content, indent=1), encoding="utf-8")
        part.replace(self.path)
        self.saved = time.monotonic()

    def report(self, place):
        """Writes the figures, a line for each task."""
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        told = {name: {"units": self.done[name], **self.outcomes[name]} for name in TASKS}
        lines = [f"{day} {self.commit} soak, {name}: {json.dumps(told[name])}\n" for name in TASKS]
        with Path(place).open("a", encoding="utf-8") as file:
            file.writelines(lines)


def part(soak, minutes, work):
    """Does units until all are done or the time is over; returns whether nothing failed."""
    until, opened, started = time.monotonic() + 60 * minutes, {}, []
    with contextlib.ExitStack() as stack:

        def cluster():
            if not started:
                started.append(stack.enter_context(Cluster()))
            return started[0]

        while soak.left and time.monotonic() < until:
            name = soak.left[0]
            begun, stretch = time.monotonic(), min(until, time.monotonic() + 60)
            if name not in opened:
                opened[name] = TASKS[name][0](work / name.replace(" ", "-"), cluster)
                stack.callback(opened[name].close)
            while soak.done[name] < soak.goals[name] and time.monotonic() < stretch:
                try:
                    soak.count(name, opened[name].unit(soak.done[name]))
                except Exception as error:
                    soak.save()
                    sys.stderr.write(f"{name}, unit {soak.done[name]}: {type(error).__name__}: {error}\n")
                    return False
                if time.monotonic() - soak.saved > SAVED_EVERY:
                    soak.save()
            soak.seconds += time.monotonic() - begun
            soak.save()
            sys.stderr.write(f"{name}: {soak.done[name]} of {soak.goals[name]}\n")
    return True


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("SFUMATO_SOAK_MINUTES", "30")))
    parser.add_argument("--share", type=float, default=1.0, help="of the units of a whole soak")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "soak.json")
    parser.add_argument("--report", type=Path, default=REPORT)
    given = parser.parse_args(arguments)
    soak, work = Soak(given.state, given.share), given.state.with_suffix(".work")
    shutil.rmtree(work, ignore_errors=True)
    if not part(soak, given.minutes, work):
        return 1
    shutil.rmtree(work, ignore_errors=True)
    if soak.left:
        sys.stderr.write(f"{len(soak.left)} tasks are left: run another part\n")
        return 0
    soak.report(given.report)
    sys.stderr.write(f"done in {soak.seconds / 60:.0f} minutes; the figures are in {given.report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
