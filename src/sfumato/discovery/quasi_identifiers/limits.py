"""How long a search may take, how many steps, and how much it may find and hold, watched from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from sfumato.core.errors import WrongCall
from sfumato.system.memory import Memory

Clock = Callable[[], float]
Stop = Literal["", "results", "deadline", "steps", "memory"]
"""Why a search ended early: not at all, by the number of sets, the seconds, the counted steps, the memory."""

LEAST_BUDGET = 1 << 33
STEPS_PER_CELL = 512
COPIES = 5
"""What was found is held so many times over while it is put in order."""
SECONDS_PER_SET = 1.5e-6
"""What was found is counted and put in order before a deadline is over: seconds of the processor for each."""
SLOWEST = 20.0
"""A busy machine is reckoned with up to so many seconds for one of the processor."""


def usual_budget(rows: int, columns: int) -> int:
    """The steps that a search gets unless told otherwise: some seconds of work, more for a large table.

    It depends on the size of the table alone, so the same table gives the same answer on every machine.

    >>> usual_budget(30_000, 15) == LEAST_BUDGET, usual_budget(6_000_000, 16)
    (True, 49152000000)
    """
    return max(LEAST_BUDGET, STEPS_PER_CELL * rows * columns)


class OutOfTime(Exception):
    """The deadline was over before something was done that is of no use by halves."""


@dataclass
class Limits:
    """Stops a search at a number of sets, after some seconds or steps, or where memory ends.

    A step is about one look at a row or at an edge. Searches count them, so that a budget ends at the same
    place on every machine; seconds do not. `None` is no limit; `stopped` says which limit was met.
    """

    max_results: int | None = None
    deadline: float | None = None
    clock: Clock = time.monotonic
    budget: int | None = None
    memory: Memory | None = None
    started: float | None = None
    busy_before: float | None = None
    stopped: Stop = field(default="", init=False)

    def __post_init__(self) -> None:
        if self.max_results is not None and self.max_results < 1:
            raise WrongCall("max_results must be at least 1")
        if self.deadline is not None and self.deadline < 0:
            raise WrongCall("deadline must be a number of seconds from now")
        if self.budget is not None and self.budget < 1:
            raise WrongCall("budget must be at least 1 step")
        if self.started is None:
            self.started = self.clock()
        if self.busy_before is None:
            self.busy_before = time.process_time()

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, `None` without a deadline."""
        if self.deadline is None or self.started is None:
            return None
        return max(0.0, self.deadline - (self.clock() - self.started))

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.remaining == 0

    def _too_late_for(self, found: int) -> bool:
        """Whether the time is needed to put so many sets in order."""
        left = self.remaining
        if left is None or self.started is None or self.busy_before is None:
            return False
        worked = max(time.process_time() - self.busy_before, 1e-3)
        slowness = min(max(1.0, (self.clock() - self.started) / worked), SLOWEST)
        return left <= found * SECONDS_PER_SET * slowness

    def check(self) -> None:
        """Raises OutOfTime if the time is up."""
        if self.late:
            raise OutOfTime

    def allow(self, found: int, steps: int = 0) -> bool:
        """Whether to go on after so many sets and so many steps."""
        if self._too_late_for(found):
            self.stopped = "deadline"
        elif self.max_results is not None and found >= self.max_results:
            self.stopped = "results"
        elif self.budget is not None and steps >= self.budget:
            self.stopped = "steps"
        else:
            return True
        return False

    def fits(self, more: int, held: int = 0) -> bool:
        """Whether so many bytes more may be taken, where `held` bytes of found sets will be put in order."""
        if self.memory is None:
            return True
        left = self.memory.left if self.memory.limit is not None else self.memory.left // 2
        if more + COPIES * held <= left:
            return True
        self.stopped = "memory"
        return False

    def part(self, share: float) -> Limits:
        """Returns limits for a part of the work: a share of the steps, and of the seconds that are left."""
        left, elapsed = self.remaining, 0.0 if self.started is None else self.clock() - self.started
        return replace(
            self,
            deadline=None if left is None else elapsed + share * left,
            budget=None if self.budget is None else max(1, int(share * self.budget)),
            max_results=None,
        )

    def until(self, share: float, *, max_results: int | None) -> Limits:
        """Returns limits that begin when these did, and end after a share of their seconds."""
        seconds = None if self.deadline is None else share * self.deadline
        return replace(self, deadline=seconds, max_results=max_results)
