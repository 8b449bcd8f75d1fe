"""Direct identifiers: columns that name people, by the evidence of their cells, and never the cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import partial
from importlib import import_module
from ipaddress import ip_address
from typing import Literal

from sfumato.draft.evidence import (
    FEWEST_CELLS,
    NATIONAL,
    NEARLY_UNIQUE_SHARE,
    ColumnEvidence,
    ColumnFinding,
    TableEvidence,
)
from sfumato.draft.roles_from_content import KNOWN_SHARE, looks_like_a_name, name_evidence, written_small
from sfumato.policy.columns import words
from sfumato.policy.taxonomies.dates import day
from sfumato.policy.taxonomies.levels import number

# Numbers that prove themselves: identifiers with check digits, each by its published rule.
#
# The rules are those of python-stdnum. Every function takes text with blanks, dots and dashes already gone
# and letters in upper case.


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


# The kinds of direct identifiers: how a cell of each looks, and what its column is often called.

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
    match = _PAIR.fullmatch(text.strip()) if len(text) <= 60 else None
    return match is not None and abs(float(match[1])) <= 90 and abs(float(match[2])) <= 180


PHONES = _words("phone telephone tel telefon telefono mobile mobil cell fax handy")
_HEX = "[0-9A-Fa-f]"
_UUID = rf"\{{?{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}\}}?"
_MAC = rf"({_HEX}{{2}}([:-]))({_HEX}{{2}}\2){{4}}{_HEX}{{2}}"


def _national(name: str, phrase: str, check: Test, chance: float) -> Kind:
    return Kind(name, phrase, check, chance, NATIONAL)


_OF_COUNTRIES = r"""
    at.vnr \d{10} 11 Austria|au.tfn \d{8,9} 11 Australia|be.nn \d{11} 97 Belgium
    bg.egn \d{10} 200 Bulgaria|br.cpf \d{11} 100 Brazil|ca.sin \d{9} 10 Canada
    ch.ssn 756\d{10} 1000 Switzerland|cl.rut \d{7,8}[\dK] 11 Chile|cn.ric \d{17}[\dX] 1000 China
    cz.rc \d{9,10} 100 Czechia_and_Slovakia|dk.cpr \d{10} 30 Denmark
    do.cedula \d{11} 10 the_Dominican_Republic|ec.ci \d{10} 50 Ecuador|ee.ik \d{11} 200 Estonia_and_Lithuania
    fi.hetu \d{6}[-A-FU-Y+]\d{3}[A-Z0-9] 300 Finland|gr.amka \d{11} 200 Greece|hr.oib \d{11} 10 Croatia
    id.nik \d{16} 100 Indonesia|ie.pps \d{7}[A-W][A-IW]? 23 Ireland|il.idnr \d{9} 10 Israel
    in_.aadhaar [2-9]\d{11} 10 India|in_.pan [A-Z]{5}\d{4}[A-Z] 1000 India|is_.kennitala \d{10} 300 Iceland
    kr.rrn \d{13} 300 Korea|lv.pvn \d{11} 10 Latvia|mx.curp [A-Z]{4}\d{6}[A-Z]{6}[A-Z0-9]\d 1000 Mexico
    mx.rfc [A-Z&]{3,4}\d{6}[A-Z0-9]{3} 300 Mexico|my.nric \d{12} 50 Malaysia
    no.fodselsnummer \d{11} 1000 Norway|pk.cnic \d{13} 2 Pakistan
    pt.cc \d{9}[A-Z0-9]{2}\d 100 Portugal|pt.nif \d{9} 11 Portugal
    ro.cnp \d{13} 300 Romania|si.emso \d{13} 300 former_Yugoslavia|th.pin \d{13} 10 Thailand
    tr.tckimlik \d{11} 100 Turkey|ua.rntrc \d{10} 11 Ukraine|za.idnr \d{13} 300 South_Africa
