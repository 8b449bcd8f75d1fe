"""A clock for compiled searches: it raises their flags when their time is up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

Flag = NDArray[np.int32]
TICK_SECONDS = 0.002


class Clock:
    """Watches deadlines from a thread of its own while it is open."""

    def __init__(self) -> None:
        self._watched: dict[int, tuple[Callable[[], float], float, Flag]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sfumato-clock", daemon=True)

    def __enter__(self) -> Clock:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def flag(self, *, until: float = float("inf"), work: float | None = None) -> Flag:
        """Returns a flag that goes up at this time (`time.monotonic`), or after so many seconds of work.

        Work is what the calling thread does from now on, whatever else the machine is busy with.
        """
        now: Callable[[], float] = time.monotonic
        if work is not None:
            now = _thread_clock()
            until = now() + work
        flag = np.zeros(1, np.int32)
        self._watched[id(flag)] = (now, until, flag)
        return flag

    def forget(self, flag: Flag) -> None:
        """Stops watching a flag: its search is over."""
        self._watched.pop(id(flag), None)

    def _run(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            for now, until, flag in list(self._watched.values()):
                with suppress(OSError):  # the thread of a forgotten flag may be gone
                    if now() >= until:
                        flag[0] = 1


def _thread_clock() -> Callable[[], float]:
    """Returns a clock of the calling thread's work that other threads can read, else of wall time."""
    # `getattr`: not every system has it.
    ask = getattr(time, "pthread_getcpuclockid", None)
    if ask is None:
        return time.monotonic
    clock = ask(threading.get_ident())
    return lambda: time.clock_gettime(clock)
