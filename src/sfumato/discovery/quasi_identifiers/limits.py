"""How long a search may take, how many steps, and how much it may find, watched from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sfumato.core.errors import WrongCall

Clock = Callable[[], float]

LEAST_BUDGET = 1 << 33
STEPS_PER_CELL = 512


def usual_budget(rows: int, columns: int) -> int:
    """The steps that a search gets unless told otherwise: some seconds of work, more for a large table.

    It depends on the size of the table alone, so the same table gives the same answer on every machine.

    >>> usual_budget(30_000, 15) == LEAST_BUDGET, usual_budget(6_000_000, 16)
    (True, 49152000000)
    """
    return max(LEAST_BUDGET, STEPS_PER_CELL * rows * columns)


@dataclass
class Limits:
    """Stops a search at a number of sets, after some seconds or some steps; `None` is no limit.

    A step is about one look at a row or at an edge. Searches count them, so that a budget ends at the same
    place on every machine; seconds do not.
    """

    max_results: int | None = None
    deadline: float | None = None
    clock: Clock = time.monotonic
    budget: int | None = None
    started: float = field(init=False)

    def __post_init__(self) -> None:
        if self.max_results is not None and self.max_results < 1:
            raise WrongCall("max_results must be at least 1")
        if self.deadline is not None and self.deadline < 0:
            raise WrongCall("deadline must be a number of seconds from now")
        if self.budget is not None and self.budget < 1:
            raise WrongCall("budget must be at least 1 step")
        self.started = self.clock()

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and self.clock() - self.started >= self.deadline

    def allow(self, found: int, steps: int = 0) -> bool:
        """Whether to go on after so many sets and so many steps."""
        enough = self.max_results is not None and found >= self.max_results
        spent = self.budget is not None and steps >= self.budget
        return not (self.late or enough or spent)
