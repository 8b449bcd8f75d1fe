"""How long a search may take, how much it may find and hold, watched from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from sfumato.core.errors import WrongCall
from sfumato.system.memory import Memory

Clock = Callable[[], float]
Stop = Literal["", "results", "deadline", "steps", "memory"]
"""Why a search ended before its end: nothing, a number of sets, seconds, counted steps, memory."""

MOST_STEPS = 1 << 35
"""Steps after which a search without a deadline ends: some minutes. Counted, so that every run ends alike."""
HELD_TWICE = 5
"""What was found is held so many times over while it is put in order."""


@dataclass
class Limits:
    """Stops a search at a number of sets, after some seconds or steps, or where memory ends.

    Steps end a search only where no deadline was asked for. `stopped` says which
    limit was met; `None` is no limit.
    """

    max_results: int | None = None
    deadline: float | None = None
    clock: Clock = time.monotonic
    memory: Memory | None = None
    most_steps: int = MOST_STEPS
    started: float | None = None
    stopped: Stop = field(default="", init=False)

    def __post_init__(self) -> None:
        if self.max_results is not None and self.max_results < 1:
            raise WrongCall("max_results must be at least 1")
        if self.deadline is not None and self.deadline < 0:
            raise WrongCall("deadline must be a number of seconds from now")
        if self.most_steps < 1:
            raise WrongCall("a search takes at least one step")
        if self.started is None:
            self.started = self.clock()

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and self.clock() - (self.started or 0.0) >= self.deadline

    def allow(self, found: int, steps: int = 0) -> bool:
        """Whether to go on after so many sets, and so many steps."""
        if self.late:
            self.stopped = "deadline"
        elif self.max_results is not None and found >= self.max_results:
            self.stopped = "results"
        elif self.deadline is None and steps >= self.most_steps:
            self.stopped = "steps"
        else:
            return True
        return False

    def fits(self, more: int, held: int = 0) -> bool:
        """Whether so many bytes more may be taken, where `held` bytes of found sets will be put in order."""
        if self.memory is None:
            return True
        left = self.memory.left if self.memory.limit is not None else self.memory.left // 2
        if more + HELD_TWICE * held <= left:
            return True
        self.stopped = "memory"
        return False

    def until(self, share: float, *, max_results: int | None) -> Limits:
        """Returns limits that begin when these did, and end after a share of their seconds."""
        seconds = None if self.deadline is None else share * self.deadline
        return replace(self, deadline=seconds, max_results=max_results)
