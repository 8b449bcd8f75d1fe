"""Names of people in a column: how its cells look, which given names are among them, what it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files
from itertools import dropwhile

from sfumato.core.errors import BadPolicy
from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.policy.column_evidence import ColumnEvidence, TableEvidence
from sfumato.policy.content import PolicyContent
from sfumato.policy.lexicon.header_lexicon import lexicon

LOOK_ALIKE = Fraction(4, 5)
"""So many of the cells look like names where a column holds names."""
KNOWN_SHARE = Fraction(3, 10)
"""So many hold a given name that is known: most given names are in no list."""
SMALL_KNOWN_SHARE = Fraction(1, 2)
"""The same without capitals, where words of other kinds look like names."""
MANY_NAMES = 20
FEW_NAMES = 8
"""Different names of a column that is called so; fewer prove nothing."""
LONGEST_NAME = 60
BARE_HEADERS = frozenset({"first", "last"})
"""Which name of a person, where no other word stands in the header; of other things, the cells tell."""
FULL_SHARE = Fraction(1, 2)
"""So many of the different cells are full names where a few names are certainly those of people."""
MOST_PARTS = 4
_TITLES = """
    dr dra drs prof professor doctor mr mrs ms miss sir frau herr fr hr mme mlle madame monsieur sr sra srta
    don doña dott dottssa dottoressa dottore sig sigra pd med dipl ing univ pr ph.d
"""
TITLES = frozenset(_TITLES.split())
"""What stands before the name of somebody, without points."""
_NO_SURNAMES = """
    school schule grundschule gymnasium realschule college university universität institute institut academy
    hospital klinik clinic klinikum spital hôpital ospedale clínica street straße strasse str avenue ave
    road platz allee weg drive square beach city town county island islands springs falls valley hills river
    port inc ltd llc corp co gmbh ag kg company group holding bank store stores shop motors airlines airport
    hotel kirche foundation stiftung team club union cup award prize theatre theater museum library station
    tower stadium arena
"""
NO_SURNAMES = frozenset(_NO_SURNAMES.split())
"""Words with which the names of people become those of places, firms and houses."""
NAMED_AFTER_PEOPLE = frozenset({"place", "education", "job", "thing", "contact", "address_word"})
"""Kinds of headers, as the lexicon calls them, below which places, firms and products bear people's names."""
_PERSON = re.compile(r"[^\W\d_]+(?:[’'.-][^\W\d_]+)*\.?")


@dataclass(frozen=True)
class NameEvidence:
    """How far a column looks like names: shares of its cells, and how many different ones there are."""

    alike: Fraction
    known: Fraction
    several_words: Fraction
    different: int
    most_differ: bool
    header: str
    full: Fraction = Fraction(0)
    """The share of the different cells that are full names: a given name or a title, and a surname."""
    small: bool = False
    """Whether no cell has a capital, so that nothing but the words themselves can tell."""

    @cached_property
    def called(self) -> bool:
        """Whether the header says so, too; asked only where cells look like names."""
        return called_names(self.header)

    @property
    def plausible(self) -> bool:
        """Whether cells look like names, and given names are among them."""
        return self.alike >= LOOK_ALIKE and self.known >= KNOWN_SHARE

    @property
    def certain(self) -> bool:
        """Whether nothing else looks like this: given names, and a header or two words per cell say so."""
        if not self.plausible:
            return False
        enough = self.different >= (FEW_NAMES if self.called else MANY_NAMES)
        return enough and (self.called or (self.several_words >= LOOK_ALIKE and self.most_differ))

    @property
    def few_people(self) -> bool:
        """Whether a few full names are those of people: staff, most often, in many rows each.

        Schools, firms and products are named after people; where a header speaks of such a thing, or of what
        was answered or measured, cells alone prove nothing.
        """
        alike = self.alike >= LOOK_ALIKE and self.several_words >= LOOK_ALIKE and not self.small
        return alike and self.different > 1 and self.full >= FULL_SHARE and may_be_people(self.header)

    @property
    def likely(self) -> bool:
        """Whether a person should say that these are no names before they are published."""
        if self.alike < LOOK_ALIKE or self.different < 2:
            return False
        if self.known >= (SMALL_KNOWN_SHARE if self.small else KNOWN_SHARE) and self.different >= MANY_NAMES:
            return True
        return self.called and (self.most_differ or self.different > MANY_NAMES)

    @property
    def possible(self) -> bool:
        """Whether most cells are several words with capitals, and most of them differ."""
        alike = self.alike >= LOOK_ALIKE and self.several_words >= LOOK_ALIKE and not self.small
        return alike and self.most_differ and self.different > MANY_NAMES


