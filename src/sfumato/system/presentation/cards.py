"""A card: one fact per line, aligned, for a terminal or a notebook."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from html import escape
from itertools import groupby, zip_longest
from typing import Any, Literal

from sfumato.system.errors import UsageError, short
from sfumato.system.json_object import JsonObject
from sfumato.system.verdict import WITHSTOOD, WITHSTOOD_IN_PART, Measure, Verdict

# Text that shows everything it holds: control characters and marks that turn text around are spelled out.


INVISIBLE = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])
"""Categories of characters that steer a terminal, change how others are read, or cannot be written."""


def visible(text: str, *, keep: str = "") -> str:
    """Returns the text with invisible characters by their numbers, but for those to `keep`.

    Not by a backslash: what draws charts would read it as the character again.

    >>> visible("ag\\x1b[31me"), visible("two\\nlines", keep="\\n")
    ('ag<U+001B>[31me', 'two\\nlines')
    """
    if text.isprintable():
        return text
    return "".join(_shown(c) if c not in keep and unicodedata.category(c) in INVISIBLE else c for c in text)


def visible_in(value: Any) -> Any:  # whatever JSON holds, and the same again
    """Returns a JSON value with every text in it visible, and every name."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(name): visible_in(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [visible_in(part) for part in value]
    return value


def escaped_json(text: str) -> str:
    """Returns a JSON text in which strings spell out what nobody sees: the same document.

    >>> escaped_json('{"a\\u202e": 1}')
    '{"a\\\\u202e": 1}'
    """
    if text.isprintable():
        return text
    return "".join(
        json.dumps(c)[1:-1] if c != "\n" and unicodedata.category(c) in INVISIBLE else c for c in text
    )


def _shown(character: str) -> str:
    return f"<U+{ord(character):04X}>"


# How a card looks in a notebook and on a terminal: the verdict first, colour beside words, room to breathe.
#
# Colours never stand alone: each belongs to a word or a sign, and was chosen to be read on light and dark.

CardMood = Literal["good", "bad", "open", "plain"]
Lines = Sequence[tuple[str, ...]]

WORDS: dict[str, CardMood] = {
    "holds": "good",
    "sealed": "good",
    WITHSTOOD: "good",
    "every promise holds": "good",
    "BROKEN": "bad",
    "BREACH": "bad",
    "does not hold": "bad",
    "not decidable": "open",
    WITHSTOOD_IN_PART: "open",
}
"""Cells that say what something came to."""
SIGNS: dict[CardMood, str] = {"good": "✔", "bad": "✘", "open": "?", "plain": ""}
INK: dict[CardMood, str] = {"good": "#1d6b3f", "bad": "#a01f24", "open": "#7a5300", "plain": "#5a6875"}
ESCAPES: dict[CardMood, str] = {"good": "\x1b[32m", "bad": "\x1b[31m", "open": "\x1b[33m", "plain": ""}
BOLD, RESET = "\x1b[1m", "\x1b[0m"

_CELL = "padding:.28em 1.8em .28em 0;text-align:left;vertical-align:top;border:0;background:none"


def verdict_of(blocks: Sequence[Lines]) -> tuple[CardMood, str]:
    """Returns what the cells of a card come to together, in a word and in its words; the worst counts.

    An attack that gets further than was promised against breaks no promise: it is said by itself.

    >>> verdict_of([[("k-anonymity", "holds"), ("linkage", "BREACH")]]), verdict_of([[("zip", "4 values")]])
    (('open', 'an attack gets further'), ('plain', ''))
    """
    cells = {cell for block in blocks for line in block for cell in line}
    holds = bool(cells & {"holds", "sealed", "every promise holds"})
    if any(_mood(cell) == "bad" for cell in cells - {"BREACH"}):
        return "bad", "a promise is BROKEN"
    if "BREACH" in cells:
        return "open" if holds else "bad", "an attack gets further"
    if "not decidable" in cells:
        return "open", "not all is decided"
    if holds:
        return "good", "all hold"
    if WITHSTOOD_IN_PART in cells:
        return "open", WITHSTOOD_IN_PART
    return ("good", WITHSTOOD) if WITHSTOOD in cells else ("plain", "")


def _mood(cell: str) -> CardMood:
    return "bad" if cell.startswith("BROKEN:") else WORDS.get(cell, "plain")


