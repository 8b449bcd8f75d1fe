"""The kinds of direct identifiers: how a cell of each looks, and what its column is often called."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address

from sfumato.discovery.identifiers import check_digits as digits

Test = Callable[[str], bool]
_SEPARATORS = str.maketrans("", "", " .-/ ")


@dataclass(frozen=True)
class Kind:
    """A kind of identifier.

    `test` looks at one cell. `chance` is how often a cell of the right shape passes by accident: many
    different cells that pass leave no room for it. `named` are words of column names; a kind that
    `needs_name` has too common a shape to be told from other numbers without one.
    """

    name: str
    phrase: str
    test: Test
    chance: float
    named: frozenset[str] = frozenset()
    needs_name: bool = False
    person: bool = False
    """Whether a value stands for one person wherever it occurs."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _matches(shape: str) -> Test:
    pattern = re.compile(shape, re.ASCII)
    return lambda text: pattern.fullmatch(text) is not None


def _compact(check: Test) -> Test:
    return lambda text: len(text) <= 48 and check(text.translate(_SEPARATORS).upper())


def _ip(text: str) -> bool:
    if not 2 <= len(text) <= 45 or (text.count(".") != 3 and ":" not in text):
        return False
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


EMAIL = r"[A-Za-z0-9._%+'-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.[A-Za-z]{2,24}"
URL = r"(?:https?|ftp)://[^\s/?#]{1,253}\S*"
_GAP = r"[ ./-]"
_PHONE = re.compile(rf"(\+|00)?(\(?\d{{1,5}}\)?{_GAP}?){{2,6}}\d{{2,6}}", re.ASCII)
_ABROAD = rf"\+\d{{1,3}}{_GAP}?(\(?\d{{1,5}}\)?{_GAP}?){{1,6}}\d{{2,6}}"
_STRONG_PHONE = re.compile(rf"{_ABROAD}|(\(\d{{3}}\) ?|\d{{3}}[.-])\d{{3}}[.-]\d{{4}}", re.ASCII)
_PAIR = re.compile(r"\(?(-?\d{1,2}\.\d{3,})\s*[,; ]\s*(-?\d{1,3}\.\d{3,})\)?", re.ASCII)


def _phone(text: str, *, shape: re.Pattern[str]) -> bool:
    return 7 <= len(text) <= 24 and 7 <= sum(map(str.isdigit, text)) <= 15 and bool(shape.fullmatch(text))


def _pair(text: str) -> bool:
    found = _PAIR.fullmatch(text.strip()) if len(text) <= 60 else None
    return found is not None and abs(float(found[1])) <= 90 and abs(float(found[2])) <= 180


NATIONAL = _words(
    "ssn nhs dni nie nif bsn cf codice fiscale nir insee secu idnr steuer tin pesel personnummer national"
)
PHONES = _words("phone telephone tel telefon telefono mobile mobil cell fax handy")
_HEX = "[0-9A-Fa-f]"
_UUID = rf"\{{?{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}\}}?"
_MAC = rf"({_HEX}{{2}}([:-]))({_HEX}{{2}}\2){{4}}{_HEX}{{2}}"


def _national(name: str, phrase: str, check: Test, chance: float) -> Kind:
    return Kind(name, phrase, check, chance, NATIONAL, person=True)


def _dashed_ssn(text: str) -> bool:
    dashed = re.fullmatch(r"\d{3}([- ])\d{2}\1\d{4}", text, re.ASCII) is not None
    return dashed and digits.us_social_security(text.translate(_SEPARATORS))


def _swedish(text: str) -> bool:
    """A plus instead of the dash says: older than a hundred years."""
    return digits.swedish_personnummer(text.replace("+", ""))


