"""A clock that compiled searches can see: it raises their flags when their time is up."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

Flag = NDArray[np.int32]
TICK = 0.002


class Clock:
    """Watches deadlines from a thread of its own while it is open."""

    def __init__(self) -> None:
        self._watched: dict[int, tuple[float, Flag]] = {}
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

    def flag(self, deadline: float) -> Flag:
        """A flag that goes up at this time (`time.monotonic`)."""
        flag = np.zeros(1, np.int32)
        self._watched[id(flag)] = (deadline, flag)
        return flag

    def forget(self, flag: Flag) -> None:
        """The search is over."""
        self._watched.pop(id(flag), None)

    def _run(self) -> None:
        while not self._over.wait(TICK):
            now = time.monotonic()
            for deadline, flag in list(self._watched.values()):
                if now >= deadline:
                    flag[0] = 1
