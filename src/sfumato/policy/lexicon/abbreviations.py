"""Abbreviations: what a word of a header is short for, by the ways in which people shorten words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cache

from sfumato.core.microdata import Role

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
"""Kinds before which one letter says whose: `meduc`, `hage`, `fincome`; or how: `lwage`, `xage`."""
RELATIVES = frozenset(
    ["hus", "husb", "wif", "sp", "spo", "spou", "ma", "moth", "pa", "fath", "mom", "dad", "sib"]
)
"""Abbreviations before such words that say whose: `huseduc`, `spouage`, `maeduc`."""
BEFORE = frozenset("cdfhlmnprswxy")
"""Child, dad, father, husband or head, logarithm, mother, partner, respondent, spouse, wife; `x`: anybody's.

`n` and `y` say that people or years were counted: `nkids`, `yschool`.
"""
BEHIND = frozenset("acfhmprswx0123456789")
"""The same behind a word, or `a` of several."""

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
        found = self._without_vowels(text) or self._with_a_letter_more(text) or self._segmented(text)
        return found or self._truncated(text)

    def _without_vowels(self, text: str) -> Kinds:
        """`hlth`, `gndr`, `mrtl`."""
        return self._agreeing(self._skeletons.get(text, set())) if skeleton(text) == text else set()

    def _with_a_letter_more(self, text: str) -> Kinds:
        """`meduc`, `hage`, `lwage`, `racef`: one letter before or behind a word about people.

        It says whose relative somebody is, or how the numbers were changed; other letters make another word
        of it (`trace`, `wind`, `card`).
        """
        for letter, rest, of_whom in ((text[:1], text[1:], BEFORE), (text[-1:], text[:-1], BEHIND)):
            kinds = self._exact[rest] if letter in of_whom and self._is_a_part(rest) else set()
            if kinds & OF_RELATIVES:
                return kinds
        return set()

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
        """`yearborn`, `agefrst`, `mntlhlth`: known words and fillers, without a letter left over."""
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
            first, rest = text[:size], text[size:]
            known = self._part(first) if size >= SHORTEST_SEGMENT else set()
            if not known and first not in FILLERS:
                continue
            if known and (not rest or rest in FILLERS):
                return [known]
            others = self._segments(rest, known_ends) if rest else None
            if others is not None:
                return [known, *others] if known else others
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
