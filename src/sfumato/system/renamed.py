"""Names that changed, and the error that names the new word to whoever still uses the old one."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

RENAMED: dict[str, str] = tomllib.loads(files("sfumato.system").joinpath("renamed.toml").read_text("utf-8"))
"""What changed and what it became, in the order and the words of `docs/reference/renamed.md`."""


def _names(cell: str) -> set[str]:
    """The names in backticks: of `Promise.demands` the last part, of an option the name of its parameter."""
    return {
        quoted.partition("(")[0].rpartition(".")[2].removeprefix("--").replace("-", "_")
        for quoted in re.findall(r"`([^`]+)`", cell.partition(" of ")[0])
    }


def missing_name(module: str, name: str) -> str:
    """The message of an error: a module has no such name, and what the name became if it was renamed.

    >>> missing_name("sfumato.extend", "Whole")
    "module 'sfumato.extend' has no attribute 'Whole': it was renamed, `Whole` is now `IntegerParam`"
    >>> missing_name("sfumato", "nothing")
    "module 'sfumato' has no attribute 'nothing'"
    """
    message = f"module {module!r} has no attribute {name!r}"
    renamed = [f"{old} is now {new}" for old, new in RENAMED.items() if name in _names(old)]
    if not renamed:
        return message
    return f"{message}: it was renamed, {'; '.join(renamed)}"


def was_renamed(name: str) -> bool:
    """Whether the table of renamed names has this one.

    >>> was_renamed("WrongCall"), was_renamed("UsageError")
    (True, False)
    """
    return any(name in _names(old) for old in RENAMED)
