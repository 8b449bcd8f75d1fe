"""The first line of a file: names of columns, or cells of somebody's row that must not be shown as names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from sfumato.policy.column_names import AGES, IDENTIFIERS, PEOPLE, PLACES, words

KNOWN = frozenset(
    {*IDENTIFIERS, *PEOPLE, *PLACES, *AGES, "sex", "gender", "date", "year", "city", "country", "job"}
    | {"disease", "diagnosis", "income", "salary"}
)
"""Words that are found in names of columns, and hardly ever as a cell."""

LONGEST_NAME = 200
"""A name that is longer is none."""

MARKS = {";": "semicolons", ",": "commas", "\t": "tabs", "|": "bars", " ": "blanks"}
"""What may stand between the columns of a file that was read as one column."""

LEAST_ROWS, LEAST_MARKS = 5, 2
"""Fewer rows, or fewer marks in each, tell nothing."""

LEAST_NAMED = 2
"""Fewer words over columns of numbers do not outweigh a name that may be a cell."""

ENOUGH_NAMED = 3
"""So many different words over columns of numbers outweigh it, whatever the other columns are."""

_TELLING_CELL = re.compile(
    r"[+-]?[0-9][0-9 .,:/-]*%?|.*@.*\..*|.*[0-9]{5,}.*|.*[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}.*",
    re.IGNORECASE | re.DOTALL,
)
_WORD_OF_CELLS = re.compile(r"true|false|n/?a|null", re.IGNORECASE)
_LETTERS = ((re.compile("[0-9]+"), "0"), (re.compile("[A-Z]+"), "A"), (re.compile("[^\\W\\d_A-Z]+"), "a"))


def marks_in_one_column(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns which marks divide nearly every cell of an only column into as many parts; empty if none do.

    >>> marks_in_one_column(["Patients, March"], [["17;34;f"], ["18;35;m"], ["19;40;f"]] * 2)
    'semicolons'
    >>> marks_in_one_column(["name"], [["Ada King, Countess of Lovelace"], ["Weber, Anna"], ["Bo"]] * 2)
    ''
    """
    cells = [row[0].strip() for row in rows if len(row) == 1]
    if len(names) != 1 or len(cells) < LEAST_ROWS:
        return ""
    for mark, called in MARKS.items():
        counts = Counter(len(re.findall(" +" if mark == " " else re.escape(mark), cell)) for cell in cells)
        marks, often = counts.most_common(1)[0]
        if marks >= LEAST_MARKS and 10 * often >= 9 * len(cells):
            return called
    return ""


def may_be_a_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line of a file may be a row like those that follow, and no line of names.

    It may be one where a name is a number, a date, an address or the like. It may be one where a name occurs
    as a cell below itself, or is a word for nothing (`Na`, which is sodium, too), unless words stand over
    numbers: over three columns, or over two that are most of the others or beside a name that says what a
    column is. Else it is one unless a name says what a column is, a column below a word holds numbers or
    dates, or words below a name look different.

    >>> may_be_a_row(["34", "f", "flu"], [["36", "m", "cold"]])
    True
    >>> may_be_a_row(["age", "sex", "disease"], [["36", "m", "cold"]])
    False
    >>> may_be_a_row(["age", "kids", "married"], [["36", "2", "married"], ["40", "0", "single"]])
    False
    >>> may_be_a_row(["urban", "x", "y"], [["urban", "a", "b"], ["rural", "c", "d"]])
    True
    """
    columns = [[row[i] for row in rows if i < len(row) and row[i] != ""] for i in range(len(names))]
    beside = list(zip(names, columns, strict=True))
    if any(map(_is_telling_cell, names)):
        return True
    doubted = {name for name, cells in beside if name in cells or _is_cell(name)}
    known = any(words(name) & KNOWN for name in names if name not in doubted)
    if doubted:
        return not _words_over_numbers(beside, doubted, known=known)
    return not known and all(_is_alike(name, cells) for name, cells in beside if cells)


def _words_over_numbers(
    beside: Sequence[tuple[str, Sequence[str]]], doubted: Collection[str], *, known: bool
) -> bool:
    """Whether so many words stand over columns of numbers that the line is one of names all the same."""
    over = {name for name, cells in beside if name not in doubted and cells and all(map(_is_cell, cells))}
    if len(over) < LEAST_NAMED:
        return False
    return known or len(over) >= ENOUGH_NAMED or 2 * len(over) > len(beside) - len(doubted)


def _is_telling_cell(text: str) -> bool:
    """Whether a text is what cells are and names are not."""
    return len(text) > LONGEST_NAME or _TELLING_CELL.fullmatch(text.strip()) is not None


def _is_cell(text: str) -> bool:
    """The same, and words that cells hold where nothing is known, or yes and no."""
    return _is_telling_cell(text) or _WORD_OF_CELLS.fullmatch(text.strip()) is not None


def _is_alike(name: str, cells: Sequence[str]) -> bool:
    """Whether a name looks like one of the cells below it: capitals, small letters and digits alike."""
    return _look(name) in set(map(_look, cells))


def _look(text: str) -> str:
    for pattern, letter in _LETTERS:
        text = pattern.sub(letter, text.strip())
    return text
