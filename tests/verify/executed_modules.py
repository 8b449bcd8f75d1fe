"""Which of our modules run while the judge does: recorded call by call, in every thread."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager

ALLOWED = ("sfumato.verify", "sfumato.system")
"""What the house allows the judge, and what is below it."""
MODELS = "sfumato.models"
"""Where the models are: in each, the module `judge` alone is the judge's; `__init__` of a room runs first."""


class Recorder:
    """`inside`: the modules of ours that ran while a function of the judge was being called.

    `functions`: which functions of them did, by module and name.
    """

    def __init__(self):
        self.inside, self.functions = set(), set()
        self._local = threading.local()

    def __call__(self, frame, event, _):
        if event not in ("call", "return"):
            return
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] != "sfumato":
            return
        depth = getattr(self._local, "depth", 0)
        judges = is_of_judge(name)
        if event == "return":
            self._local.depth = depth - judges
            return
        self._local.depth = depth + judges
        if depth or judges:
            self.inside.add(name)
            self.functions.add(f"{name}.{frame.f_code.co_qualname}")

    @property
    def foreign(self):
        """What ran there and must not."""
        return {name for name in self.inside if not is_allowed(name)}


def is_of_judge(name):
    """Whether a module is the judge's own: what every judge stands on, or the judge of a model."""
    judges_a_model = is_below(name, MODELS) and name.count(".") == 3 and name.endswith(".judge")
    return is_below(name, "sfumato.verify") or judges_a_model


def is_allowed(name):
    """Whether a module may run while the judge does."""
    opens_a_room = is_below(name, MODELS) and hasattr(sys.modules[name], "__path__")
    return opens_a_room or is_of_judge(name) or any(is_below(name, room) for room in ALLOWED)


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
