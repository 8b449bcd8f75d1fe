"""A run: workers side by side ask the tests about one mutant after the other, and results are kept."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from mutants import results
from mutants.mutant import Mutant
from mutants.results import Result
from mutants.rooms import STAGES, folder_of
from mutants.worker import STOP, Worker

ROOT = Path(__file__).resolve().parent.parent
SLACK = 3
"""A stage may take so many times the processor time that it takes without a mutant, and a minute more."""

T = TypeVar("T")


class Run:
    """What is done, what is to be done, and how long the tests may take.

    `kept` are the mutants whose earlier results stay in the file, `reasons` those that need no test.
    """

    def __init__(self, path: Path, kept: Sequence[Mutant], reasons: Mapping[str, str], *, seed: int) -> None:
        self.path, self.reasons, self.seed = path, reasons, seed
        self.commit = commit()
        names = {mutant.name for mutant in kept}
        before = results.read(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.done = {name: result for name, result in before.items() if name in names}
        self._limits: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    @property
    def survivors(self) -> list[Result]:
        return [result for result in self.done.values() if result.outcome == "survived"]

    def is_done(self, mutant: Mutant) -> bool:
        """Whether there is a result for what is committed now."""
        result = self.done.get(mutant.name)
        return result is not None and result.commit == self.commit and not self.commit.endswith("+")

    def go(self, mutants: Sequence[Mutant], jobs: int) -> None:
        """Run these mutants, so many at a time."""
        waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
        for mutant in mutants:
            if mutant.name in self.reasons:
                self._note(Result("equivalent", 0, self.commit, mutant.line, mutant.name))
            else:
                waiting.put(mutant)
        files = _git("ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
        workers = [Worker(ROOT, _home() / str(i), files) for i in range(min(jobs, waiting.qsize()))]
        folders = sorted({folder_of(m.path) for m in mutants if m.name not in self.reasons})
        self._measure(workers, folders)
        side_by_side([_bound(self._work, worker, waiting) for worker in workers])
        self._write()

    def _measure(self, workers: Sequence[Worker], folders: Sequence[str]) -> None:
        """Ask all tests without a mutant first: they must pass, and their time is the measure."""
        kept = _home() / f"limits-{self.commit}.json"
        if kept.is_file() and not self.commit.endswith("+"):
            self._limits = json.loads(kept.read_text(encoding="utf-8"))
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for folder in folders:
            if folder not in self._limits:
                waiting.put(folder)
        side_by_side([_bound(self._measure_by, worker, waiting) for worker in workers])
        kept.write_text(json.dumps(self._limits), encoding="utf-8")

    def _measure_by(self, worker: Worker, waiting: queue.SimpleQueue[str]) -> None:
        worker.check_home()
        while (folder := _next(waiting)) is not None:
            asked = [worker.ask(stage) for stage in STAGES[folder]]
            if failed := [one.failed for one in asked if not one.passed]:
                raise RuntimeError(f"these fail without any mutant: {', '.join(failed)}")
            self._limits[folder] = [SLACK * one.seconds + 60 for one in asked]
            told = ", ".join(f"{one.seconds:.0f} s" for one in asked)
            print(f"the tests of {folder} take {told} without a mutant", flush=True)

    def _work(self, worker: Worker, waiting: queue.SimpleQueue[Mutant]) -> None:
        while (mutant := _next(waiting)) is not None:
            self._note(self._result(worker, mutant))

    def _result(self, worker: Worker, mutant: Mutant) -> Result:
        """Ask the doctests of the file and stage after stage, until a test fails.

        The first stage is asked with few random cases, then with all: most mutants go no further.
        """
        folder, seconds = folder_of(mutant.path), 0.0
        first, *later = STAGES[folder]
        limits = self._limits[folder]
        with worker.mutated(mutant) as copy:
            questions = [((str(copy), *first), limits[0], True), (first, limits[0], False)]
            questions += [(stage, limit, False) for stage, limit in zip(later, limits[1:], strict=True)]
            for paths, limit, few in questions:
                asked = worker.ask(paths, limit=limit, few=few)
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
        today = datetime.now(UTC).date().isoformat()
        text = results.written(self.done.values(), commit=self.commit, date=today, seed=self.seed)
        staged = self.path.with_name(f".{self.path.name}.new")
        staged.write_text(text, encoding="utf-8")
        staged.replace(self.path)


def commit() -> str:
    """Return the commit that last changed the program or its tests, with a `+` if they were changed since."""
    last = _git("log", "-1", "--format=%h", "--", "src", "tests")
    return f"{last}+" if _git("status", "--porcelain", "--", "src", "tests") else last


def side_by_side(works: Sequence[Callable[[], None]]) -> None:
    """Do all at once; where one fails the others stop, and the first error is raised."""
    wrong: list[BaseException] = []

    def safely(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            wrong.append(error)
            STOP.set()

    threads = [threading.Thread(target=safely, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def _bound(work: Callable[..., None], *arguments: object) -> Callable[[], None]:
    return lambda: work(*arguments)


def _next(waiting: queue.SimpleQueue[T]) -> T | None:
    try:
        return waiting.get_nowait()
    except queue.Empty:
        return None


def _home() -> Path:
    """Where the copies are: the same for the same clone, so that compiled kernels are found again."""
    mark = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"sfumato-mutants-{os.getuid()}-{mark}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
