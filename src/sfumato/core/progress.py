"""How long work reports on itself."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told now and then: the phase, how much is done, out of how much (`None`: unknown)."""

    def __call__(self, phase: str, done: int, total: int | None = None) -> None: ...


def silent(phase: str, done: int, total: int | None = None) -> None:
    """Progress nobody listens to."""
