"""The lexicon of headers: what the name of a column says of it, in five languages."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product

from sfumato.core.microdata import Role
from sfumato.policy.lexicon.abbreviations import (
    OF_RELATIVES,
    RELATIVES,
    Abbreviations,
    ends_as_number_of_people,
)
from sfumato.policy.lexicon.header_words import LITTLE_WORDS, foldings, header_words

LANGUAGES = ("en", "de", "fr", "es", "it")
LONGEST_ENTRY = 5
"""Words of one entry."""
LONGEST_WORD = 80
"""No word of a header has more letters; longer ones are not read."""
SHORTEST_STEM = 3
SHORTEST_PART = 4
"""A part of a compound has at least so many letters."""
SHORTEST_INFLECTED = 6
"""Shorter words are taken as they are."""
ENDINGS = ("s", "n", "er", "a", "o", "e", "i")
"""Of plurals and genders."""
LINKS = ("", "s", "n", "en", "es", "e")
"""What German puts between the parts of a compound."""

VOWELS = frozenset("aeiouy")
_ADJECTIVES = """
    al als ally ly ic ical ous ously ional ive ivo iva ivos ivas iche ich isch ische aux ale ales ali nel
    nelle que ques
"""
ADJECTIVES = frozenset(_ADJECTIVES.split())
"""Endings that make an adjective of a word, in five languages."""
COMPOUNDED = frozenset(["name", "names", "namen", "phone", "email", "mail", "address", "adresse"])
"""Words that are joined to any other one without a gap: `custname`, `homephone`."""


@dataclass(frozen=True)
class HeaderKind:
    """A kind of column that headers name: the role it speaks for, and what it is called.

    A `weak` kind speaks only where no other does, a `strong` one before all but identifiers.
    """

    name: str
    role: Role | None
    says: str
    weak: bool = False
    strong: bool = False


@dataclass(frozen=True)
class HeaderReading:
    """What a header says: the role it speaks for, `None` where it says nothing of it; and all kinds named."""

    role: Role | None
    says: str
    kinds: frozenset[str]


class HeaderLexicon:
    """Kinds of columns by the words of their headers."""

    def __init__(self, document: Mapping[str, Mapping[str, object]]) -> None:
        self._exact: dict[str, set[str]] = {}
        self._starts: dict[str, set[str]] = {}
        self._ends: dict[str, set[str]] = {}
        self._english: set[str] = set()
        self.kinds: dict[str, HeaderKind] = {}
        for name, entry in document.items():
            role = Role(str(entry["role"])) if entry["role"] else None
            weak, strong = entry.get("weak") is True, entry.get("strong") is True
            self.kinds[name] = HeaderKind(name, role, str(entry["says"]), weak, strong)
            for language in LANGUAGES:
                words = str(entry.get(language, "")).split()
                for text in words:
                    self._add(text, name)
                if language == LANGUAGES[0]:
                    self._english.update(words)
        self._abbreviations = Abbreviations(self._exact, frozenset(self._english), self._role_of)

    def _add(self, text: str, kind: str) -> None:
        if text.endswith("-"):
            place, text = self._starts, text[:-1]
        elif text.startswith("-"):
            place, text = self._ends, text[1:]
        else:
            place = self._exact
        whole = place is self._exact
        for joined in _joined(header_words(text)) if whole else foldings(text):
            place.setdefault(joined, set()).add(kind)

    def _role_of(self, kind: str) -> Role | None:
        return self.kinds[kind].role

    def read(self, header: str, *, shortened: bool = True) -> HeaderReading:
        """Returns what a header says; words may be `shortened` in headers, and seldom are in cells.

        >>> lexicon().read("geb_dat").says, str(lexicon().read("hospitalName").role)
        ('birth', 'quasi')
        """
        words = [word for word in header_words(header) if len(word[-1]) <= LONGEST_WORD]
        named: frozenset[str] = frozenset().union(*self._named(words, shortened=shortened), ())
        if named == {"measure_word"} and words[-1][0] == "num":
            named = frozenset({"id_word"})  # the number of something, not how many there are
        if not named and words and ends_as_number_of_people(words[-1][-1]):
            named = frozenset({"perhaps_id"})
        return self._weighed(named)

    def _named(self, words: Sequence[tuple[str, ...]], *, shortened: bool) -> Iterator[set[str]]:
        """Yields the kinds of the longest entries in the header; no word counts twice."""
        free = [True] * len(words)
        for length in range(min(LONGEST_ENTRY, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                span = slice(start, start + length)
                if not all(free[span]):
                    continue
                kinds = self._looked_up(words[span])
                if kinds:
                    free[span] = [False] * length
                    yield kinds
        for word, unread in zip(words, free, strict=True):
            if unread:
                yield from self._of_one_word(word[-1], shortened=shortened)

    def _of_one_word(self, text: str, *, shortened: bool) -> list[set[str]]:
        """Returns the kinds of a word that is no entry: by its parts, what it is short for, its ends."""
        if _is_ordinary(text):
            return []
        parts = self._parts(text, {})
        if parts is not None:
            return parts
        short_for = self._abbreviations.kinds(text) if shortened else set()
        return [short_for] if short_for else self._affixes(text)

    def _looked_up(self, words: Sequence[tuple[str, ...]]) -> set[str]:
        texts = _joined(words)
        known = set().union(*(self._exact.get(text, ()) for text in texts))
        if known or len(words) > 1 or any(map(_is_ordinary, texts)):
            return known
        stems = [kinds for text in texts for kinds in self._stems(text)]
        inflected = [self._exact.get(form, set()) for text in texts for form in _inflections(text)]
        return set().union(*(stems or inflected))

    def _stems(self, text: str) -> Iterator[set[str]]:
        for size in range(len(text) - 1, SHORTEST_STEM - 1, -1):
            if text[:size] in self._starts:
                yield self._starts[text[:size]]
                break
        for start in range(1, len(text) - SHORTEST_STEM + 2):
            if text[start:] in self._ends:
                yield self._ends[text[start:]]
                break

    def _parts(self, text: str, known_ends: dict[str, list[set[str]] | None]) -> list[set[str]] | None:
        """Returns the kinds of the words that a text without gaps consists of, `None` where it does not.

        What was found of ends of the text is kept, and asked once.
        """
        if text not in known_ends:
            known_ends[text] = self._found_parts(text, known_ends)
        return known_ends[text]

    def _found_parts(self, text: str, known_ends: dict[str, list[set[str]] | None]) -> list[set[str]] | None:
        if text in self._exact:
            return [self._exact[text]]
        for size in range(len(text) - 1, 0, -1):
            first = text[:size]
            known = first in self._exact and size >= SHORTEST_PART
            if not known and first not in LITTLE_WORDS:
                continue
            for link in LINKS if known else ("",):
                rest = text[size + len(link) :] if text[size:].startswith(link) else ""
                is_long = len(rest) >= SHORTEST_STEM or rest == "id"
                below = self._parts(rest, known_ends) if is_long else None
                if below is not None and known:
                    return [self._exact[first], *below]
                if below is not None and size > 1 and len(rest) >= SHORTEST_PART:
                    return below
        return None

    def _affixes(self, text: str) -> list[set[str]]:
        """Returns the kinds of the longest words that a text begins and ends with.

        A word in another is there by accident (`velocity`, `embrace`), unless what is left of it is no part
        of words: letters without a vowel, as abbreviations have them, or an ending of adjectives.
        A short word in a long one has to be two fifths of it.
        """
        sizes = range(len(text) - 1, max(SHORTEST_PART, -(-2 * len(text) // 5)) - 1, -1)
        starts = next((self._exact[text[:n]] for n in sizes if self._begins(text[:n], text[n:])), None)
        ends = next((self._exact[text[-n:]] for n in sizes if self._ends_with(text[:-n], text[-n:])), None)
        return [kinds for kinds in (starts, ends) if kinds]

    def _begins(self, word: str, rest: str) -> bool:
        return word in self._exact and (rest in ADJECTIVES or not VOWELS & set(rest))

    def _ends_with(self, rest: str, word: str) -> bool:
        if word not in self._exact:
            return False
        of_somebody = rest in RELATIVES and bool(self._exact[word] & OF_RELATIVES)
        return of_somebody or word in COMPOUNDED or not VOWELS & set(rest)

    def _weighed(self, named: frozenset[str]) -> HeaderReading:
        """Returns the role that the kinds in a header come to: the first of those that speak.

        Things have names and numbers, too: beside one, only what else is said counts.
        """
        spoken = [kind for name, kind in self.kinds.items() if name in named and kind.role is not None]
        if named and named <= {"person", "modifier"} and "person" in named:
            spoken = [self.kinds["id_word"]]
        elif "category_word" in named:
            spoken = [kind for kind in spoken if kind.role is not Role.IDENTIFIER]
        elif "thing" in named:
            spoken = [kind for kind in spoken if kind.role is not Role.IDENTIFIER or kind.name == "id_word"]
        elif "name_word" in named and named <= PEOPLE_WITH_NAMES:
            spoken = [self.kinds["name_word"]]
        if not spoken:
            return HeaderReading(None, "", named)
        first = min(spoken, key=_precedence)
        return HeaderReading(first.role, first.says, named)


PEOPLE_WITH_NAMES = frozenset({"name_word", "person", "relative", "household", "measure_word"})
"""A name beside no other words is somebody's."""

