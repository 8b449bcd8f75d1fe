"""Which of our modules run while the judge does: recorded call by call, in every thread."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager

ALLOWED = (
    "sfumato.judge",
    "sfumato.system",
    "sfumato.system.errors",
    "sfumato.system.verdict",
    "sfumato.system.progress",
)
"""What the house allows the judge, and what is below it."""


class Recorder:
    """`inside`: the modules of ours that ran while a function of the judge was being called."""

    def __init__(self):
        self.inside = set()
        self._local = threading.local()

    def __call__(self, frame, event, _):
        if event not in ("call", "return"):
            return
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] != "sfumato":
            return
        depth = getattr(self._local, "depth", 0)
        judges = is_below(name, "sfumato.judge")
        if event == "return":
            self._local.depth = depth - judges
            return
        self._local.depth = depth + judges
        if depth or judges:
            self.inside.add(name)

    @property
    def foreign(self):
        """What ran there and must not."""
        return {name for name in self.inside if not any(is_below(name, room) for room in ALLOWED)}


def is_below(name, room):
    return name == room or name.startswith(f"{room}.")


@contextmanager
def recorded():
    """Record until the end of the block."""
    recorder, before = Recorder(), sys.getprofile()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
