"""How long a search may take and how much it may find, watched from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sfumato.core.errors import WrongCall

Clock = Callable[[], float]


@dataclass
class Limits:
    """Stops a search at a number of sets or after some seconds; `None` is no limit."""

    max_results: int | None = None
    deadline: float | None = None
    clock: Clock = time.monotonic
    started: float = field(init=False)

    def __post_init__(self) -> None:
        if self.max_results is not None and self.max_results < 1:
            raise WrongCall("max_results must be at least 1")
        if self.deadline is not None and self.deadline < 0:
            raise WrongCall("deadline must be a number of seconds from now")
        self.started = self.clock()

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and self.clock() - self.started >= self.deadline

    def allow(self, found: int) -> bool:
        """Whether to go on after so many sets."""
        return not self.late and (self.max_results is None or found < self.max_results)