KINDS: tuple[Kind, ...] = (
    Kind("e-mail", "e-mail addresses", _matches(EMAIL), 1e-3, _words("email mail"), person=True),
    Kind("url", "web addresses", _matches(URL), 1e-3, _words("url link website homepage")),
    Kind("uuid", "UUIDs", _matches(_UUID), 1e-3, _words("uuid guid")),
    Kind("mac-address", "hardware addresses", _matches(_MAC), 1e-3, _words("mac")),
    Kind("ip-address", "network addresses", _ip, 1e-2, _words("ip ipv4 ipv6")),
    Kind("iban", "bank accounts (check digits right)", _compact(digits.iban), 1 / 97, _words("iban konto")),
    Kind(
        "payment-card",
        "payment cards (check digit right)",
        _compact(digits.payment_card),
        1 / 20,
        _words("card creditcard pan"),
    ),
    _national(
        "it-codice-fiscale",
        "Italian tax codes (check letter right)",
        _compact(digits.italian_codice_fiscale),
        1e-3,
    ),
    _national("fr-nir", "French social security numbers (key right)", _compact(digits.french_nir), 1 / 97),
    _national("es-dni", "Spanish identity numbers (letter right)", _compact(digits.spanish_dni), 1 / 23),
    _national(
        "pl-pesel", "PESEL numbers (date and check digit right)", _compact(digits.polish_pesel), 1 / 40
    ),
    _national("se-personnummer", "Swedish personal numbers (check digit right)", _compact(_swedish), 1 / 30),
    _national("de-tax-id", "German tax numbers (check digit right)", _compact(digits.german_tax_id), 1 / 20),
    _national("uk-nhs", "NHS numbers (check digit right)", _compact(digits.uk_nhs), 1 / 11),
    _national("nl-bsn", "Dutch citizen numbers (check digit right)", _compact(digits.dutch_bsn), 1 / 11),
    _national("us-ssn", "shaped as US social security numbers", _dashed_ssn, 1 / 10),
    Kind(
        "us-ssn",
        "shaped and called as US social security numbers",
        _compact(digits.us_social_security),
        1 / 2,
        _words("ssn"),
        needs_name=True,
        person=True,
    ),
    Kind("coordinates", "pairs of coordinates", _pair, 1e-2, _words("coordinates location position gps")),
    Kind("phone", "telephone numbers", partial(_phone, shape=_STRONG_PHONE), 1 / 10, PHONES),
    Kind(
        "phone",
        "shaped and called as telephone numbers",
        partial(_phone, shape=_PHONE),
        1 / 2,
        PHONES,
        needs_name=True,
    ),
)
"""The stricter ones first: a column is reported under the first that fits."""

_GROUPED = r"(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?"
_DIALLED = r"\+\d{1,3}[ ./-]?(?:\(?\d{1,5}\)?[ ./-]?){1,6}\d{2,6}"


@dataclass(frozen=True)
class EmbeddedKind:
    """What hides in longer text; where `mark` is absent the pattern is not even tried."""

    name: str
    phrase: str
    mark: str
    pattern: re.Pattern[str]
    check: Test = bool

    def within(self, text: str) -> bool:
        """Whether it stands in the text."""
        match = self.pattern.search(text) if self.mark in text else None
        return match is not None and self.check(match[0])


EMBEDDED_KINDS: tuple[EmbeddedKind, ...] = (
    EmbeddedKind("e-mail", "e-mail addresses", "@", re.compile(EMAIL, re.ASCII)),
    EmbeddedKind("url", "web addresses", "://", re.compile(URL, re.ASCII)),
    EmbeddedKind(
        "us-ssn",
        "numbers like US social security numbers",
        "-",
        re.compile(r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])", re.ASCII),
    ),
    EmbeddedKind(
        "iban",
        "bank accounts",
        "",
        re.compile(rf"\b[A-Z]{{2}}\d{{2}}{_GROUPED}\b", re.ASCII),
        _compact(digits.iban),
    ),
    EmbeddedKind("phone", "telephone numbers", "+", re.compile(rf"(?<![\w+]){_DIALLED}\b", re.ASCII)),
)
