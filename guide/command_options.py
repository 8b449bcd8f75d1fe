"""Commands and their options, as the program itself knows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from sfumato.cli.main import app

EVERYWHERE = {"--help", "--install-completion", "--show-completion"}


def commands() -> dict[str, typer.main.TyperCommand]:
    """Returns every command by the words that call it."""
    return dict(_below(typer.main.get_command(app), ()))


def _below(group, words: tuple[str, ...]) -> Iterator[tuple[str, typer.main.TyperCommand]]:
    for name, command in group.commands.items():
        here = (*words, name)
        if hasattr(command, "commands"):
            yield from _below(command, here)
        else:
            yield " ".join(here), command


def parameters(name: str) -> list:
    """Returns the arguments and options of a command, arguments first."""
    found = [p for p in commands()[name].params if not EVERYWHERE & set(p.opts)]
    return sorted(found, key=lambda p: p.param_type_name != "argument")


def options(name: str) -> set[str]:
    """Returns the long options of a command.

    >>> "--dry-run" in options("protect")
    True
    """
    told = {opt for p in parameters(name) if p.param_type_name == "option" for opt in _spelled(p)}
    return {opt for opt in told if opt.startswith("--")}


def options_table(name: str) -> str:
    """Returns the arguments and options of a command as a table."""
    lines = [f"### sfumato {name}", "", "| argument or option | unless said | what it is |", "|---|---|---|"]
    lines += [f"| {_call(p)} | {_default(p)} | {_sentence(p)} |" for p in parameters(name)]
    return "\n".join(lines)


def commands_table() -> str:
    """Returns every command with its first sentence, linked to its section."""
    lines = ["| command | what it does |", "|---|---|"]
    for name, command in commands().items():
        first = " ".join((command.help or "").strip().partition("\n\n")[0].split())
        lines.append(f"| [`sfumato {name}`](#sfumato-{name.replace(' ', '-')}) | {_cell(first)} |")
    return "\n".join(lines)


def _call(parameter) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
        return f"`{name}{'…' if parameter.nargs == -1 and not name.endswith('...') else ''}`"
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper().replace('_', '-')}"
    return ", ".join(f"`{opt}{value}`" for opt in _spelled(parameter))


def _spelled(parameter) -> list[str]:
    """The ways to write an option: the long one first, then the short one, then what turns a flag off."""
    return [*sorted(parameter.opts, key=len, reverse=True), *parameter.secondary_opts]


def _default(parameter) -> str:
    if parameter.required:
        return "must be said"
    default = parameter.default() if callable(parameter.default) else parameter.default
    if default is None or default is False or default in ((), []):
        shown = ""
    else:
        shown = f"`{default.as_posix() if isinstance(default, Path) else default}`"
    variable = f"the variable `{parameter.envvar}`" if getattr(parameter, "envvar", None) else ""
    return _cell(", else ".join(part for part in (variable, shown) if part))


def _sentence(parameter) -> str:
    text = parameter.help or ""
    repeats = getattr(parameter, "multiple", False) and "repeat" not in text
    return _cell(text + (" May be repeated." if repeats else ""))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