"""
"""Rules of `stdnum`, shapes of numbers, one in how many passes by accident, and whose they are."""


def _of_countries() -> Iterator[Kind]:
    """Yields the kinds of personal numbers whose rules `stdnum` knows; a sign may be part of them."""
    for entry in _OF_COUNTRIES.replace("\n", "|").split("|"):
        if entry.strip():
            rule, shape, rarity, country = entry.split()
            name, whose = rule.replace("_", "").replace(".", "-"), country.replace("_", " ")
            phrase = f"personal numbers of {whose} (their rule is kept)"
            check = _rule(rule, shape)
            yield _national(name, phrase, check if "-" in shape else _compact(check), 1 / int(rarity))


def _dashed_ssn(text: str) -> bool:
    dashed = re.fullmatch(r"\d{3}([- ])\d{2}\1\d{4}", text, re.ASCII) is not None
    return dashed and us_social_security(text.translate(_SEPARATORS))


def _swedish(text: str) -> bool:
    """A plus instead of the dash says: older than a hundred years."""
    return swedish_personnummer(text.replace("+", ""))


KINDS: tuple[Kind, ...] = (
    Kind("e-mail", "e-mail addresses", _matches(EMAIL), 1e-3, _words("email mail")),
    Kind("url", "web addresses", _matches(URL), 1e-3, _words("url link website homepage")),
    Kind("uuid", "UUIDs", _matches(_UUID), 1e-3, _words("uuid guid")),
    Kind("mac-address", "hardware addresses", _matches(_MAC), 1e-3, _words("mac")),
    Kind("ip-address", "network addresses", _ip, 1e-2, _words("ip ipv4 ipv6")),
    Kind("iban", "bank accounts (check digits right)", _compact(iban), 1 / 97, _words("iban konto")),
    Kind(
        "payment-card",
        "payment cards (check digit right)",
        _compact(payment_card),
        1 / 20,
        _words("card creditcard pan"),
    ),
    _national(
        "it-codice-fiscale",
        "Italian tax codes (check letter right)",
        _compact(italian_codice_fiscale),
        1e-3,
    ),
    _national("fr-nir", "French social security numbers (key right)", _compact(french_nir), 1 / 97),
    _national("es-dni", "Spanish identity numbers (letter right)", _compact(spanish_dni), 1 / 23),
    _national("pl-pesel", "PESEL numbers (date and check digit right)", _compact(polish_pesel), 1 / 40),
    _national("se-personnummer", "Swedish personal numbers (check digit right)", _compact(_swedish), 1 / 30),
    _national("de-tax-id", "German tax numbers (check digit right)", _compact(german_tax_id), 1 / 20),
    _national("uk-nhs", "NHS numbers (check digit right)", _compact(uk_nhs), 1 / 11),
    _national("nl-bsn", "Dutch citizen numbers (check digit right)", _compact(dutch_bsn), 1 / 11),
    _national("us-ssn", "shaped as US social security numbers", _dashed_ssn, 1 / 10),
    *_of_countries(),
    Kind(
        "us-ssn",
        "shaped and called as US social security numbers",
        _compact(us_social_security),
        1 / 2,
        _words("ssn"),
        needs_name=True,
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
        _compact(iban),
    ),
    EmbeddedKind("phone", "telephone numbers", "+", re.compile(rf"(?<![\w+]){_DIALLED}\b", re.ASCII)),
)


# The cells of a column as evidence: different ones with their numbers, and shares of them.

SCREENED_CELLS = 1000
"""So many different cells decide whether all are worth a look."""


@dataclass(frozen=True)
class ColumnCells:
    """The different cells that hold something, and how often; `part` if only some rows were read."""

    texts: tuple[str, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    kind: str
    part: bool = False
    rows: int = 0

    @classmethod
    def of(cls, column: ColumnEvidence, rows: int, *, part: bool = False) -> ColumnCells:
        """What a survey lists of a column."""
        pairs = [(v, int(c)) for v, c in zip(column.values, column.counts, strict=True) if v]
        return cls(tuple(v for v, _ in pairs), tuple(c for _, c in pairs), column.kind, part, rows)

    @property
    def present(self) -> int:
        """How many cells hold something."""
        return sum(self.counts)

    @property
    def distinct(self) -> int:
        return len(self.texts)

    def spread(self, most: int) -> tuple[str, ...]:
        """At most so many of the different cells, evenly spread over their order."""
        return self.texts[:: max(1, -(-len(self.texts) // most))]

    def worth_a_look(self, test: Callable[[str], bool], *, least: Fraction) -> bool:
        """Whether enough of some different cells pass for all to be tested."""
        few = self.spread(SCREENED_CELLS)
        return sum(map(test, few)) >= least * len(few)

    def share(self, test: Callable[[str], bool]) -> tuple[Fraction, int]:
        """The share of the cells that pass, and how many different ones do."""
        passed = [c for text, c in zip(self.texts, self.counts, strict=True) if test(text)]
        return Fraction(sum(passed), self.present or 1), len(passed)

    def spoken(self, share: Fraction) -> str:
        """A share in words: the start of a sentence."""
        where = f" in the first {self.rows:,} rows" if self.part else ""
        if share == 1:
            return f"all cells{where} are"
        percent = int(100 * share)
        return f"{percent}% of the cells{where} are" if percent else f"fewer than 1% of the cells{where} are"


# Names, free text, dates of birth, places: recognized by what a column is called and how its cells look.

SAMPLED_CELLS = 5000
"""So many different cells are enough for averages."""
HALF = Fraction(1, 2)
LIFETIME_YEARS = 50


@dataclass(frozen=True)
class Resemblance:
    """How much of a column looks like a kind, and why."""

    share: Fraction
    confidence: Literal["certain", "likely", "possible"]
    reason: str


_BIRTH = _words("""
    born birth birthday birthdate dob yob geboren geburtsdatum geburtstag geburtsjahr naissance nascita
    nacimiento geboortedatum födelsedatum urodzenia
