"""Terms in running text: those of a vocabulary, or all words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.core.errors import BadData

SHORTEST_WORD = 3
"""Words of fewer letters are no terms, unless a vocabulary has them."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class TermFinder:
    """Finds terms in a text, whatever the case of its letters; in the spelling of the vocabulary.

    A term of several words is found where they follow each other. Negation is not understood: "no fever"
    holds fever.

    >>> TermFinder.of(["High fever", "cough"]).terms("Coughing; HIGH  fever, then a cough.")
    ('High fever', 'cough')
    >>> TermFinder.of([]).terms("A cough, a Cough: no end")
    ('cough', 'end')
    """

    spelling: dict[tuple[str, ...], str]
    longest: int

    @classmethod
    def of(cls, vocabulary: Iterable[str]) -> TermFinder:
        spelling: dict[tuple[str, ...], str] = {}
        for term in vocabulary:
            words = _words(term)
            if not words:
                raise BadData("a term of the vocabulary holds no letter", remedy="Leave it out.")
            spelling.setdefault(words, term)
        return cls(spelling, max((len(words) for words in spelling), default=0))

    def terms(self, text: str) -> tuple[str, ...]:
        """Returns the terms of a text, each once, in alphabetical order."""
        words = _words(text)
        if not self.spelling:
            return tuple(sorted({word for word in words if len(word) >= SHORTEST_WORD} - PARTICLES))
        found = set()
        for start in range(len(words)):
            for end in range(start + 1, min(start + self.longest, len(words)) + 1):
                term = self.spelling.get(words[start:end])
                if term is not None:
                    found.add(term)
        return tuple(sorted(found))


PARTICLES = frozenset({"and", "but", "for", "has", "had", "her", "his", "not", "the", "was", "were", "with"})
"""English words that say nothing of anybody; a vocabulary may hold them."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(text))
