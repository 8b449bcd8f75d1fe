"""Make mutants and see which of them no test notices: `python -m mutants [--count N] [--seed N] [--jobs N]`.

Each mutant is made in a copy of `src` in a temporary folder, never in the working tree. The tests that are
most related to its room are asked first, and the first failure ends it. A run that was stopped goes on where
it was when it is started again at the same commit. Exits 1 if a mutant survives, or if `equivalent.txt` names
one that is no more.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from mutants import equivalent, results
from mutants.mutant import Mutant, drawn, mutants_in
from mutants.results import Result
from mutants.rooms import ROOMS, STAGES, folder_of
from mutants.worker import Worker

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")

SLACK = 3
"""A stage may take so many times the processor time that it takes without a mutant, and a minute more."""


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _options().parse_args(arguments)
    every = {room: mutants_in(ROOT, room) for room in ROOMS}
    reasons = equivalent.read(equivalent.PLACE.read_text(encoding="utf-8"))
    gone = equivalent.unknown(reasons, {m.name for mutants in every.values() for m in mutants})
    for name in gone:
        print(f"equivalent.txt names no mutant that there is: {name}")
    run = Run(chosen.results, reasons, seed=chosen.seed, jobs=chosen.jobs)
    todo = _drawn(every, chosen, run)
    if chosen.list:
        print("\n".join(f"{m.path}:{m.line}  {m.where}\n  - {m.before}\n  + {m.after}" for m in todo))
        return int(bool(gone))
    run.go(todo)
    print(run.path.read_text(encoding="utf-8").split("# outcome")[0], end="")
    return int(bool(gone) or any(r.outcome == "survived" for r in run.done.values()))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="how many, equally many from each room (200)")
    parser.add_argument("--seed", type=int, default=13, help="which ones (13)")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time (2)")
    parser.add_argument("--room", choices=ROOMS, action="append", help="only this room; may be repeated")
    parser.add_argument("--survivors", action="store_true", help="only those that survived in the results")
    parser.add_argument("--list", action="store_true", help="say which are drawn, and run nothing")
    parser.add_argument("--results", type=Path, default=results.PLACE, help="where the results are")
    return parser


def _drawn(every: Mapping[str, Sequence[Mutant]], chosen: argparse.Namespace, run: Run) -> list[Mutant]:
    rooms = chosen.room or ROOMS
    if chosen.survivors:
        known = {m.name: m for room in rooms for m in every[room]}
        return [known[r.name] for r in run.done.values() if r.outcome == "survived" and r.name in known]
    each, more = divmod(chosen.count, len(rooms))
    return [m for i, room in enumerate(rooms) for m in drawn(every[room], each + (i < more), chosen.seed)]


class Run:
    """Workers side by side, and the results, written after every mutant."""

    def __init__(self, path: Path, reasons: Mapping[str, str], *, seed: int, jobs: int) -> None:
        self.path, self.reasons, self.seed, self.jobs = path, reasons, seed, jobs
        self.commit = _git("describe", "--always", "--dirty", "--exclude=*")
        self.done = results.read(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self._limits: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def go(self, mutants: Sequence[Mutant]) -> None:
        """Run these, as far as they were not run at this commit already; others are forgotten."""
        names = {m.name for m in mutants}
        rerun = [m for m in mutants if not self._is_done(m)]
        self.done = {n: r for n, r in self.done.items() if n in names or r.commit == self.commit}
        print(
            f"{len(mutants)} mutants, {len(mutants) - len(rerun)} of them done at {self.commit}", flush=True
        )
        waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        for mutant in rerun:
            if mutant.name in self.reasons:
                self._note(Result("equivalent", 0, self.commit, mutant.line, mutant.name))
            else:
                waiting.put(mutant)
        workers = [Worker(ROOT, _folder() / str(i)) for i in range(min(self.jobs, max(1, waiting.qsize())))]
        if waiting.qsize():
            self._measure(workers, sorted({folder_of(m.path) for m in rerun if m.name not in self.reasons}))
        _side_by_side([lambda w=w: self._work(w, waiting) for w in workers])
        self._write()

    def _is_done(self, mutant: Mutant) -> bool:
        result = self.done.get(mutant.name)
        return result is not None and result.commit == self.commit and "dirty" not in self.commit

    def _measure(self, workers: Sequence[Worker], folders: Sequence[str]) -> None:
        """Ask all tests without a mutant first: they must pass, and their time is the measure of the others."""
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for folder in folders:
            waiting.put(folder)

        def work(worker: Worker) -> None:
            worker.check_home()
            while (folder := _next(waiting)) is not None:
                asked = [worker.ask(stage) for stage in STAGES[folder]]
                if not all(one.passed for one in asked):
                    raise RuntimeError(f"fails without any mutant: {[one.failed for one in asked]}")
                self._limits[folder] = [SLACK * one.seconds + 60 for one in asked]
                told = ", ".join(f"{one.seconds:.0f} s" for one in asked)
                print(f"tests of {folder} without a mutant: {told}", flush=True)

        _side_by_side([lambda w=w: work(w) for w in workers])

    def _work(self, worker: Worker, waiting: queue.SimpleQueue[Mutant]) -> None:
        while (mutant := _next(waiting)) is not None:
            self._note(self._result(worker, mutant))

    def _result(self, worker: Worker, mutant: Mutant) -> Result:
        folder, seconds = folder_of(mutant.path), 0.0
        with worker.mutated(mutant) as copy:
            for number, stage in enumerate(STAGES[folder]):
                paths = [str(copy), *stage] if number == 0 else stage
                asked = worker.ask(paths, limit=self._limits[folder][number])
                seconds += asked.seconds
                if not asked.passed:
                    outcome = "timeout" if asked.code < 0 else "killed"
                    return Result(outcome, seconds, self.commit, mutant.line, mutant.name, asked.failed)
        return Result("survived", seconds, self.commit, mutant.line, mutant.name)

    def _note(self, result: Result) -> None:
        with self._lock:
            self.done[result.name] = result
            self._write()
            print(f"{result.outcome:10} {result.seconds:6.1f} s  {result.name}", flush=True)

    def _write(self) -> None:
        text = results.written(
            self.done.values(), commit=self.commit, date=datetime.now(UTC).date().isoformat(), seed=self.seed
        )
        staged = self.path.with_name(f".{self.path.name}.new")
        staged.write_text(text, encoding="utf-8")
        staged.replace(self.path)


def _next(waiting: queue.SimpleQueue[T]) -> T | None:
    try:
        return waiting.get_nowait()
    except queue.Empty:
        return None


def _side_by_side(works: Sequence[Callable[[], None]]) -> None:
    """Do all at once; the first error of any is raised when all have ended."""
    wrong: list[BaseException] = []

    def safely(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=safely, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def _folder() -> Path:
    """Where the copies are: the same for the same clone, so that compiled kernels are found again."""
    mark = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"sfumato-mutants-{os.getuid()}-{mark}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
