"""Spellings of one value, told a second time: character by character, from the rule in decision 0019."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category, name, normalize

import numpy as np
from numpy.typing import NDArray

from sfumato.judge.taxonomies.value_tree import Text

UNKNOWN = -1
"""Stands for cells that say nothing."""

SAY_NOTHING = (
    "na",
    "nan",
    "nat",
    "nil",
    "none",
    "null",
    "missing",
    "unknown",
    "notknown",
    "notavailable",
    "notapplicable",
    "notstated",
    "#na",
)
BETWEEN = frozenset("._,;:/\\'\"`()[]{}|-\u2018\u2019\u201c\u201d\u00b4\u00b7")
DASH = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")


def one_value_each(texts: Sequence[Text], spelling: str) -> NDArray[np.int64]:
    """Returns the number of the value that each text is a spelling of; `UNKNOWN` where it says nothing.

    >>> one_value_each(["H.I.V.", "flu", "hiv ", "n/a", None], "folded").tolist()
    [0, 1, 0, -1, -1]
    """
    numbers: dict[str, int] = {}
    found = []
    for text in texts:
        said = text if spelling == "exact" else folded(text)
        found.append(UNKNOWN if said is None else numbers.setdefault(said, len(numbers)))
    return np.array(found, dtype=np.int64)


def folded(text: Text) -> Text:
    """Returns one spelling for all spellings of a value; `None` where the text says nothing."""
    if text is None:
        return None
    letters = ["-" if letter in DASH else letter for letter in _plain(text)]
    said = "".join(letters).strip()
    short = _short_number(said)
    if short is None:
        short = _joined(said)
    return None if short in SAY_NOTHING or not short.strip("-?*#") else short


def _plain(text: str) -> str:
    """Returns small letters without accents (Latin, Greek) and without what cannot be seen."""
    left: list[str] = []
    accented = False
    for letter in normalize("NFKD", normalize("NFKC", text).casefold()):
        sort = category(letter)
        if sort == "Mn" and accented:
            continue
        if sort not in ("Mn", "Cf"):
            accented = name(letter, "").split(" ")[0] in ("LATIN", "GREEK")
        if letter.isspace() or sort not in ("Cf", "Cc"):
            left.append(letter)
    return normalize("NFC", "".join(left)).casefold()


def _short_number(text: str) -> str | None:
    """Returns a decimal number without idle zeros and plus; `None` for whatever else."""
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    whole, _, part = digits.partition(".")
    if not whole or not set(whole + part) <= set("0123456789") or (whole[0] == "0" and whole != "0"):
        return None
    size = whole + ("." + part.rstrip("0") if part.rstrip("0") else "")
    return "-" + size if sign == "-" and size != "0" else size


def _joined(text: str) -> str:
    """Returns the text without separators that mean nothing."""
    out: list[str] = []
    place = 0
    while place < len(text):
        stop = place
        while stop < len(text) and (text[stop] in BETWEEN or text[stop].isspace()):
            stop += 1
        if stop == place:
            out.append(text[place])
            stop += 1
        else:
            out.append(_left_of(text[place - 1] if place else "", text[place:stop], text[stop : stop + 1]))
        place = stop
    return "".join(out)


def _left_of(before: str, run: str, after: str) -> str:
    """Returns what stays of separators between two characters, or at an end."""
    tight = "".join(mark for mark in run if not mark.isspace())
    numbers = before.isdigit() and after.isdigit()
    if "-" not in tight:
        if numbers:
            return tight or " "
        return "." if before == "" and after.isdigit() and run[-1] == "." else ""
    in_word = before.isalnum() and after.isalnum() and (before.isalpha() or after.isalpha())
    minus = after.isdigit() and run[0].isspace()
    if in_word and not minus:
        return ""
    return tight if numbers else "-"
