"""Text that shows everything it holds: control characters and marks that turn text around are spelled out."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

INVISIBLE = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])
"""Categories of characters that steer a terminal, change how others are read, or cannot be written."""


def visible(text: str, *, keep: str = "") -> str:
    """Returns the text with invisible characters by their numbers, but for those to `keep`.

    Not by a backslash: what draws charts would read it as the character again.

    >>> visible("ag\\x1b[31me"), visible("two\\nlines", keep="\\n")
    ('ag<U+001B>[31me', 'two\\nlines')
    """
    if text.isprintable():
        return text
    return "".join(_shown(c) if c not in keep and unicodedata.category(c) in INVISIBLE else c for c in text)


def visible_in(value: Any) -> Any:  # whatever JSON holds, and the same again
    """Returns a JSON value with every text in it visible, and every name."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(name): visible_in(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [visible_in(part) for part in value]
    return value


def escaped_json(text: str) -> str:
    """Returns a JSON text in which strings spell out what nobody sees: the same document.

    >>> escaped_json('{"a\\u202e": 1}')
    '{"a\\\\u202e": 1}'
    """
    if text.isprintable():
        return text
    return "".join(
        json.dumps(c)[1:-1] if c != "\n" and unicodedata.category(c) in INVISIBLE else c for c in text
    )


def _shown(character: str) -> str:
    return f"<U+{ord(character):04X}>"
