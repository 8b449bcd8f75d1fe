"""Numbers that prove themselves: identifiers with check digits, each by its published rule.

The rules are those of python-stdnum. Every function takes text with blanks, dots and dashes already gone and
letters in upper case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from importlib import import_module


def _rule(module: str, shape: str, **options: bool) -> Callable[[str], bool]:
    """Returns the check of a module of `stdnum`, which is loaded when a text of this shape is first met."""
    pattern = re.compile(shape, re.ASCII)

    def check(text: str) -> bool:
        if pattern.fullmatch(text) is None:
            return False
        return bool(import_module(f"stdnum.{module}").is_valid(text, **options))

    return check


luhn = _rule("luhn", r"\d+")
payment_card = _rule("luhn", r"[3-6]\d{12,18}|2(22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{9,15}")
"""13 to 19 digits of one of the large card schemes."""
iban = _rule("iban", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", check_country=False)
us_social_security = _rule("us.ssn", r"\d{9}")
"""There is no check digit, but parts that were never given out."""
uk_nhs = _rule("gb.nhs", r"(?!0{10})\d{10}")
dutch_bsn = _rule("nl.bsn", r"\d{8,9}")
italian_codice_fiscale = _rule("it.codicefiscale", r"[A-Z0-9]{16}")
french_nir = _rule("fr.nir", r"[1-478]\d{4}(\d{2}|2[AB])\d{8}")
german_tax_id = _rule("de.idnr", r"[1-9]\d{10}")
polish_pesel = _rule("pl.pesel", r"\d{11}")
_spanish_citizen = _rule("es.dni", r"\d{8}[A-Z]")
_spanish_foreigner = _rule("es.nie", r"[XYZ]\d{7}[A-Z]")


def spanish_dni(text: str) -> bool:
    """The number of a citizen, or of a foreigner."""
    return _spanish_citizen(text) or _spanish_foreigner(text)


def swedish_personnummer(text: str) -> bool:
    """Ten or twelve digits: the date of birth (60 added to the day for visitors), Luhn over the last ten.

    The rule of `stdnum` knows no visitors.
    """
    if re.fullmatch(r"(18|19|20)?\d{10}", text, re.ASCII) is None:
        return False
    century, short, day = text[:-10] or "20", text[-10:], int(text[-6:-4])
    try:
        date(int(century + short[:2]), int(short[2:4]), day - 60 if day > 60 else day)
    except ValueError:
        return False
    return luhn(short)