def card_html(title: str, blocks: Sequence[Lines], notes: Sequence[str]) -> str:
    """Returns a card for a notebook: styles stand in its elements, since a notebook may drop style sheets."""
    mood, verdict = verdict_of(blocks)
    badge = _coloured_html(f"{SIGNS[mood]} {verdict}", mood) + " " if verdict else ""
    tables = "".join(
        f'<table style="border-collapse:collapse;margin:.7em 0">'
        f"<tbody>{''.join(_row(line) for line in block)}</tbody></table>"
        for block in blocks
    )
    remarks = "".join(f'<p style="margin:.25em 0">{escape(note)}</p>' for note in notes)
    return (
        f'<div style="border-left:.3em solid {INK[mood]};padding:.5em 0 .5em 1.2em;margin:.6em 0">'
        f'<p style="margin:0 0 .5em;font-size:1.1em"><b>{badge}{escape(title)}</b></p>{tables}{remarks}</div>'
    )


def _coloured_html(text: str, mood: CardMood) -> str:
    style = f"background:{INK[mood]};color:#fff;border-radius:.25em;padding:.05em .5em;font-weight:700"
    return f'<span style="{style}">{escape(text)}</span>'


def _row(line: tuple[str, ...]) -> str:
    cells = "".join(f'<td style="{_CELL}">{_html_cell(cell)}</td>' for cell in line)
    return f'<tr style="background:none">{cells}</tr>'


def _html_cell(cell: str) -> str:
    mood = _mood(cell)
    return escape(cell) if mood == "plain" else _coloured_html(cell, mood)


def card_on_terminal(title: str, blocks: Sequence[Lines], notes: Sequence[str], *, colour: bool) -> str:
    """Returns a card for whoever looks at a terminal: blocks apart, columns wide, verdicts in colour."""
    mood, verdict = verdict_of(blocks)
    first = f"{_painted(f'{SIGNS[mood]} {verdict}', mood, colour)}   " if verdict else ""
    head = first + (f"{BOLD}{title}{RESET}" if colour else title)
    parts = [head, *("\n".join(_spaced(block, colour)) for block in blocks)]
    return "\n\n".join([*parts, *(["\n".join(notes)] if notes else [])])


def _spaced(block: Lines, colour: bool) -> list[str]:
    widths = _widths(block)
    return [
        ("  " + "   ".join(_padded(cell, widths[i], colour) for i, cell in enumerate(line))).rstrip()
        for line in block
    ]


def _widths(lines: Lines) -> list[int]:
    """Returns how wide the widest cell of every column is; lines need not have all columns."""
    return [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]


def _padded(cell: str, width: int, colour: bool) -> str:
    return _painted(cell, _mood(cell), colour) + " " * (width - len(cell))


def _painted(text: str, mood: CardMood, colour: bool) -> str:
    return f"{BOLD}{ESCAPES[mood]}{text}{RESET}" if colour and text and mood != "plain" else text


LARGEST_DENOMINATOR = 1000
"""Fractions up to this denominator are shown as they are, others as decimals."""


@dataclass(frozen=True)
class Card:
    """A title, lines of cells that align below each other (an empty line starts afresh), and notes.

    >>> lines = [("k-anonymity", "holds"), (), ("zip", "400 values", "12 groups"), ("sex", "2 values", "*")]
    >>> print(Card("plan", lines, notes=("nothing suppressed",)))
    plan
      k-anonymity  holds
      zip  400 values  12 groups
      sex  2 values    *
    nothing suppressed
    """

    title: str
    lines: Lines = ()
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        indented = [f"  {line}" for block in self._blocks for line in aligned(block)]
        return "\n".join([visible(self.title), *indented, *(visible(note, keep="\n") for note in self.notes)])

    def _repr_html_(self) -> str:
        return card_html(visible(self.title), self._blocks, [visible(note) for note in self.notes])

    def on_terminal(self, *, colour: bool) -> str:
        """Returns the card for whoever looks at a terminal; `str` is for files and programs."""
        notes = [visible(note, keep="\n") for note in self.notes]
        return card_on_terminal(visible(self.title), self._blocks, notes, colour=colour)

    @property
    def _blocks(self) -> list[Lines]:
        lines = [tuple(map(visible, line)) for line in self.lines]
        return [list(block) for full, block in groupby(lines, key=bool) if full]


def aligned(lines: Lines) -> list[str]:
    """The cells of every line joined, each column as wide as its widest cell."""
    widths = _widths(lines)
    return ["  ".join(cell.ljust(widths[i]) for i, cell in enumerate(line)).rstrip() for line in lines]


