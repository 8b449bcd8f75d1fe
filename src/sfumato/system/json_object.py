"""JSON objects: their types, and how documents that come from outside are read."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

JsonObject = dict[str, Any]
"""A JSON object that is being made. `Any`: whoever reads a document checks what is taken from it."""

JsonMapping = Mapping[str, Any]
"""A JSON object that is only read."""


def read_json(content: str | bytes) -> Any:  # whatever JSON may hold: whoever asks checks it
    """Returns what a JSON document holds; raises `ValueError` for everything that is none.

    Refused as well: nesting that no document of ours has, names that come twice in an object, numbers that
    are none or beyond every float, and halves of characters, which can be neither printed nor signed.

    >>> read_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    try:
        document = json.loads(
            text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_without_repetition
        )
        if "\\u" in text or not text.isascii():
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return document


def document_bytes(document: JsonMapping) -> bytes:
    """Returns the bytes of a JSON file that people may open: indented, in UTF-8, with a line end."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _without_repetition(pairs: list[tuple[str, Any]]) -> JsonObject:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("a name comes twice")
    return names


# Promises in plain words, for people who never read a paper.


class InPlainWords:
    """What a promise means, and what it leaves open, in sentences for whoever has to sign for it.

    A definition says both as class variables; a parameter that a policy always names may stand in braces.
    """

    plain: ClassVar[str] = ""
    """One sentence: what holds of everybody in the table where it is kept."""
    silent_on: ClassVar[str] = ""
    """One sentence: what may happen although it is kept."""

    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """Returns its parameters as a policy holds them."""

    def in_words(self) -> str:
        """Returns the plain sentence with its parameters; without one, the promise as it calls itself."""
        return self.plain.format_map(self.parameters()) if self.plain else str(self)
