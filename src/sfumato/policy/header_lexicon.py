"""The lexicon of headers: what the name of a column says of it, in five languages and other scripts."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product

from sfumato.table.microdata import Role

# Abbreviations: what a word of a header is short for, by the ways in which people shorten words.

SHORTEST_SKELETON = 4
"""Consonants that a word without its vowels has at least."""
SHORTEST_TRUNCATION = 4
"""Letters that the beginning of a word has at least."""
SHORTEST_LAST = 2
"""Letters that are left at least of the last of several words."""
SHORTEST_SEGMENT = 3
"""Letters that a known word inside of another has at least."""
SHORTEST_NUMBERED = 4
"""Letters of a word that ends in `id` at least."""

_FILLERS = """
    num nbr cat grp frq freq stat sta yr yrs mo mos mth wk wks hr hrs day days avg mean max min tot total low
    high any ever cur curr prev pre post own oth other new first last frst ind idx lvl lev dum flag cd desc
    txt val amt cnt ct pct rat ratio sq cub ln log imp diff chg typ type rec rcd fin beg end per non lat early
    late more cont base bl raw adj std sum nb lt ge gt le lg sm big med very full part self is has was
"""
FILLERS = frozenset(_FILLERS.split())
"""What stands before or behind an abbreviated word and says how it was counted, or of when it is."""
OF_RELATIVES = frozenset(
    {"age", "education", "job", "money", "origin", "belief", "household", "sex", "birth"}
)
"""Kinds before which letters say whose they are: `huseduc`, `mwage`."""
RELATIVES = frozenset(
    ["hus", "husb", "wif", "sp", "spo", "spou", "ma", "moth", "pa", "fath", "mom", "dad", "sib"]
)
"""Abbreviations before such words that say whose: `huseduc`, `spouage`, `maeduc`."""
Kinds = set[str]
RoleOf = Callable[[str], Role | None]


class Abbreviations:
    """The words of a lexicon, looked up by what is left of them."""

    def __init__(self, exact: Mapping[str, Kinds], english: frozenset[str], role_of: RoleOf) -> None:
        """Of the words only the `english` ones are cut short, or are part of others with three letters."""
        self._exact, self._english, self._role_of = exact, english, role_of
        self._least = {word.replace("_", ""): _least_letters(word) for word in sorted(english)}
        self._sorted = sorted(word for word in self._least if word in exact and word.isalpha())
        self._skeletons: dict[str, Kinds] = {}
        for word, kinds in exact.items():
            bones = skeleton(word)
            if len(bones) >= SHORTEST_SKELETON and bones != word:
                self._skeletons.setdefault(bones, set()).update(kinds)

    def kinds(self, text: str) -> Kinds:
        """Returns the kinds of the word that a text is short for; none where that is not clear."""
        return self._segmented(text) or self._truncated(text)

    def _truncated(self, text: str) -> Kinds:
        """`relig`, `indust`, `classsiz`: the beginning of words that all speak for one role."""
        if len(text) < SHORTEST_TRUNCATION:
            return set()
        longer = []
        for word in self._sorted[bisect_left(self._sorted, text) :]:
            if not word.startswith(text):
                break
            if len(text) >= self._least[word]:
                longer.append(word)
        near = any(len(word) <= 2 * len(text) for word in longer)
        return self._agreeing(set().union(*(self._exact[word] for word in longer))) if near else set()

    def _segmented(self, text: str) -> Kinds:
        """`yearborn`, `agefrst`, `hlth`: known words, also without vowels, and fillers; no letter is left."""
        parts = self._segments(text, {})
        return set().union(*parts) if parts else set()

    def _segments(self, text: str, known_ends: dict[str, list[Kinds] | None]) -> list[Kinds] | None:
        """Returns the kinds of known words that a text consists of, the longest first words first.

        `None` where it does not. What was found of ends of the text is kept, and asked once.
        """
        if text not in known_ends:
            known_ends[text] = self._found_segments(text, known_ends)
        return known_ends[text]

    def _found_segments(self, text: str, known_ends: dict[str, list[Kinds] | None]) -> list[Kinds] | None:
        for size in range(len(text), SHORTEST_SEGMENT - 2, -1):
            first, after = text[:size], text[size:]
            kinds = self._part(first) if size >= SHORTEST_SEGMENT else set()
            if not kinds and first not in FILLERS:
                continue
            if kinds and (not after or after in FILLERS):
                return [kinds]
            others = self._segments(after, known_ends) if after else None
            if others is not None:
                return [kinds, *others] if kinds else others
        return None

    def _part(self, text: str) -> Kinds:
        if self._is_a_part(text):
            return self._exact[text]
        bones = self._skeletons.get(text, set()) if skeleton(text) == text else set()
        return self._agreeing(bones)

    def _is_a_part(self, text: str) -> bool:
        return text in self._exact and (len(text) > SHORTEST_SEGMENT or text in self._english)

    def _agreeing(self, kinds: Kinds) -> Kinds:
        """Returns the kinds where all of them speak for one role, else none; no word is short for names."""
        roles = {self._role_of(kind) for kind in kinds}
        return kinds if len(roles) == 1 and not roles & {None, Role.IDENTIFIER} else set()


def _least_letters(entry: str) -> int:
    """Returns how many letters of an entry have to be there: of several words, some of the last one.

    >>> _least_letters("religion"), _least_letters("class_size")
    (4, 7)
    """
    first, gap, _ = entry.rpartition("_")
    return len(first.replace("_", "")) + SHORTEST_LAST if gap else SHORTEST_TRUNCATION


@cache
def skeleton(word: str) -> str:
    """Returns a word without its vowels but the first letter, double letters once.

    >>> skeleton("health"), skeleton("married"), skeleton("education")
    ('hlth', 'mrd', 'edctn')
    """
    bones = word[:1]
    for letter in word[1:]:
        if letter not in "aeiou" and letter != bones[-1]:
            bones += letter
    return bones


def ends_as_number_of_people(text: str) -> bool:
    """Whether a word ends as numbers of people do (`randid`); its cells have to say so, too."""
    return len(text) >= SHORTEST_NUMBERED and text.endswith("id")


# The words of a header: split, folded, and without those that mean nothing by themselves.

_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0900-\u0903\u093a-\u094f\u0962\u0963\u0e31-\u0e4e"
"""Accents, and vowels that are written around letters: parts of words, though no letters."""
_PIECE = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+|[0-9]+")
_NUMBER_SIGN = re.compile(r"№|#|\b[Nn]\.?[°º]")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})

_LITTLE = """
    of the a an at to in on for and or is has was with by per from de du des la le les l d un une au aux et en
    sur par pour dans von vom der die das den dem zu zum zur im am mit bei und oder ist hat di del della dello
    dei degli delle da por sin sans senza als as al alla il lo gli i e o con y el los las su es tiene
