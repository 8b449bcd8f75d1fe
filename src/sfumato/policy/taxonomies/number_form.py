"""Forms of numbers: how cells write thousands, decimals and sums of money."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sfumato.core.errors import BadPolicy
from sfumato.policy.taxonomies.numbers import number

PLAIN = "1234.5"
MONEY = "¤"
"""Before the name of a form: its numbers may bear a currency, and brackets where they are negative."""
_CURRENCIES = """
    R$ US$ C$ A$ $ € £ ¥ ₹ ₽ ₩ ₺ ₪ ₫ ₴ ₦ ฿ EUR USD GBP CHF JPY CNY SEK NOK DKK PLN CZK HUF RON CAD AUD NZD INR
    BRL MXN TRY ZAR Fr. Fr kr. kr zł Kč Ft Euro euro
"""
CURRENCIES = tuple(_CURRENCIES.split())
LONGEST_AMOUNT = 100
"""A sum of money has at most so many characters."""
_GAPS = " \u00a0\u202f"


@dataclass(frozen=True)
class NumberForm:
    """A form, named by the number 1234.5 as it writes it: `1.234,5`, `1 234,5`, `1234,5`, …

    Thousands may be marked in a cell or not; where they are, every group has three digits. Sums of money are
    in a form that begins with `¤`: with or without a currency at one end, negative in brackets or by a sign.

    >>> NumberForm("1.234,5").read("12.345,60"), NumberForm("1.234,5").read("12.34")
    (Decimal('12345.60'), None)
    >>> NumberForm("¤1,234.5").read("$1,234.50"), NumberForm("¤1,234.5").read("($5)")
    (Decimal('1234.50'), Decimal('-5'))
    """

    written: str = PLAIN

    def __post_init__(self) -> None:
        if self.written not in NUMBER_FORMS:
            raise BadPolicy(f"numbers are written as one of {', '.join(NUMBER_FORMS)}", where="written")

    def read(self, text: str) -> Decimal | None:
        """Returns the number that a cell holds, `None` if it holds none."""
        if self.written.startswith(MONEY):
            bare = without_currency(text)[0]
            return None if bare is None else NumberForm(self.written.removeprefix(MONEY)).read(bare)
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


def without_currency(text: str) -> tuple[str | None, str]:
    """Returns the number in a sum of money, with a sign if it is negative, and its currency, if it has one.

    No number where two signs or currencies stand in a text.

    >>> without_currency("-€ 5"), without_currency("(1 234,50 €)"), without_currency("$5 $")
    (('-5', '€'), ('-1 234,50', '€'), (None, ''))
    """
    if len(text) > LONGEST_AMOUNT:
        return None, ""
    inside = text[1:-1] if text[:1] == "(" and text[-1:] == ")" else text
    signs = ["-"] if inside != text else []
    before = inside[:1] if inside[:1] in ("+", "-") else ""
    body = inside.removeprefix(before).strip(_GAPS)
    front = next((one for one in CURRENCIES if body.startswith(one)), "")
    back = next((one for one in CURRENCIES if body.endswith(one)), "")
    bare = body.removeprefix(front) if front else body.removesuffix(back)
    bare = bare.strip(_GAPS)
    within = bare[:1] if bare[:1] in ("+", "-") else ""
    signs += [sign for sign in (before, within) if sign]
    if (front and back) or len(signs) > 1:
        return None, ""
    return "".join(signs) + bare.removeprefix(within), front or back


def bears_money(text: str) -> bool:
    """Whether a number has a currency beside it, or stands in brackets.

    >>> [bears_money(text) for text in ("$5", "(5)", " 5", "-5")]
    [True, True, False, False]
    """
    return text.startswith("(") or bool(without_currency(text)[1])


_BASIC = {
    PLAIN: ("", "."),
    "1234,5": ("", ","),
    "1.234,5": (".", ","),
    "1,234.5": (",", "."),
    "1 234,5": (" \u00a0\u202f", ","),
    "1 234.5": (" \u00a0\u202f", "."),
    "1'234.5": ("'\u2019", "."),
    "1'234,5": ("'\u2019", ","),
}
NUMBER_FORMS = {**_BASIC, **{f"{MONEY}{name}": marks for name, marks in _BASIC.items()}}
"""By their name: the marks of thousands, and the decimal mark."""


def _is_whole(text: str) -> bool:
    """Whether a text has neither a mark nor a sign: every form reads it alike."""
    return text.isascii() and text.isdigit()


def form_of(texts: Iterable[str], *, decimal: str | None = None) -> NumberForm | None:
    """Returns the only form in which all texts are numbers, the plain one first; `None` where it is not told.

    A column of texts such as `1,234`, each with one comma before three digits, may be of thousands or of
    decimals: it has no form, unless somebody says what the `decimal` mark is. Texts that have a form with
    another mark alone keep it. Sums of money have a form where all have the same currency, or none.

    >>> form_of(["1,234"]), form_of(["1,234"], decimal=","), form_of(["1.234"], decimal=",")
    (None, NumberForm(written='1234,5'), NumberForm(written='1.234,5'))
    """
    listed = list(texts)
    found = _basic_form_of(listed, decimal)
    if found is not None:
        return found
    amounts = _amounts(listed)
    found = None if amounts is None or amounts == listed else _basic_form_of(amounts, decimal)
    return None if found is None else NumberForm(MONEY + found.written)


def _basic_form_of(listed: Sequence[str], decimal: str | None) -> NumberForm | None:
    """Returns the only form without money in which all texts are numbers."""
    if not listed:
        return None
    basic = [NumberForm(name) for name in _BASIC]
    fitting = [form for form in basic if all(form.read(t) is not None for t in listed)]
    if decimal is not None and not all(map(_is_whole, listed)):
        fitting = [form for form in fitting if NUMBER_FORMS[form.written][1] == decimal] or fitting
    if not fitting or fitting[0].written == PLAIN:
        return fitting[0] if fitting else None
    numbers = {tuple(form.read(text) for text in listed) for form in fitting}
    return fitting[0] if len(numbers) == 1 else None


def _amounts(listed: Sequence[str]) -> list[str] | None:
    """Returns sums of money without their currency, `None` where they have several, or a text is none."""
    bare, currencies = [], set[str]()
    for text in listed:
        amount, currency = without_currency(text)
        if amount is None or not any(map(str.isdigit, amount)) or any(map(str.isalpha, amount)):
            return None
        bare.append(amount)
        currencies |= {currency} if currency else set()
    return bare if len(currencies) <= 1 else None
