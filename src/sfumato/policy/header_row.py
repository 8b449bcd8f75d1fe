"""The first line of a file: names of columns, or cells of somebody's row that must not be shown as names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.policy.column_names import AGES, IDENTIFIERS, PEOPLE, PLACES, words

KNOWN = frozenset(
    {*IDENTIFIERS, *PEOPLE, *PLACES, *AGES, "sex", "gender", "date", "year", "city", "country", "job"}
    | {"disease", "diagnosis", "income", "salary"}
)
"""Words that are found in names of columns, and hardly ever as a cell."""

LONGEST_NAME = 200
"""A name that is longer is none."""

LEAST_NAMED = 2
"""Fewer words over columns of numbers do not outweigh one that occurs below itself."""

_CELL = re.compile(
    r"[+-]?[0-9][0-9 .,:/-]*%?|true|false|n/?a|null"
    r"|.*@.*\..*|.*[0-9]{5,}.*|.*[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}.*",
    re.IGNORECASE | re.DOTALL,
)
_LETTERS = ((re.compile("[0-9]+"), "0"), (re.compile("[A-Z]+"), "A"), (re.compile("[^\\W\\d_A-Z]+"), "a"))


def may_be_a_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line of a file may be a row like those that follow, and no line of names.

    It may be one where a name is a number, a date, an address or the like, or occurs as a cell below itself
    (unless words stand over numbers in most of the other columns, and in two at least); else unless a name
    says what a column is, a column below a word holds numbers or dates, or words below a name look different.

    >>> may_be_a_row(["34", "f", "flu"], [["36", "m", "cold"]])
    True
    >>> may_be_a_row(["age", "sex", "disease"], [["36", "m", "cold"]])
    False
    >>> may_be_a_row(["age", "kids", "married"], [["36", "2", "married"], ["40", "0", "single"]])
    False
    """
    columns = [[row[i] for row in rows if i < len(row) and row[i] != ""] for i in range(len(names))]
    beside = list(zip(names, columns, strict=True))
    if any(_is_cell(name) for name in names):
        return True
    if again := sum(name in cells for name, cells in beside):
        named = sum(bool(cells) and all(map(_is_cell, cells)) for _, cells in beside)
        return named < LEAST_NAMED or 2 * named <= len(names) - again
    if any(words(name) & KNOWN for name in names):
        return False
    return all(_is_alike(name, cells) for name, cells in beside if cells)


def _is_cell(name: str) -> bool:
    """Whether a name is what cells are and names are not."""
    return len(name) > LONGEST_NAME or _CELL.fullmatch(name.strip()) is not None


def _is_alike(name: str, cells: Sequence[str]) -> bool:
    """Whether a name looks like one of the cells below it: capitals, small letters and digits alike."""
    return _look(name) in set(map(_look, cells))


def _look(text: str) -> str:
    for pattern, letter in _LETTERS:
        text = pattern.sub(letter, text.strip())
    return text
