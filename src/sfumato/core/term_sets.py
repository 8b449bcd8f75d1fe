"""Term sets: what a cell of a set-valued column holds, as one text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfumato.core.taxonomy import Label

UNIT = "\x1f"
"""Joins the terms of a set in a coded column, whatever joins them in the source."""


VALUE_MARK = "="
"""Stands between the name of a column and its value where the value is a term."""


@dataclass(frozen=True)
class PartForm:
    """How one column says which term of a set a row has: 0 and 1 unless said; two other `marks`, of absence
    and presence; or its `values`, each of which is a term.

    >>> PartForm(values=True).term("blood group", "AB"), PartForm().term("fever", "1")
    ('blood group=AB', 'fever')
    """

    marks: tuple[str, str] | None = None
    values: bool = False

    def term(self, column: str, value: str) -> str:
        """The term of a row that has one."""
        return f"{column}{VALUE_MARK}{value}" if self.values else column

    def value(self, column: str, terms: Iterable[str]) -> str | None:
        """The value of a column of values in a row with these terms; `None` where its term is not there."""
        start = f"{column}{VALUE_MARK}"
        return next((term.removeprefix(start) for term in terms if term.startswith(start)), None)


@dataclass(frozen=True)
class SetForm:
    """How a source writes term sets: text with a `separator`, lists, or several columns (`parts`).

    A part is a column of 0 and 1 that stands for one term, unless `part_forms` says otherwise. Engines
    translate to and from the one text that all other code sees: the terms joined by `UNIT`.
    """

    separator: str = ";"
    parts: tuple[str, ...] = ()
    part_forms: tuple[PartForm, ...] = ()

    def form_of(self, part: str) -> PartForm:
        """How one of the parts is read."""
        return self.part_forms[self.parts.index(part)] if self.part_forms else PartForm()


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
