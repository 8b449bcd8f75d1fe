"""A worker: its own copy of the sources, in which it makes one mutant after the other and asks the tests."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.mutant import Mutant
from mutants.recorder import VARIABLE

ELSEWHERE = "not postgresql and not spark and not peers"
"""Tests of other programs than ours are not asked."""

FEW = {"SFUMATO_HYPOTHESIS": "check"}
"""With this, tests try few random cases each."""

LONGEST = 1800.0
"""No stage may take more seconds by the clock, however busy the machine is."""


@dataclass(frozen=True)
class Asked:
    """What the tests of a stage said: how they ended, the first that failed, and their processor time."""

    code: int
    failed: str
    seconds: float

    @property
    def passed(self) -> bool:
        return self.code in (0, 5)

    @property
    def unusable(self) -> bool:
        """Whether pytest could not be asked at all: no such test, or wrong words."""
        return self.code in (3, 4)


class Stopped(Exception):
    """The run is to end: what was begun is not finished, and no process is left behind."""


STOP = threading.Event()
"""Set where a run is to end."""


class Worker:
    """A copy of the project in a folder that stays: compiled kernels are cached in it, and none is mutated.

    Nobody's work in the working tree is seen, once the copy is made, and none is touched.
    """

    def __init__(self, root: Path, folder: Path, names: Sequence[str]) -> None:
        """Copy these files of `root`; those that are equal stay, with what is cached of them."""
        self.folder = folder
        wanted = {folder / name for name in names if (root / name).is_file()}
        for file in sorted(folder.rglob("*.*"), reverse=True):
            if file.is_file() and file not in wanted and "__pycache__" not in file.parts:
                file.unlink()
        for copy in sorted(wanted):
            source = root / copy.relative_to(folder)
            if not copy.is_file() or copy.read_bytes() != source.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copy)

    def record(self, paths: Sequence[str], goal: Path) -> Asked:
        """Run these tests on the copy as it is, and write which of them run which lines."""
        return self._run(["-p", "mutants.recorder", *paths], {**FEW, VARIABLE: str(goal)}, limit=None)

    def ask(self, paths: Sequence[str], *, limit: float | None = None, few: bool = False) -> Asked:
        """Run these tests on the copy until one fails; `limit` is in seconds of processor time.

        With `few` they try few random cases each, as `make check` does.
        """
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as listed:
            listed.write("\n".join(paths))
            listed.flush()
            return self._run([f"@{listed.name}"], FEW if few else {}, limit=limit)

    def _run(self, words: Sequence[str], variables: Mapping[str, str], *, limit: float | None) -> Asked:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--tb=no", "-p", "no:cacheprovider"]
        command += ["-m", ELSEWHERE]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{self.folder / 'src'}{os.pathsep}{self.folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **variables,
        }
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
            child = subprocess.Popen(
                [*command, *words],
                cwd=self.folder,
                env=environment,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            if limit is not None:
                resource.prlimit(child.pid, resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            code, seconds = _ended(child)
            printed.seek(0)
            return Asked(code, _first_failure(printed.read()), seconds)

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[Path]:
        """Make the mutant in the copy; afterwards the file is as it was, to the time of its last change."""
        copy = self.folder / mutant.path
        source, times = copy.read_text(encoding="utf-8"), copy.stat()
        changed = mutant.applied(source)
        if changed is None:
            raise ValueError(f"cannot be made: {mutant.name}")
        copy.write_text(changed, encoding="utf-8")
        try:
            yield copy
        finally:
            copy.write_text(source, encoding="utf-8")
            os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))

    def check_home(self) -> None:
        """Raise unless tests import the copy."""
        code = "import sfumato; print(sfumato.__file__)"
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src")}
        told = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if Path(told).resolve() != (self.folder / "src" / "sfumato" / "__init__.py").resolve():
            raise RuntimeError(f"the tests would import {told}")


def _ended(child: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Wait for a process and end whatever it started; its exit code and processor time."""
    deadline, pid = time.monotonic() + LONGEST, 0
    while pid == 0:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid == 0 and (STOP.is_set() or time.monotonic() > deadline):
            os.killpg(child.pid, signal.SIGKILL)
            deadline += LONGEST
        time.sleep(0.05)
    if STOP.is_set():
        raise Stopped
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, used.ru_utime + used.ru_stime


def _first_failure(printed: str) -> str:
    """The test that failed; where none is named, the last word of what was printed."""
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
    lines = [line.replace(" ", "_") for line in printed.splitlines() if line.strip()]
    return found.group(1) if found else "".join(lines[-1:])
