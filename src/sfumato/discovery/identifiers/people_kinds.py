"""Names, free text, dates of birth, places: recognized by what a column is called and how its cells look."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

from sfumato.discovery.identifiers.cells import ColumnCells
from sfumato.policy.person_names import KNOWN_SHARE, looks_like_a_name, name_evidence, written_small
from sfumato.policy.taxonomies.date import day
from sfumato.policy.taxonomies.numbers import number

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


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BIRTH = _set("""
    born birth birthday birthdate dob yob geboren geburtsdatum geburtstag geburtsjahr naissance nascita
    nacimiento geboortedatum födelsedatum urodzenia
""")
_LATITUDE = _set("lat latitude")
_LONGITUDE = _set("lon lng long longitude")


def names(header: str, cells: ColumnCells) -> Resemblance | None:
    """Words with capitals, if the column has any; given names among them, a telling header, or many."""
    if cells.kind != "text":
        return None
    small = written_small(cells.spread(SAMPLED_CELLS))
    if not cells.worth_a_look(partial(looks_like_a_name, small=small), least=HALF):
        return None
    seen = name_evidence(header, cells.texts, cells.counts)
    said = f"{cells.spoken(seen.alike)} words{'' if seen.small else ' with capitals'}"
    if seen.known >= KNOWN_SHARE and (seen.certain or seen.likely):
        word: Literal["certain", "likely"] = "certain" if seen.certain else "likely"
        return Resemblance(seen.alike, word, f"{said}, common given names among them")
    if seen.likely:
        return Resemblance(seen.alike, "likely", f"{said}, and the column is called so")
    return Resemblance(seen.alike, "possible", f"{said}, most of them different") if seen.possible else None


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


def _is_year(text: str) -> bool:
    return re.fullmatch(r"(18|19|20)\d\d", text, re.ASCII) is not None


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
