"""Literals of a policy, read: labels, lists, exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sfumato.core.errors import BadPolicy
from sfumato.policy.taxonomies.numbers import number


def label(word: object) -> str:
    """Returns a label of a taxonomy; numbers keep the digits they were written with."""
    if isinstance(word, str):
        return word
    if isinstance(word, bool) or word is None:
        shown = {True: "true", False: "false", None: "null"}[word]
        raise BadPolicy(f"{shown} is no label", remedy=f'Put it in quotes: "{shown}".')
    if isinstance(word, int | Decimal):
        return str(word)
    if isinstance(word, float):
        return repr(word)
    raise BadPolicy("a label must be text")


def sequence(words: object) -> Sequence[object]:
    """Returns a list; one word stands for a list of one."""
    if isinstance(words, Sequence) and not isinstance(words, str):
        return words
    return [words]


def decimal(word: object, *, key: str) -> Decimal:
    """Returns an exact number: 5, 2.5, "2.5"; a float means the decimal it prints as.

    >>> decimal(0.3, key="width") % decimal(0.1, key="width")
    Decimal('0.0')
    """
    text = repr(word) if isinstance(word, float) else str(word)
    value = None if isinstance(word, bool) else number(text)
    if value is None:
        raise BadPolicy("must be a number such as 5 or 2.5", where=key)
    return value


def whole(word: object, *, key: str, low: int = 1) -> int:
    """Returns a whole number; raises where it is none, or below `low`."""
    value = decimal(word, key=key)
    if value != int(value) or value < low:
        raise BadPolicy(f"must be a whole number from {low}", where=key)
    return int(value)