class Printable:
    """Shows a result by its card, as text and in a notebook."""

    def card(self) -> Card:
        """The result in a few lines."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.card())

    def _repr_html_(self) -> str:
        return self.card()._repr_html_()


def format_number(value: Measure | None) -> str:
    """A number for people: thousands apart, short fractions as they are, four digits of the rest.

    >>> values = (12345, Fraction(1, 5), Fraction(1, 3001), 0.123456789, None)
    >>> tuple(format_number(value) for value in values)
    ('12,345', '1/5', '0.0003332', '0.1235', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, Fraction) and value.denominator <= LARGEST_DENOMINATOR:
        return format_number(value.numerator) if value.denominator == 1 else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    size = float(value)
    return f"{size:.4g}" if abs(size) < 10_000 else f"{size:,.0f}"


def pluralize(count: int, singular: str, many: str = "") -> str:
    """A count with its noun.

    >>> pluralize(1, "row"), pluralize(2000, "class", "classes")
    ('1 row', '2,000 classes')
    """
    return f"{count:,} {singular if count == 1 else many or singular + 's'}"


def verdict_lines(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """One line per verdict, the broken ones first."""
    rank = {False: 0, None: 1, True: 2}
    lines: list[tuple[str, ...]] = []
    for v in sorted(verdicts, key=lambda v: rank[v.holds]):
        if v.holds is None:
            lines.append((v.promise, v.word, "", "", v.reason))
            continue
        line = [v.promise, v.word, f"{format_number(v.measured)} measured", f"{format_number(v.limit)} asked"]
        if v.holds is False and v.classes:
            line.append(
                f"{pluralize(v.people, 'person', 'people')} in {pluralize(v.classes, 'class', 'classes')}"
            )
        elif v.reason:
            line.append(v.reason)
        lines.append(tuple(line))
    return lines


def not_protected_lines(
    columns: Mapping[str, int], people: Mapping[str, int] | None = None
) -> list[tuple[str, ...]]:
    """One line per sensitive column of which promises protect no values, or so many alone.

    `people` says for how many one of the others is certain, where that is known.

    >>> not_protected_lines({"income": 0, "disability": 1}, {"income": 12, "disability": 1})
    [('not protected: income', 'every value', 'certain for 12 people'), \
('not protected: disability', 'all but 1 value', 'certain for 1 person')]
    """
    return [
        (
            f"not protected: {short(name)}",
            f"all but {pluralize(count, 'value')}" if count else "every value",
            *([f"certain for {pluralize(people[name], 'person', 'people')}"] if people is not None else []),
        )
        for name, count in columns.items()
    ]


# Results as JSON documents, nothing lost: fractions stay exact, as text.


def json_ready(value: object) -> Any:  # what JSON holds: the caller knows which of it
    """The value as mappings, lists, text and numbers; a fraction becomes `"1/5"`.

    Of a dataclass, the fields that its repr shows.

    >>> import numpy as np
    >>> json_ready({"t": Fraction(1, 5), "worst": np.int64(3), "columns": ("zip", None)})
    {'t': '1/5', 'worst': 3, 'columns': ['zip', None]}
    """
    import numpy as np  # noqa: PLC0415  # every command shows cards, and few have numbers

    if isinstance(value, Enum | np.generic):
        return value.value if isinstance(value, Enum) else value.item()
    if value is None or isinstance(value, bool | int | float | str | Fraction):
        return str(value) if isinstance(value, Fraction) else value
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if is_dataclass(value):  # `getattr`: any dataclass may come, and its fields are known by name only
        return {f.name: json_ready(getattr(value, f.name)) for f in fields(value) if f.repr}
    if not isinstance(value, Iterable):
        raise UsageError(f"a {type(value).__name__} has no place in a JSON document")
    return [json_ready(item) for item in value]


def verdict_document(verdict: Verdict) -> JsonObject:
    """A verdict with its margin, as JSON; one that is undecided measured nothing.

    >>> document = verdict_document(Verdict("t-closeness", True, Fraction(1, 8), Fraction(1, 5)))
    >>> document["measured"], document["margin"], document["decimals"]
    ('1/8', '3/40', {'measured': 0.125, 'limit': 0.2, 'margin': 0.075})
    """
    decided = replace(verdict, measured=None, worst=None) if verdict.holds is None else verdict
    numbers = {"measured": decided.measured, "limit": decided.limit, "margin": decided.margin}
    return {**json_ready(decided), "margin": json_ready(decided.margin), "decimals": decimals(numbers)}


def decimals(numbers: Mapping[str, object]) -> dict[str, float]:
    """The fractions among these, as decimals, for readers that do not calculate with text."""
    return {key: float(value) for key, value in numbers.items() if isinstance(value, Fraction)}
