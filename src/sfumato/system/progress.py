"""Progress: the callback by which long work reports how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Receives now and then the phase, how much is done, and out of how much.

    `total` may be an estimate that later calls correct, and `None` where nobody can tell. A phase ends with a
    call in which everything is done.
    """

    def __call__(self, phase: str, done: int, total: int | None = None) -> None: ...


def silent(phase: str, done: int, total: int | None = None) -> None:
    """A progress callback that does nothing."""


@contextmanager
def one_step(progress: Progress, phase: str) -> Iterator[None]:
    """Reports the begin and the end of a phase that cannot be looked into."""
    progress(phase, 0, 1)
    yield
    progress(phase, 1, 1)