PRECEDENCE: Sequence[tuple[Role, bool]] = (
    (Role.IDENTIFIER, False),
    (Role.SENSITIVE, False),
    (Role.QUASI, False),
    (Role.IDENTIFIER, True),
    (Role.INSENSITIVE, False),
    (Role.INSENSITIVE, True),
    (Role.QUASI, True),
)
"""Which role a header with words of several kinds speaks for, and whether the kind is weak, in order."""


def _precedence(kind: HeaderKind) -> tuple[int, bool]:
    assert kind.role is not None  # noqa: S101  # ours: kinds without a role do not speak
    place = PRECEDENCE.index((kind.role, kind.weak))
    return (min(place, 1), False) if kind.strong else (place, True)


def _inflections(text: str) -> Iterator[str]:
    """Yields what a word may be a plural or another gender of."""
    if len(text) >= SHORTEST_INFLECTED and text.endswith(ENDINGS):
        yield from (
            text[:-1],
            text[:-2],
            *(text[:-1] + end for end in "oaei"),
            *(text[:-2] + end for end in "oae"),
        )


def _joined(words: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the words without gaps, in all their spellings."""
    return tuple(dict.fromkeys("".join(some) for some in product(*words)))


def _is_ordinary(text: str) -> bool:
    """Whether a word, or what it is the plural of, is read as itself, whatever stands in it."""
    return text in ordinary_words() or (text.endswith("s") and text[:-1] in ordinary_words())


@cache
def ordinary_words() -> frozenset[str]:
    """Returns everyday words in which words of the lexicon stand by accident."""
    text = files("sfumato.policy.lexicon").joinpath("ordinary_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@cache
def lexicon() -> HeaderLexicon:
    """Returns the lexicon that Sfumato comes with."""
    text = files("sfumato.policy.lexicon").joinpath("header_words.toml").read_text(encoding="utf-8")
    return HeaderLexicon(tomllib.loads(text))
