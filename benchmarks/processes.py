"""Steps of a benchmark, each a process of its own that is watched while it runs; and figures beside figures.

A module with steps calls `serve(STEPS)` when it is run; `measure` runs one of them. Memory is the largest
resident set of the process, and of those it started, added up.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent.parent

Step = Callable[[Path], Mapping[str, Any]]
"""Works in a folder, and returns what it found out, JSON-ready."""


def cpu(who: int = resource.RUSAGE_SELF) -> float:
    """CPU seconds of this process, or of its children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measure(module: str, step: str, folder: Path, *, quiet: bool = False) -> dict[str, Any]:
    """Run a step: what it returned, its CPU seconds (`process`), its peak in MB, the load of the machine."""
    before = cpu(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", module, "--step", step, "--folder", str(folder)]
    complaints = subprocess.DEVNULL if quiet else None
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True, cwd=HOME)
    peaks: dict[int, int] = {}
    watcher = threading.Thread(target=_watch, args=(child, peaks))
    watcher.start()
    output, _ = child.communicate()
    watcher.join()
    if child.returncode:
        raise RuntimeError(f"step {step} failed")
    process = cpu(resource.RUSAGE_CHILDREN) - before
    told = {"process": process, "peak": sum(peaks.values()) / 1e6, "load": os.getloadavg()[0]}
    return told | json.loads(output.splitlines()[-1])


def serve(steps: Mapping[str, Step]) -> None:
    """Run the step that `measure` asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", choices=steps, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    print(json.dumps(steps[given.step](given.folder)))


def status(name: str, process: int | str = "self") -> int:
    """A line of a process's status that tells memory, such as VmHWM, its largest resident set, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 0)


def forget_peak() -> None:
    """Let the largest resident set of this process begin anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def row(name: str, ours: float, theirs: float, goal: float | None) -> dict[str, Any]:
    """A figure beside another, and whether their ratio is within the goal."""
    ratio = ours / theirs
    ok = None if goal is None else ratio <= goal
    figures = {"ours": round(ours, 2), "theirs": round(theirs, 2), "ratio": round(ratio, 2)}
    return {"name": name, **figures, "goal": goal, "ok": ok}


def _watch(child: subprocess.Popen[str], peaks: dict[int, int]) -> None:
    while child.poll() is None:
        for process in _family(child.pid):
            try:
                peaks[process] = max(peaks.get(process, 0), status("VmHWM", process))
            except OSError:
                continue
        time.sleep(0.02)


def _family(process: int) -> list[int]:
    """A process and all below it."""
    try:
        below = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except OSError:
        below = []
    return [process, *(one for child in below for one in _family(int(child)))]
