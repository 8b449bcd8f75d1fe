"""Typer ends by itself on interruptions and closed pipes; here they pass through it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Through(Exception):
    """Carries its cause past Typer."""


def through(verb: Callable[P, R]) -> Callable[P, R]:
    """The same verb; what Typer would swallow is carried."""

    @wraps(verb)
    def carried(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except (KeyboardInterrupt, OSError) as error:
            raise Through from error

    return carried