"""
LITTLE_WORDS = frozenset(_LITTLE.split())
"""Words that join others and say nothing of a column."""

_SAME = {
    **dict.fromkeys(("no", "nr", "nro", "number", "numero", "nummer", "nbr", "num", "numb"), "num"),
    **dict.fromkeys(("code", "codigo", "codice", "cod", "kode"), "code"),
}
"""Ways to write one word."""


def header_pieces(header: str) -> list[str]:
    """Returns the pieces of a header as it is written: words in snake_case, camelCase and numbers apart.

    >>> header_pieces("dateOfBirth"), header_pieces("ICD10-Code"), header_pieces("PLZ_Wohnort")
    (['date', 'Of', 'Birth'], ['ICD', '10', 'Code'], ['PLZ', 'Wohnort'])
    """
    if header.isascii() and header.islower() and header.isalpha():
        return [header]
    pieces: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFC", header)):
        start = 0
        for i in range(1, len(piece)):
            rises = piece[i].isupper() and not piece[i - 1].isupper()
            ends = piece[i].islower() and piece[i - 1].isupper() and i - 1 > start
            if rises or ends:
                cut = i if rises else i - 1
                pieces.append(piece[start:cut])
                start = cut
        pieces.append(piece[start:])
    return pieces


def spellings(word: str) -> tuple[str, ...]:
    """Returns how a word is looked up: small letters without accents, umlauts as one letter and as two.

    >>> spellings("Größe"), spellings("Prénom"), spellings("Año")
    (('grosse', 'groesse'), ('prenom',), ('ano',))
    """
    return tuple(dict.fromkeys(_SAME.get(text, text) for text in foldings(word)))


def foldings(word: str) -> tuple[str, ...]:
    """Returns the same without taking abbreviations for the word itself."""
    if word.isascii():
        return (word.lower(),)
    small = unicodedata.normalize("NFC", word).lower()
    return tuple(dict.fromkeys((_plain(small.replace("ß", "ss")), _plain(small.translate(_UMLAUTS)))))


def header_words(header: str) -> list[tuple[str, ...]]:
    """Returns the words that count, in their order, each in its spellings.

    >>> header_words("date_of_Birth"), header_words("N° client"), header_words("Case #")
    ([('date',), ('birth',)], [('num',), ('client',)], [('case',), ('num',)])
    """
    every = [spellings(piece) for piece in header_pieces(_NUMBER_SIGN.sub(" no ", header))]
    return [word for word in every if word[0] not in LITTLE_WORDS] or every


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


LANGUAGES = ("en", "de", "fr", "es", "it", "other")
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
        exact = set().union(*(self._exact.get(text, ()) for text in texts))
        if exact or len(words) > 1 or any(map(_is_ordinary, texts)):
            return exact
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
            is_entry = first in self._exact and size >= SHORTEST_PART
            if not is_entry and first not in LITTLE_WORDS:
                continue
            for link in LINKS if is_entry else ("",):
                after = text[size + len(link) :] if text[size:].startswith(link) else ""
                is_long = len(after) >= SHORTEST_STEM or after == "id"
                below = self._parts(after, known_ends) if is_long else None
                if below is not None and is_entry:
                    return [self._exact[first], *below]
                if below is not None and size > 1 and len(after) >= SHORTEST_PART:
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

    def _begins(self, word: str, ending: str) -> bool:
        return word in self._exact and (ending in ADJECTIVES or not VOWELS & set(ending))

    def _ends_with(self, beginning: str, word: str) -> bool:
        if word not in self._exact:
            return False
        of_somebody = beginning in RELATIVES and bool(self._exact[word] & OF_RELATIVES)
        return of_somebody or word in COMPOUNDED or not VOWELS & set(beginning)

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
    return tuple(dict.fromkeys("".join(choice) for choice in product(*words)))


def _is_ordinary(text: str) -> bool:
    """Whether a word, or what it is the plural of, is read as itself, whatever stands in it."""
    return text in ordinary_words() or (text.endswith("s") and text[:-1] in ordinary_words())


@cache
def ordinary_words() -> frozenset[str]:
    """Returns everyday words in which words of the lexicon stand by accident."""
    text = (files("sfumato.policy") / "lexicon" / "ordinary_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@cache
def lexicon() -> HeaderLexicon:
    """Returns the lexicon that Sfumato comes with."""
    text = (files("sfumato.policy") / "lexicon" / "header_words.toml").read_text(encoding="utf-8")
    return HeaderLexicon(tomllib.loads(text))
