"""Numbers that prove themselves: identifiers with check digits, each by its published rule.

Every function takes text with blanks, dots and dashes already gone and letters in upper case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date

_ALNUM = {c: i for i, c in enumerate("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")}


def luhn(digits: str) -> bool:
    """ISO/IEC 7812: every second digit from the right doubled, the sum of all digits ends in 0.

    >>> luhn("79927398713"), luhn("79927398710")
    (True, False)
    """
    doubled = sum(sum(divmod(2 * int(d), 10)) for d in digits[-2::-2])
    return (doubled + sum(map(int, digits[-1::-2]))) % 10 == 0


def payment_card(text: str) -> bool:
    """13 to 19 digits of one of the large card schemes, Luhn."""
    if not _fits(r"[2-6]\d{12,18}", text) or not luhn(text):
        return False
    return text[0] != "2" or 2221 <= int(text[:4]) <= 2720


def iban(text: str) -> bool:
    """ISO 13616: country, two check digits, account; the whole, turned around, leaves 1 by 97."""
    if not _fits(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(_ALNUM[c]) for c in text[4:] + text[:4])) % 97 == 1


def us_social_security(text: str) -> bool:
    """Nine digits; no check digit, but parts that were never given out."""
    if not _fits(r"\d{9}", text):
        return False
    area = text[:3]
    return area not in ("000", "666") and area[0] != "9" and text[3:5] != "00" and text[5:] != "0000"


def uk_nhs(text: str) -> bool:
    """Ten digits, weights 10 to 2, the check digit makes the sum divisible by 11."""
    return _fits(r"\d{10}", text) and _weighted(text, range(10, 0, -1)) % 11 == 0 and text != "0" * 10


def spanish_dni(text: str) -> bool:
    """Eight digits (X, Y or Z stands for the first of foreigners) and a letter by the remainder of 23."""
    if not _fits(r"[XYZ\d]\d{7}[A-Z]", text):
        return False
    number = int(str("XYZ".find(text[0])) + text[1:8] if text[0] in "XYZ" else text[:8])
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == text[8]


def dutch_bsn(text: str) -> bool:
    """Eight or nine digits, weights 9 to 2 and -1: the sum is divisible by 11."""
    if not _fits(r"\d{8,9}", text) or not int(text):
        return False
    return _weighted(text.zfill(9), (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


_ODD_DIGITS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_ODD_LETTERS = (*_ODD_DIGITS, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ODD = dict(zip(_ALNUM, _ODD_DIGITS + _ODD_LETTERS, strict=True))


def italian_codice_fiscale(text: str) -> bool:
    """Sixteen characters; two tables for odd and even places, the sum by 26 is the last letter."""
    digit = "[0-9LMNPQRSTUV]"
    if not _fits(f"[A-Z]{{6}}{digit}{{2}}[ABCDEHLMPRST]{digit}{{2}}[A-Z]{digit}{{3}}[A-Z]", text):
        return False
    odd = sum(_ODD[c] for c in text[0:15:2])
    even = sum(int(c) if c.isdigit() else ord(c) - 65 for c in text[1:15:2])
    return chr(65 + (odd + even) % 26) == text[15]


def french_nir(text: str) -> bool:
    """Thirteen digits (2A and 2B for Corsica) and a key: 97 less the remainder by 97."""
    if not _fits(r"[1-478]\d{2}\d{2}(\d{2}|2[AB])\d{6}\d{2}", text):
        return False
    body = text[:13].replace("2A", "19").replace("2B", "18")
    return 97 - int(body) % 97 == int(text[13:])


def german_tax_id(text: str) -> bool:
    """Eleven digits, ISO 7064 (11, 10); in the first ten one digit occurs twice or three times, no other."""
    if not _fits(r"[1-9]\d{10}", text):
        return False
    often = [n for n in Counter(text[:10]).values() if n > 1]
    if len(often) != 1 or often[0] > 3:
        return False
    product = 10
    for d in text[:10]:
        product = (((int(d) + product) % 10 or 10) * 2) % 11
    return (11 - product) % 10 == int(text[10])


def polish_pesel(text: str) -> bool:
    """Eleven digits: the date of birth with the century in the month, weights 1, 3, 7, 9."""
    if not _fits(r"\d{11}", text) or _weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10:
        return False
    century, month = divmod(int(text[2:4]), 20)
    return _is_day((1900, 2000, 2100, 2200, 1800)[century] + int(text[:2]), month, int(text[4:6]))


def swedish_personnummer(text: str) -> bool:
    """Ten or twelve digits: the date of birth (60 added to the day for visitors), Luhn over the last ten."""
    if not _fits(r"(18|19|20)?\d{10}", text):
        return False
    short = text[-10:]
    century = text[:-10] or "20"
    day = int(short[4:6])
    born = _is_day(int(century + short[:2]), int(short[2:4]), day - 60 if day > 60 else day)
    return born and luhn(short)


def _fits(shape: str, text: str) -> bool:
    return re.fullmatch(shape, text, re.ASCII) is not None


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(w * int(d) for w, d in zip(weights, digits, strict=True))


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