""")
_LATITUDE = _words("lat latitude")
_LONGITUDE = _words("lon lng long longitude")


def names(header: str, cells: ColumnCells) -> Resemblance | None:
    """Words with capitals, if the column has any; given names among them, a telling header, or many."""
    if cells.kind != "text":
        return None
    small = written_small(cells.spread(SAMPLED_CELLS))
    if not cells.worth_a_look(partial(looks_like_a_name, small=small), least=HALF):
        return None
    evidence = name_evidence(header, cells.texts, cells.counts)
    sentence = f"{cells.spoken(evidence.alike)} words{'' if evidence.small else ' with capitals'}"
    if evidence.known >= KNOWN_SHARE and (evidence.certain or evidence.likely):
        word: Literal["certain", "likely"] = "certain" if evidence.certain else "likely"
        return Resemblance(evidence.alike, word, f"{sentence}, common given names among them")
    if evidence.likely:
        return Resemblance(evidence.alike, "likely", f"{sentence}, and the column is called so")
    if evidence.possible:
        return Resemblance(evidence.alike, "possible", f"{sentence}, most of them different")
    return None


def free_text(called: Collection[str], cells: ColumnCells) -> Resemblance | None:
    """Long cells of several words, most of them different."""
    del called
    few = cells.spread(SAMPLED_CELLS)
    if cells.kind != "text" or cells.distinct < 2 or 2 * cells.distinct <= cells.present:
        return None
    length, count = sum(map(len, few)) // len(few), sum(len(text.split()) for text in few) // len(few)
    if length < 40 or count < 5:
        return None
    different = len({word for text in few for word in text.lower().split()})
    share, _ = cells.share(lambda text: len(text) >= 20 and " " in text)
    why = f"{length} characters and {count} words on average, {different:,} different words"
    return Resemblance(share, "likely", f"free text ({why}): anybody may be named in it")


def birth_dates(called: Collection[str], cells: ColumnCells) -> Resemblance | None:
    """Dates, or years, that are called births; or dates that span most of a lifetime."""
    titled = bool(_BIRTH & set(called))
    test = next((t for t in (_is_day, _is_year)[: 1 + titled] if cells.worth_a_look(t, least=HALF)), None)
    share, _ = cells.share(test) if test else (Fraction(0), 0)
    if share < Fraction(9, 10):
        return None
    if titled:
        return Resemblance(share, "certain", f"{cells.spoken(share)} dates, and the column is called so")
    years = [at.year for text in cells.spread(SAMPLED_CELLS) if (at := day(text)) is not None]
    span = max(years, default=0) - min(years, default=0)
    if span < LIFETIME_YEARS or min(years) < 1850:
        return None
    return Resemblance(share, "possible", f"{cells.spoken(share)} dates over {span} years: perhaps of birth")


def _is_day(text: str) -> bool:
    return day(text) is not None


_is_year = _matches(r"(18|19|20)\d\d")


def coordinates(called: Collection[str], cells: ColumnCells) -> Resemblance | None:
    """Degrees with at least three decimals, which place somebody within about a hundred metres."""
    limit = 90 if _LATITUDE & set(called) else 180 if _LONGITUDE & set(called) else 0
    if not limit:
        return None

    def exact(text: str) -> bool:
        size = number(text)
        return size is not None and abs(size) <= limit and len(text.rpartition(".")[2]) >= 3 and "." in text

    share, different = cells.share(exact)
    if share < Fraction(1, 2) or different < 2:
        return None
    return Resemblance(
        share,
        "likely",
        f"{cells.spoken(share)} degrees with three decimals or more: within some hundred metres",
    )


Confidence = Literal["certain", "likely", "possible"]

NEARLY_ALL_CELLS = Fraction(9, 10)
HALF_OF_CELLS = Fraction(1, 2)
SOME_CELLS = Fraction(1, 5)


@dataclass(frozen=True)
class Identifier:
    """Evidence that a column identifies people.

    `share` is the share of the non-empty cells that bear it out. A `direct` kind names people by itself and
    is not to be published; the others (dates of birth, coordinates, being unique) help to find them.
    `reason` is a sentence without values.
    """

    column: str
    kind: str
    share: Fraction
    confidence: Confidence
    reason: str
    direct: bool = True

    @property
    def convincing(self) -> bool:
        """Whether it is enough to act on."""
        return self.confidence != "possible"


def identifiers(
    survey: TableEvidence,
    *,
    distinct: Mapping[str, int] | None = None,
    first_rows: TableEvidence | None = None,
) -> tuple[Identifier, ...]:
    """What every column gives away, in the order of the columns.

    `distinct` has exact numbers of different values where the survey stopped counting; `first_rows` surveys
    the first rows of columns whose values it did not list.

    >>> from sfumato.table.source import open_source
    >>> import pyarrow as pa
    >>> table = pa.table({"contact": ["ada@example.org", "bo@example.org"], "sex": ["f", "m"]})
    >>> [(found.column, found.kind, found.confidence) for found in identifiers(open_source(table).survey())]
    [('contact', 'e-mail', 'certain'), ('contact', 'unique', 'certain'), ('sex', 'unique', 'certain')]
    """
    signs: list[Identifier] = []
    for name, column in survey.columns.items():
        cells = _cells_of(name, column, survey, first_rows)
        if cells is not None and cells.present:
            signs += [*_by_shape_and_parts(name, cells), *_by_name_and_shape(name, cells)]
        signs += _unique(name, column, survey.rows, (distinct or {}).get(name, column.distinct))
    return tuple(signs)


def _cells_of(
    name: str, column: ColumnEvidence, survey: TableEvidence, first_rows: TableEvidence | None
) -> ColumnCells | None:
    if column.complete:
        return ColumnCells.of(column, survey.rows)
    if first_rows is None or not first_rows.columns[name].complete:
        return None
    return ColumnCells.of(first_rows.columns[name], first_rows.rows, part=True)


def _by_shape(name: str, cells: ColumnCells) -> Iterator[Identifier]:
    """The first kind that the cells have the shape of; one that is only possible where no other is more."""
    called, possible = words(name), None
    for kind in KINDS:
        named = bool(called & kind.named)
        if kind.needs_name and not named:
            continue
        if not cells.worth_a_look(kind.test, least=SOME_CELLS):
            continue
        share, different = cells.share(kind.test)
        confidence = _confidence(kind, share, different, named)
        if confidence is not None:
            why = f"{cells.spoken(share)} {kind.phrase}"
            sign = Identifier(name, kind.name, share, confidence, why)
            if sign.convincing:
                yield sign
                return
            possible = possible or sign
    if possible is not None:
        yield possible


def _confidence(kind: Kind, share: Fraction, different: int, named: bool) -> Confidence | None:
    """Many different cells cannot all pass by accident; a fitting name helps."""
    accident = kind.chance**different
    nearly_all, majority = share >= NEARLY_ALL_CELLS, share >= HALF_OF_CELLS
    if nearly_all and accident <= 1e-6:
        return "certain"
    if (nearly_all and accident <= 1e-2) or (majority and (named or accident <= 1e-6)):
        return "likely"
    return "possible" if majority or (named and share >= SOME_CELLS) else None


def _by_shape_and_parts(name: str, cells: ColumnCells) -> Iterator[Identifier]:
    """What whole cells are; else what stands in some of them: a few are enough to name somebody."""
    whole = list(_by_shape(name, cells))
    yield from whole
    for inside in EMBEDDED_KINDS if cells.kind == "text" else ():
        if any(sign.kind == inside.name for sign in whole):
            continue
        share, different = cells.share(inside.within)
        if share:
            confidence: Confidence = "likely" if different > 1 else "possible"
            why = f"{cells.spoken(share)} texts with {inside.phrase} inside"
            yield Identifier(name, f"{inside.name}-inside", share, confidence, why)


def _by_name_and_shape(name: str, cells: ColumnCells) -> Iterator[Identifier]:
    """Names, dates of birth, places, free text: by the column's name and the shape of its cells."""
    called = names(name, cells)
    if called is not None:
        yield Identifier(name, "name", called.share, called.confidence, called.reason)
    for kind, detect, direct in (
        ("free-text", free_text, True),
        ("birth-date", birth_dates, False),
        ("coordinates", coordinates, False),
    ):
        sign = detect(words(name), cells)
        if sign is not None:
            yield Identifier(name, kind, sign.share, sign.confidence, sign.reason, direct)


