"""Names of people in a column: how its cells look, which given names are among them, what it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from importlib.resources import files

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
