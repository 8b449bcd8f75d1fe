"""Spellings: which texts of a sensitive column a reader takes for one value, and which for a missing cell.

Two texts mean the same where they are equal after these steps: compatibility characters and case are folded
(full-width letters, ligatures, `ß`), marks on Latin and Greek letters and invisible characters go, numbers
lose a plus sign and zeros that say nothing, and separators (blanks, points, commas, colons, semicolons,
slashes, underscores, quotes, brackets, dashes) go. Separators stay where they may mean something: between two
digits, as a point before the first digit, and as a dash that is no hyphen within a word (`HIV-`, `score -1`).
What then says nothing, or says that nothing is known, is a missing cell.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Meaning = str | None
"""What a text means, in one spelling; `None` where it means that nothing is known."""

MISSING = -1
"""Among the meanings of leaves: a missing cell."""

_MARKERS = re.compile(
    "#?na|nan|nat|nil|none|null|missing|unknown|notknown|notavailable|notapplicable|notstated|[-?*#]*"
)
_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.([0-9]*))?")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_SEPARATORS = re.compile(r"""[\s._,;:/\\'"\u2018\u2019\u201c\u201d`\u00b4\u00b7()\[\]{}|-]+""")


class Spelling(StrEnum):
    """How texts of a sensitive column are told apart when promises count its values."""

    FOLDED = "folded"
    """Spellings of one value count as one."""
    EXACT = "exact"
    """Every text is a value of its own."""


def meaning(text: Meaning) -> Meaning:
    """Returns what a text means, the same for every spelling of one value.

    >>> {meaning(text) for text in ("HIV", "hiv", "HIV ", "H.I.V.", "Ｈ\uff29\uff36")}
    {'hiv'}
    >>> [meaning(text) for text in ("HIV+", "HIV -", "1.50", "1 5", "n/a", "", None)]
    ['hiv+', 'hiv-', '1.5', '1 5', None, None, None]
    """
    if text is None:
        return None
    plain = _DASHES.sub("-", _without_marks(unicodedata.normalize("NFKC", text).casefold()).strip())
    number = _NUMBER.fullmatch(plain)
    if number:
        whole, decimals = number[2], (number[3] or "").rstrip("0")
        sign = "-" if number[1] == "-" and (whole != "0" or decimals) else ""
        return sign + whole + (f".{decimals}" if decimals else "")
    joined = _SEPARATORS.sub(_joint, plain)
    return None if _MARKERS.fullmatch(joined) else joined


def meaning_under(text: Meaning, spelling: Spelling) -> Meaning:
    """Returns what a text means where spellings are told apart in this way."""
    return text if spelling is Spelling.EXACT else meaning(text)


def meanings(labels: Sequence[Meaning], spelling: Spelling) -> NDArray[np.int32]:
    """Returns, for every label, the place of the first one with its meaning; `MISSING` where it has none.

    >>> meanings(["HIV", "flu", "hiv", None], Spelling.FOLDED).tolist()
    [0, 1, 0, -1]
    """
    first: dict[str, int] = {}
    places = []
    for place, label in enumerate(labels):
        value = meaning_under(label, spelling)
        places.append(MISSING if value is None else first.setdefault(value, place))
    return np.array(places, dtype=np.int32)


@dataclass(frozen=True)
class Folding:
    """What folding did to a column: `texts` spell `values` values, each in several ways; `missing` none.

    Empty cells, and texts that are the only spelling of their value, are not counted.
    """

    texts: int
    values: int
    missing: int

    @classmethod
    def of(cls, labels: Sequence[Meaning]) -> Folding:
        """Returns the counts for these different labels.

        >>> str(Folding.of(["HIV", "hiv", "flu", "n/a", None]))
        '2 texts are spellings of 1 value, 1 text means that nothing is known'
        """
        spellings = Counter(meaning(label) for label in labels if label is not None)
        missing = spellings.pop(None, 0)
        several = [count for count in spellings.values() if count > 1]
        return cls(sum(several), len(several), missing)

    def __bool__(self) -> bool:
        return bool(self.texts or self.missing)

    def __str__(self) -> str:
        parts = []
        if self.texts:
            parts.append(f"{self.texts} texts are spellings of {_several(self.values, 'value')}")
        if self.missing:
            verb = "means" if self.missing == 1 else "mean"
            parts.append(f"{_several(self.missing, 'text')} {verb} that nothing is known")
        return ", ".join(parts)


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _without_marks(text: str) -> str:
    """Returns the text without invisible characters, and without marks on Latin and Greek letters."""
    characters, base = [], ""
    for character in unicodedata.normalize("NFKD", text):
        kind = unicodedata.category(character)
        if kind == "Mn":
            if unicodedata.name(base or " ", "").startswith(("LATIN", "GREEK")):
                continue
        elif kind != "Cf":
            base = character
        if kind not in ("Cf", "Cc") or character.isspace():
            characters.append(character)
    return unicodedata.normalize("NFC", "".join(characters)).casefold()


def _joint(run: re.Match[str]) -> str:
    """Returns what is left of separators, by what stands before and after them."""
    text, marks = run.string, run[0]
    before, after = text[: run.start()][-1:], text[run.end() :][:1]
    if "-" in marks:
        word = before.isalnum() and after.isalnum() and (before.isalpha() or after.isalpha())
        negative = after.isdigit() and marks[0].isspace()
        if word and not negative:
            return ""
        return "".join(marks.split()) if before.isdigit() and after.isdigit() else "-"
    if before.isdigit() and after.isdigit():
        return "".join(marks.split()) or " "
    return "." if not before and after.isdigit() and marks.endswith(".") else ""
