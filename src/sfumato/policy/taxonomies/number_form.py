"""Forms of numbers: how cells write thousands and decimals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sfumato.core.errors import BadPolicy
from sfumato.policy.taxonomies.numbers import number

PLAIN = "1234.5"


@dataclass(frozen=True)
class NumberForm:
    """A form, named by the number 1234.5 as it writes it: `1.234,5`, `1 234,5`, `1234,5`, …

    Thousands may be marked in a cell or not; where they are, every group has three digits.

    >>> NumberForm("1.234,5").read("12.345,60"), NumberForm("1.234,5").read("12.34")
    (Decimal('12345.60'), None)
    """

    written: str = PLAIN

    def __post_init__(self) -> None:
        if self.written not in NUMBER_FORMS:
            raise BadPolicy(f"numbers are written as one of {', '.join(NUMBER_FORMS)}", where="written")

    def read(self, text: str) -> Decimal | None:
        """Returns the number that a cell holds, `None` if it holds none."""
        if self.written == PLAIN:
            return number(text)
        shape = self._shape.fullmatch(text)
        if shape is None:
            return None
        whole = "".join(filter(str.isdigit, shape["whole"]))
        return number(f"{shape['sign']}{whole}" + (f".{shape['part']}" if shape["part"] else ""))

    @cached_property
    def _shape(self) -> re.Pattern[str]:
        marks, point = NUMBER_FORMS[self.written]
        groups = rf"[0-9]{{1,3}}(?:[{marks}][0-9]{{3}})+|" if marks else ""
        return re.compile(rf"(?P<sign>[+-]?)(?P<whole>{groups}[0-9]+)(?:[{point}](?P<part>[0-9]*))?")


NUMBER_FORMS = {
    PLAIN: ("", "."),
    "1234,5": ("", ","),
    "1.234,5": (".", ","),
    "1,234.5": (",", "."),
    "1 234,5": (" \u00a0\u202f", ","),
    "1 234.5": (" \u00a0\u202f", "."),
    "1'234.5": ("'\u2019", "."),
    "1'234,5": ("'\u2019", ","),
}
"""By their name: the marks of thousands, and the decimal mark."""


def _is_whole(text: str) -> bool:
    """Whether a text has neither a mark nor a sign: every form reads it alike."""
    return text.isascii() and text.isdigit()


def form_of(texts: Iterable[str], *, decimal: str | None = None) -> NumberForm | None:
    """Returns the only form in which all texts are numbers, the plain one first; `None` where it is not told.

    A column of texts such as `1,234`, each with one comma before three digits, may be of thousands or of
    decimals: it has no form, unless somebody says what the `decimal` mark is. Texts that have a form with
    another mark alone keep it.

    >>> form_of(["1,234"]), form_of(["1,234"], decimal=","), form_of(["1.234"], decimal=",")
    (None, NumberForm(written='1234,5'), NumberForm(written='1.234,5'))
    """
    listed = list(texts)
    if not listed:
        return None
    fitting = [
        form for form in map(NumberForm, NUMBER_FORMS) if all(form.read(t) is not None for t in listed)
    ]
    if decimal is not None and not all(map(_is_whole, listed)):
        fitting = [form for form in fitting if NUMBER_FORMS[form.written][1] == decimal] or fitting
    if not fitting or fitting[0].written == PLAIN:
        return fitting[0] if fitting else None
    numbers = {tuple(form.read(text) for text in listed) for form in fitting}
    return fitting[0] if len(numbers) == 1 else None
