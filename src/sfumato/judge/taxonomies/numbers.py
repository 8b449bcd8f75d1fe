"""Numbers as cells and policies write them, read exactly as fractions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

LONGEST = 60
"""A number has at most so many characters, and at most so many digits before or behind the point."""

_PARTS = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]{1,3}))?")


def number(text: str) -> Fraction | None:
    """Returns the number that a text writes, `None` where it writes none.

    >>> number("007"), number("-2.50"), number("1e3"), number("1_000"), number("."), number("inf")
    (Fraction(7, 1), Fraction(-5, 2), Fraction(1000, 1), None, None, None)
    """
    parts = _PARTS.fullmatch(text) if len(text) <= LONGEST and text.isascii() else None
    if parts is None or not (parts[2] or parts[3]):
        return None
    digits = (parts[2] + parts[3]).lstrip("0")
    exponent = int(parts[4] or 0) - len(parts[3])
    if not digits:
        return Fraction(0)
    if not -LONGEST < len(digits) - 1 + exponent < LONGEST:
        return None
    return Fraction(int(parts[1] + digits)) * Fraction(10) ** exponent


def written_number(text: str, form: str | None) -> Fraction | None:
    """Returns the number that a text writes in a form, which is named by 1234.5 as it writes it.

    >>> written_number("12.345,5", "1.234,5"), written_number("1.5", "1.234,5"), written_number("1.5", None)
    (Fraction(24691, 2), None, Fraction(3, 2))
    """
    if form is None:
        return number(text)
    if form[0] == "¤":
        amount = _amount(text)
        basic = form[1:]
        return None if amount is None else written_number(amount, None if basic == "1234.5" else basic)
    point = form[-2]
    between = form[1] if len(form) > len("1234.5") else ""
    body = text[1:] if text[:1] in ("+", "-") else text
    before, found, behind = body.partition(point)
    groups = [before]
    for mark in _ALIKE.get(between, between):
        groups = [piece for group in groups for piece in group.split(mark)]
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and all(len(piece) == 3 for piece in groups[1:])):
        return None
    digits = "".join(groups)
    if (
        not digits.isascii()
        or not digits.isdecimal()
        or (behind and not (behind.isascii() and behind.isdecimal()))
    ):
        return None
    sign = text.removesuffix(body)
    return number(f"{sign}{digits}.{behind}" if found and behind else f"{sign}{digits}")


_CURRENCIES = """
    R$ US$ C$ A$ $ € £ ¥ ₹ ₽ ₩ ₺ ₪ ₫ ₴ ₦ ฿ EUR USD GBP CHF JPY CNY SEK NOK DKK PLN CZK HUF RON CAD AUD NZD INR
    BRL MXN TRY ZAR Fr. Fr kr. kr zł Kč Ft Euro euro
"""
_CURRENCY = "|".join(map(re.escape, _CURRENCIES.split()))
_GAPS = r"[ \u00a0\u202f]*"
_MONEY = re.compile(
    rf"(?P<sign>[+-]?){_GAPS}(?P<front>{_CURRENCY})?{_GAPS}(?P<inner>[+-]?)"
    rf"(?P<number>[0-9.](?:.*?[0-9.,])??){_GAPS}(?P<back>{_CURRENCY})?{_GAPS}"
)
LONGEST_AMOUNT = 100
"""A sum of money has at most so many characters."""


def _amount(text: str) -> str | None:
    """Returns the number in a sum of money, with one sign at most and a currency at one end, or nowhere."""
    if len(text) > LONGEST_AMOUNT:
        return None
    bracketed = len(text) > 1 and text[0] + text[-1] == "()"
    found = _MONEY.fullmatch(text[1:-1] if bracketed else text)
    if found is None or (found["front"] and found["back"]):
        return None
    signs = "-" * bracketed + found["sign"] + found["inner"]
    return None if len(signs) > 1 else signs + found["number"]


_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}
"""Marks between thousands that mean the same."""


def number_text(value: Fraction) -> str:
    """Returns a number with finitely many decimals, without exponent and without idle zeros.

    >>> number_text(Fraction(5, 2)), number_text(Fraction(100)), number_text(Fraction(-1, 8))
    ('2.5', '100', '-0.125')
    """
    places = 0
    while (value * 10**places).denominator > 1:
        places += 1
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    whole, rest = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if value < 0 else ''}{whole}{'.' if rest else ''}{rest}"


def in_order(texts: Iterable[str]) -> list[str]:
    """Returns texts by the size of their numbers if all are numbers, else by their characters.

    >>> in_order(["10", "9"]), in_order(["10", "9", "x"])
    (['9', '10'], ['10', '9', 'x'])
    """
    sized = [(number(text), text) for text in texts]
    if any(size is None for size, _ in sized):
        return sorted(text for _, text in sized)
    return [text for _, text in sorted((size or Fraction(0), text) for size, text in sized)]
