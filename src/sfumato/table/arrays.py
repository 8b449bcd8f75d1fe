"""Arrays as short texts, for documents that are JSON."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from math import gcd
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadPolicy

Number = TypeVar("Number", bound=np.generic)


def packed(array: NDArray[np.generic]) -> str:
    """The bytes of an array, little end first, compressed, as text.

    >>> unpacked(packed(np.array([3, 1, 4])), np.int64).tolist()
    [3, 1, 4]
    """
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii")


def unpacked(text: str, dtype: type[Number]) -> NDArray[Number]:
    """The array that `packed` wrote, flat; raises `ValueError` if the text is damaged."""
    try:
        raw = zlib.decompress(base64.b64decode(text, validate=True))
    except (zlib.error, binascii.Error):
        raise ValueError("not a packed array") from None
    return np.frombuffer(raw, dtype=np.dtype(dtype).newbyteorder("<")).astype(dtype)


# Numbers as people write them, kept exactly, and comparisons that never round.

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?")
MOST_BITS = 512
"""Bits of a numerator or denominator; more is no threshold that a person would write."""

_RATIO = re.compile(r"[+-]?\d{1,30}\s*/\s*\d{1,30}")


def fraction(value: object, *, key: str = "the value") -> Fraction:
    """The exact number that a person wrote; a float means the decimal it prints as.

    >>> fraction("1/5") == fraction("20%") == fraction("0.2") == fraction(0.2) == Fraction(1, 5)
    True
    """
    read = _read(value)
    if read is None:
        raise BadPolicy(f"{key} must be a number such as 1/5, 20% or 0.2", where=key)
    return read


def _read(value: object) -> Fraction | None:
    if isinstance(value, int | Fraction):
        longest = max(value.numerator.bit_length(), value.denominator.bit_length())
        return None if isinstance(value, bool) or longest > MOST_BITS else Fraction(value)
    if isinstance(value, float):
        value = repr(float(value))
    text = str(value).strip() if isinstance(value, str | Decimal) else ""
    if text.endswith("%"):
        share = _read(text[:-1])
        return None if share is None else share / 100
    if _RATIO.fullmatch(text):
        above, below = (int(part) for part in text.split("/"))
        return Fraction(above, below) if below else None
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def written(number: Fraction) -> int | str:
    """A fraction as a policy file has it: a whole number, or `above/below`.

    >>> written(Fraction(3)), written(Fraction(1, 5))
    (3, '1/5')
    """
    return int(number) if number.denominator == 1 else f"{number.numerator}/{number.denominator}"


def sign_of_logs(terms: Iterable[tuple[int, int]]) -> int:
    """The sign of the sum of e * log(b) over pairs (b, e) with b >= 1, exactly: -1, 0 or 1.

    Powers of pairwise coprime bases cancel only if every exponent is 0, which decides equality. What is
    not equal is told apart by logarithms of growing precision. The powers are never multiplied out.

    >>> sign_of_logs([(8, 8), (4, -8), (4, -4)])  # 8**8 against 4**8 * 4**4
    0
    >>> sign_of_logs([(3, 2**62), (2, -(2**62))])
    1
    """
    powers = [(base, power) for base, power in coprime(terms).items() if power]
    digits = 40
    while powers:
        context = Context(prec=digits)
        logs = [context.multiply(Decimal(e), context.ln(Decimal(b))) for b, e in powers]
        total = _sum(logs, context)
        size = _sum([abs(x) for x in logs], context)
        if abs(total) > size * (len(logs) + 4) * Decimal(10) ** (2 - digits):
            return 1 if total > 0 else -1
        digits *= 2
    return 0


def _sum(numbers: list[Decimal], context: Context) -> Decimal:
    total = Decimal(0)
    for number in numbers:
        total = context.add(total, number)
    return total


def coprime(terms: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The same product of powers, over bases of which no two share a factor.

    >>> coprime([(12, 1), (18, -1)])
    {2: 1, 3: -1}
    """
    powers: dict[int, int] = {}
    waiting = list(terms)
    while waiting:
        base, power = waiting.pop()
        if base == 1:
            continue
        related = next((b for b in powers if gcd(b, base) > 1), None)
        if related is None:
            powers[base] = power
            continue
        shared, before = gcd(related, base), powers.pop(related)
        waiting += [(shared, power + before), (base // shared, power), (related // shared, before)]
    return dict(sorted(powers.items()))
