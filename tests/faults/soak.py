"""A soak in parts: `python -m faults.soak --minutes 30`, as often as it takes; `make soak-part` does it.

Tasks are done side by side, a process for each (`--jobs`); large ones are done in shares. What was done is
kept in build/soak, unit by unit. A part goes on where the last one ended, also after it was killed: the
units after the last note are done again. Where src changed since, everything begins anew. With the last unit
the figures are written to tests/faults/soak.txt. A unit that fails is told with its number, and ends its
share; the part then ends with exit 1.
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
import warnings
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


class Share:
    """A share of a task: every unit whose number leaves this rest. What was done is kept in a file."""

    def __init__(self, name, rest, folder, part):
        kind = TASKS[name]
        self.name, self.rest, self.step = name, rest, kind.shares
        units = max(1, round(kind.units * part))
        self.goal = len(range(rest, units, self.step))
        self.slug = f"{name.replace(' ', '-')}-{rest}"
        self.path, self.commit = Path(folder) / f"{self.slug}.json", commit()
        self.done, self.outcomes, self.seconds, self.saved = 0, Counter(), 0.0, 0.0
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            done, outcomes, seconds = int(kept["done"]), Counter(kept["outcomes"]), float(kept["seconds"])
            if kept["commit"] == self.commit:
                self.done, self.outcomes, self.seconds = done, outcomes, seconds

    @property
    def is_open(self):
        return self.done < self.goal

    @property
    def number(self):
        """The number of the next unit."""
        return self.rest + self.done * self.step

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

    def play(self, until, work):
        """Does units until all are done or the time is over; returns whether nothing failed."""
        started, begun, before = [], time.process_time(), self.seconds
        with contextlib.ExitStack() as stack:

            def cluster():
                if not started:
                    started.append(stack.enter_context(Cluster()))
                return started[0]

            task = TASKS[self.name].task(work / self.slug, cluster)
            stack.callback(task.close)
            while self.is_open and time.monotonic() < until:
                try:
                    outcome = task.unit(self.number)
                except Exception as error:
                    self.save()
                    told = f"{self.name}, unit {self.number}: {type(error).__name__}: {error}"
                    sys.stderr.write(f"{told}\n")
                    return False
                self.done += 1
                self.outcomes[outcome] += 1
                self.seconds = before + time.process_time() - begun
                if time.monotonic() - self.saved > SAVED_EVERY:
                    self.save()
        self.save()
        return True


def shares(folder, part):
    """All shares of all tasks."""
    return [Share(name, rest, folder, part) for name, kind in TASKS.items() for rest in range(kind.shares)]


def report(place, all_shares):
    """Writes the figures, a line for each task."""
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    with Path(place).open("a", encoding="utf-8") as file:
        for name in TASKS:
            mine = [share for share in all_shares if share.name == name]
            told = {"units": sum(share.done for share in mine)}
            told |= sum((share.outcomes for share in mine), Counter())
            file.write(f"{day} {mine[0].commit} soak, {name}: {json.dumps(told)}\n")


def side_by_side(given, until, work):
    """Does what is left, so many shares at once, each in a process of its own; whether nothing failed.

    A share that ends without a word, as by a crash of a library, failed as well.
    """
    waiting = [share for share in shares(given.state, given.share) if share.is_open]
    running, fine = [], True
    while waiting or running:
        while waiting and len(running) < given.jobs and time.monotonic() < until:
            share = waiting.pop(0)
            words = ["--share", str(given.share), "--state", str(given.state), "--work", str(work)]
            minutes = str(max(0.0, until - time.monotonic()) / 60)
            command = [sys.executable, "-m", "faults.soak", "--only", share.name, str(share.rest)]
            running.append((share, subprocess.Popen([*command, "--minutes", minutes, *words])))
        if time.monotonic() >= until:
            waiting = []
        for share, program in list(running):
            if program.poll() is not None:
                running.remove((share, program))
                fine &= program.returncode == 0
                told = Share(share.name, share.rest, given.state, given.share)
                ended = "" if program.returncode == 0 else f", and failed (exit {program.returncode})"
                sys.stderr.write(f"{told.slug}: {told.done} of {told.goal}{ended}\n")
        time.sleep(0.2)
    return fine


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=float(os.environ.get("SFUMATO_SOAK_MINUTES", "30")))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many tasks at once")
    parser.add_argument("--share", type=float, default=1.0, help="of the units of a whole soak")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "soak", help="a folder for notes")
    parser.add_argument("--report", type=Path, default=REPORT)
    parser.add_argument("--only", nargs=2, metavar=("TASK", "REST"), help="one share, in this process")
    parser.add_argument("--work", type=Path, help="where units are played")
    given = parser.parse_args(arguments)
    until = time.monotonic() + 60 * given.minutes
    work = (given.work or Path(f"{given.state}.work")).absolute()
    if given.only:
        warnings.simplefilter("ignore")
        name, rest = given.only
        return 0 if Share(name, int(rest), given.state, given.share).play(until, work) else 1
    shutil.rmtree(work, ignore_errors=True)
    if not side_by_side(given, until, work):
        return 1
    shutil.rmtree(work, ignore_errors=True)
    done = shares(given.state, given.share)
    if left := sum(share.is_open for share in done):
        sys.stderr.write(f"{left} of {len(done)} shares are left: run another part\n")
        return 0
    report(given.report, done)
    sys.stderr.write(f"all is done; the figures are in {given.report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