def _unique(name: str, column: ColumnEvidence, rows: int, distinct: int) -> Iterator[Identifier]:
    if rows > 1 and distinct == rows:
        yield Identifier(
            name, "unique", Fraction(1), "certain", f"each of the {rows:,} rows has a value of its own", False
        )
    elif rows - column.missing >= FEWEST_CELLS and distinct >= NEARLY_UNIQUE_SHARE * (rows - column.missing):
        present = rows - column.missing
        why = f"{distinct:,} different values in {present:,} cells"
        yield Identifier(name, "nearly-unique", Fraction(distinct, present), "likely", why, False)


def findings(survey: TableEvidence, *, first_rows: TableEvidence | None = None) -> dict[str, ColumnFinding]:
    """What the cells of every column give away, for a draft to decide by; what is unique it sees itself."""
    signs = identifiers(survey, first_rows=first_rows)
    return {name: direct_finding(sign for sign in signs if sign.column == name) for name in survey.columns}


def direct_finding(signs: Iterable[Identifier]) -> ColumnFinding:
    """What the signs say by which a column names people by itself; nothing where there are none."""
    direct = [sign for sign in signs if sign.direct and sign.convincing]
    reason = "; ".join(f"{sign.kind}: {sign.reason}" for sign in direct)
    return ColumnFinding(reason)
