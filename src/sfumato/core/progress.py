"""Progress: the callback by which long work reports how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives now and then the phase, how much is done, and out of how much (`None`: unknown)."""

    def __call__(self, phase: str, done: int, total: int | None = None) -> None: ...


def silent(phase: str, done: int, total: int | None = None) -> None:
    """A progress callback that does nothing."""
