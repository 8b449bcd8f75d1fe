"""Term sets: what a cell of a set-valued column holds, as one text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfumato.core.taxonomy import Label

UNIT = "\x1f"
"""Joins the terms of a set in a coded column, whatever joins them in the source."""


@dataclass(frozen=True)
class SetForm:
    """How a source writes term sets: text with a `separator`, lists, or one 0/1 column per term (`parts`).

    Engines translate to and from the one text that all other code sees: the terms joined by `UNIT`.
    """

    separator: str = ";"
    parts: tuple[str, ...] = ()


def terms_of(text: Label) -> tuple[str, ...]:
    """The terms of a set, each once, in the order in which they stand; nothing between two marks is no term.

    >>> terms_of("fever\x1fcough\x1f\x1ffever"), terms_of(""), terms_of(None)
    (('fever', 'cough'), (), ())
    """
    return tuple(dict.fromkeys(term for term in (text or "").split(UNIT) if term))


def text_of(terms: Iterable[str]) -> str:
    """The text of a set."""
    return UNIT.join(terms)


def shortened(text: Label, gone: Sequence[str]) -> Label:
    """The set without some of its terms; untouched where none is gone, missing where nothing is left.

    >>> shortened("fever\x1fcough", ["fever"]), shortened("fever", ["fever"])
    ('cough', None)
    """
    if not gone:
        return text
    left = [term for term in terms_of(text) if term not in set(gone)]
    return text_of(left) if left else None
