"""Texts and paths of a command line, read without what Typer loads to read values of other kinds.

Typer reads every value by pydantic, which takes longer to load than most commands need for parsing. A text
is what was typed, a path is the path that was typed, texts of an option that may be repeated are a list of
these, and an option that was left out has no value: nothing has to be loaded for these. Whatever else there
is, and whatever is wrong, is left to Typer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.core import TyperGroup


class PlainGroup(TyperGroup):
    """The program: it reads texts and paths itself, its own and those of all commands below it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Typer exports no type of a context here
        _read_plainly(self, ctx)
        return super().parse_args(ctx, args)


def _read_plainly(command: Any, ctx: Any) -> None:  # Typer exports no type of commands and parameters
    """Lets all parameters of a command, and of those below it, be read plainly where that is enough."""
    for parameter in command.get_params(ctx):
        if parameter.nargs == 1:
            parameter.process_value = _plain_reading(parameter, parameter.process_value)
    for below in getattr(command, "commands", {}).values():  # only groups have commands
        _read_plainly(below, ctx)


def _plain_reading(parameter: Any, by_typer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns how one parameter is read: plainly where that is enough, else by Typer."""
    described = getattr(parameter, "type_descriptor", None)  # not every version of Typer has it
    repeated = getattr(parameter, "multiple", False)  # arguments are never multiple
    left_out = () if repeated else None

    def read(ctx: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            return left_out if parameter.callback is None else parameter.callback(ctx, parameter, left_out)
        known = _are_texts(value) if repeated else _is_unicode(value)
        if described is None or parameter.callback is not None or not known:
            return by_typer(ctx, value)
        if described.annotation == list[str] and described.parameter_info.parser is None:
            return list(value)
        if described.annotation is str and described.parameter_info.parser is None:
            return value
        if described.annotation is Path and _is_plain_path(value, described.parameter_info):
            return Path(value)
        return by_typer(ctx, value)

    return read


def _is_plain_path(text: str, asked: Any) -> bool:
    """Whether nothing is asked of a path but that it can be read where it exists, and that is so."""
    more = (asked.parser, asked.exists, asked.writable, asked.resolve_path)
    if any(more) or not (asked.file_okay and asked.dir_okay):
        return False
    return not Path(text).exists() or os.access(text, os.R_OK)


def _are_texts(values: object) -> bool:
    """Whether a value is several texts in Unicode."""
    return isinstance(values, list | tuple) and all(map(_is_unicode, values))


def _is_unicode(value: object) -> bool:
    """Whether a value is a text in Unicode: bytes on a command line that are not arrive as surrogates."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
