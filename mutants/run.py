"""A run: workers side by side ask the tests about one mutant after the other, and results are kept."""

from __future__ import annotations

import hashlib
import math
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
from mutants.touch_map import TouchMap
from mutants.worker import STOP, Worker

ROOT = Path(__file__).resolve().parent.parent
SHORT = 40.0
"""With `touching`, tests that run a mutant's lines are asked for so many seconds."""

SLACK = 20
"""A stage may take so many times the processor time that all tests with few cases take, and a minute more."""

T = TypeVar("T")


class Run:
    """What is done, what is to be done, and how long the tests may take.

    `kept` are the mutants whose earlier results stay in the file, `reasons` those that need no test. With
    `touching`, a mutant that the tests which run its lines do not notice counts as a survivor at once.
    """

    def __init__(
        self,
        path: Path,
        kept: Sequence[Mutant],
        reasons: Mapping[str, str],
        *,
        seed: int,
        touching: bool = False,
    ) -> None:
        self.path, self.reasons, self.seed, self.touching = path, reasons, seed, touching
        self.commit = commit()
        names = {mutant.name for mutant in kept}
        before = results.read(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.done = {name: result for name, result in before.items() if name in names}
        self._maps: dict[str, TouchMap] = {}
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
        self._record(workers, folders)
        side_by_side([_bound(self._work, worker, waiting) for worker in workers])
        self._write()

    def _record(self, workers: Sequence[Worker], folders: Sequence[str]) -> None:
        """Ask all tests without a mutant first: they must pass, and which lines they run is written down."""
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        for folder in folders:
            if self.commit.endswith("+") or not self._map_file(folder).is_file():
                waiting.put(folder)
        side_by_side([_bound(self._record_by, worker, waiting) for worker in workers])
        self._maps = {folder: TouchMap.load(self._map_file(folder)) for folder in folders}

    def _record_by(self, worker: Worker, waiting: queue.SimpleQueue[str]) -> None:
        worker.check_home()
        while (folder := _next(waiting)) is not None:
            goal = self._map_file(folder)
            asked = worker.record(
                [path for stage in STAGES[folder] for path in stage], goal.with_suffix(".new")
            )
            if not asked.passed:
                raise RuntimeError(f"this fails without any mutant: {asked.failed}")
            goal.with_suffix(".new").replace(goal)
            print(f"the tests of {folder} take {asked.seconds:.0f} s without a mutant", flush=True)

    def _map_file(self, folder: str) -> Path:
        return _home() / f"lines-{folder.replace('/', '-')}-{self.commit}.json"

    def _work(self, worker: Worker, waiting: queue.SimpleQueue[Mutant]) -> None:
        while (mutant := _next(waiting)) is not None:
            self._note(self._result(worker, mutant))

    def _result(self, worker: Worker, mutant: Mutant) -> Result:
        """Ask the tests that run the mutant's lines, quickest first, with few random cases; then all tests.

        Most mutants go no further than the first. Where no test runs the lines, or where a module cannot be
        imported any more, so that its tests are not found, all tests of the room are asked at once.
        """
        folder, seconds = folder_of(mutant.path), 0.0
        known = self._maps[folder]
        limit = SLACK * known.seconds + 60
        with worker.mutated(mutant) as copy:
            source = (ROOT / mutant.path).read_text(encoding="utf-8")
            touching = known.tests_of(mutant, source, most=SHORT if self.touching else math.inf)
            questions: list[tuple[Sequence[str], bool]] = [(touching, True)] if touching else []
            if not touching or not self.touching:
                questions += [([str(copy)], False), *((stage, False) for stage in STAGES[folder])]
            for paths, few in questions:
                asked = worker.ask(paths, limit=SLACK * SHORT if few and self.touching else limit, few=few)
                seconds += asked.seconds
                if not asked.passed and not (few and asked.unusable):
                    break
        if asked.unusable:
            raise RuntimeError(f"the tests cannot be run: {asked.failed}")
        if asked.passed:
            return Result("survived", seconds, self.commit, mutant.line, mutant.name)
        if not few and "::" in asked.failed and not worker.ask([asked.failed]).passed:
            raise RuntimeError(f"this fails without any mutant: {asked.failed}")
        outcome = "timeout" if asked.code < 0 else "killed"
        return Result(outcome, seconds, self.commit, mutant.line, mutant.name, asked.failed)

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
