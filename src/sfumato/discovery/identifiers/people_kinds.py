"""Names, free text, dates of birth, places: recognized by what a column is called and how its cells look."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.discovery.identifiers.cells import ColumnCells
from sfumato.policy.taxonomies.date import day
from sfumato.policy.taxonomies.numbers import number

SAMPLED_CELLS = 5000
"""So many different cells are enough for averages."""
HALF = Fraction(1, 2)
MANY_NAMES = 20
LIFETIME_YEARS = 50


@dataclass(frozen=True)
class Resemblance:
    """How much of a column looks like a kind, and why."""

    share: Fraction
    confidence: Literal["certain", "likely", "possible"]
    reason: str


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMED = _set("""
    name names firstname lastname surname forename fullname givenname familyname given nachname vorname
    nom prenom prénom cognome nome apellido apellidos nombre naam achternaam voornaam efternamn förnamn
    imie nazwisko patient client customer
""")
_THINGS = _set("""
    product drug medicine test file column variable street city town hospital ward company firm brand
    school country region station department course user item category type code group department site
    study
""")
_GIVEN = _set("""
    james john robert michael william david richard joseph thomas charles christopher daniel matthew
    anthony mark mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy
    margaret sandra ashley emily maria anna laura marta lucia sofia elena carmen jose juan antonio
    manuel francisco carlos luis miguel javier pedro jean pierre michel philippe nicolas marie nathalie
    isabelle sophie catherine claire julie camille chloe louis hans peter klaus wolfgang juergen jürgen
    stefan andreas sabine monika petra ursula claudia katrin heike lukas giuseppe giovanni marco paolo
    luca francesco andrea giulia chiara francesca jan pieter johan willem anneke piotr krzysztof andrzej
    tomasz agnieszka katarzyna malgorzata lars erik karl anders johanna kristina ingrid mohammed
    muhammad ahmed ali omar fatima aisha layla wei li ming hiroshi yuki kenji raj priya amit sunita olga
    ivan dmitri natasha sergei svetlana joao joão ana paulo beatriz emma olivia noah liam mia oliver
    george henry jack harry alice grace ruth helen peter paul simon martin alexander benjamin samuel
    jacob
""")
_PERSON = re.compile(r"[^\W\d_]+(?:[’'.-][^\W\d_]+)*\.?")
_BIRTH = _set("""
    born birth birthday birthdate dob yob geboren geburtsdatum geburtstag geburtsjahr naissance nascita
    nacimiento geboortedatum födelsedatum urodzenia
""")
_LATITUDE = _set("lat latitude")
_LONGITUDE = _set("lon lng long longitude")


def names(called: Collection[str], cells: ColumnCells) -> Resemblance | None:
    """Words of letters with capitals; given names among them, a telling title, or many different ones."""
    if cells.kind != "text" or not cells.worth_a_look(_like_a_name, least=HALF):
        return None
    share, different = cells.share(_like_a_name)
    if share < Fraction(4, 5) or different < 2:
        return None
    given, _ = cells.share(_has_given_name)
    titled = bool(_NAMED & set(called)) and not _THINGS & set(called)
    most = 2 * cells.distinct > cells.present
    said = f"{cells.spoken(share)} words with capitals"
    if given >= Fraction(3, 10) and different >= MANY_NAMES:
        return Resemblance(share, "certain" if titled else "likely", f"{said}, common given names among them")
    if titled and (most or different > MANY_NAMES):
        return Resemblance(share, "likely", f"{said}, and the column is called so")
    several, _ = cells.share(lambda text: len(text.split()) > 1)
    if most and different > MANY_NAMES and several >= Fraction(4, 5):
        return Resemblance(share, "possible", f"{said}, most of them different")
    return None


def _like_a_name(text: str) -> bool:
    parts = text.replace(",", " ").split()
    if not 1 <= len(parts) <= 5 or len(text) > 60:
        return False
    capitals = sum(part[0].isupper() for part in parts)
    return capitals * 2 > len(parts) and all(_PERSON.fullmatch(part) for part in parts)


def _has_given_name(text: str) -> bool:
    return any(part.lower() in _GIVEN for part in text.replace(",", " ").replace("-", " ").split()[:3])


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
