"""How a card looks in a notebook and on a terminal: the verdict first, colour beside words, room to breathe.

Colours never stand alone: each belongs to a word or a sign, and was chosen to be read on light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from sfumato.core.verdict import WITHSTOOD, WITHSTOOD_IN_PART

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
    kept = bool(cells & {"holds", "sealed", "every promise holds"})
    if any(_mood(cell) == "bad" for cell in cells - {"BREACH"}):
        return "bad", "a promise is BROKEN"
    if "BREACH" in cells:
        return "open" if kept else "bad", "an attack gets further"
    if "not decidable" in cells:
        return "open", "not all is decided"
    if kept:
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
    said = "".join(f'<p style="margin:.25em 0">{escape(note)}</p>' for note in notes)
    return (
        f'<div style="border-left:.3em solid {INK[mood]};padding:.5em 0 .5em 1.2em;margin:.6em 0">'
        f'<p style="margin:0 0 .5em;font-size:1.1em"><b>{badge}{escape(title)}</b></p>{tables}{said}</div>'
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
    widths: dict[int, int] = {}
    for line in block:
        for i, cell in enumerate(line):
            widths[i] = max(widths.get(i, 0), len(cell))
    return [
        ("  " + "   ".join(_padded(cell, widths[i], colour) for i, cell in enumerate(line))).rstrip()
        for line in block
    ]


def _padded(cell: str, width: int, colour: bool) -> str:
    return _painted(cell, _mood(cell), colour) + " " * (width - len(cell))


def _painted(text: str, mood: CardMood, colour: bool) -> str:
    return f"{BOLD}{ESCAPES[mood]}{text}{RESET}" if colour and text and mood != "plain" else text