def called_names(header: str) -> bool:
    """Whether a header says that the column holds names of people, or people and nothing else.

    >>> called_names("first name"), called_names("Employee"), called_names("Employee type")
    (True, True, False)
    """
    if header.strip().lower() in BARE_HEADERS:
        return True
    read = lexicon().read(header)
    named = bool(read.kinds & {"person_name", "name_word"}) or read.kinds <= {"person", "modifier"}
    return read.role is Role.IDENTIFIER and named


def may_be_people(header: str) -> bool:
    """Whether people can stand below a header: it names staff or persons, or says nothing of other things.

    >>> may_be_people("Klassenlehrer"), may_be_people("Schule"), may_be_people("x7")
    (True, False, True)
    """
    read = lexicon().read(header)
    if read.kinds & {"staff", "person", "contact_person"}:
        return True
    return read.role not in (Role.SENSITIVE, Role.INSENSITIVE) and not read.kinds & NAMED_AFTER_PEOPLE


def name_evidence(header: str, texts: Sequence[str], counts: Sequence[int]) -> NameEvidence:
    """Returns the evidence in the different cells of a column, each with how often it occurs."""
    present = sum(counts) or 1
    pairs = list(zip(texts, counts, strict=True))
    small = written_small(texts)
    named = [(text, count) for text, count in pairs if looks_like_a_name(text, small=small)]
    return NameEvidence(
        Fraction(sum(count for _, count in named), present),
        Fraction(sum(count for text, count in named if has_given_name(text)), present),
        Fraction(sum(count for text, count in named if len(text.split()) > 1), present),
        len(named),
        2 * len(texts) > present,
        header,
        Fraction(sum(is_full_name(text) for text in texts), len(texts) or 1),
        small,
    )


def written_small(texts: Sequence[str]) -> bool:
    """Whether no cell has a capital: such columns lost their capitals, names too."""
    return all(text == text.lower() for text in texts)


def looks_like_a_name(text: str, *, small: bool = False) -> bool:
    """Whether a cell is one to five words of letters, most with capitals unless the column is `small`.

    >>> [looks_like_a_name(text) for text in ("Ada Lovelace", "O'Neil, Jim", "flu", "Room 7")]
    [True, True, False, False]
    """
    parts = text.replace(",", " ").split()
    if not 1 <= len(parts) <= 5 or len(text) > LONGEST_NAME:
        return False
    capitals = len(parts) if small else sum(part[0].isupper() for part in parts)
    return capitals * 2 > len(parts) and all(_PERSON.fullmatch(part) for part in parts)


def has_given_name(text: str) -> bool:
    """Whether one of the first words is a given name of the list.

    >>> has_given_name("Lovelace, Ada Maria"), has_given_name("Grand Hotel")
    (True, False)
    """
    known = given_names()
    return any(part.lower() in known for part in text.replace(",", " ").replace("-", " ").split()[:3])


def is_full_name(text: str) -> bool:
    """Whether a cell is a given name of the list, or a title, with a surname; in either order with a comma.

    >>> [is_full_name(text) for text in ("Anna Lovelace", "Weber, Anna", "Dr. Weber", "Anna", "San Marino")]
    [True, True, True, False, False]
    """
    last, comma, first = text.partition(",")
    words = [word.rstrip(".") for word in (f"{first} {last}" if comma else text).split()]
    parts = list(dropwhile(lambda word: word.lower() in TITLES, words))
    titled = len(parts) < len(words)
    if not 2 - titled <= len(parts) <= MOST_PARTS or not (parts[0][:1].isupper() and parts[-1][:1].isupper()):
        return False
    if any(word.lower() in NO_SURNAMES for word in parts) or not looks_like_a_name(text):
        return False
    return titled or any(piece.lower() in given_names() for piece in parts[0].split("-"))


@cache
def given_names() -> frozenset[str]:
    """Returns the given names that Sfumato knows, in small letters."""
    text = files("sfumato.policy.lexicon").joinpath("given_names.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def refuse_published_names(policy: PolicyContent, survey: TableEvidence) -> None:
    """Raises `BadPolicy` where a column that is published holds names of people with certainty."""
    for name in policy.published:
        column = survey.columns.get(name)
        if column is not None and _holds_names(name, column):
            raise BadPolicy(
                f"column {short(name)} holds names of people and is {policy.columns[name].role}:"
                " names are not published, not even generalized.",
                where="columns",
                remedy="Give it the role identifier.",
            )


def _holds_names(name: str, column: ColumnEvidence) -> bool:
    if column.kind != "text" or not column.complete:
        return False
    pairs = zip(column.values, column.counts.tolist(), strict=True)
    told = [(text, count) for text, count in pairs if text is not None]
    return name_evidence(name, [text for text, _ in told], [count for _, count in told]).certain
