"""Interruptions and closed pipes: Typer would end the program on them by itself; here they pass through."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class CarriedError(Exception):
    """Carries its cause past Typer, which would otherwise swallow it."""


def carry_interruptions(verb: Callable[P, R]) -> Callable[P, R]:
    """Returns the same verb, whose interruptions and system errors reach `main` as the cause of an error."""

    @wraps(verb)
    def carrying(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except (KeyboardInterrupt, OSError) as error:
            raise CarriedError from error

    return carrying
