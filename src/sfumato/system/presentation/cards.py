"""A card: one fact per line, aligned, for a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from sfumato.core.verdict import Measure, Verdict
from sfumato.show.card_look import card_html, card_on_terminal
from sfumato.show.visible_text import visible

LARGEST_DENOMINATOR = 1000
"""Fractions up to this denominator are shown as they are, others as decimals."""

Lines = Sequence[tuple[str, ...]]


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
    widths: dict[int, int] = {}
    for line in lines:
        for i, cell in enumerate(line):
            widths[i] = max(widths.get(i, 0), len(cell))
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


def figure(value: Measure | None) -> str:
    """A number for people: thousands apart, short fractions as they are, four digits of the rest.

    >>> figure(12345), figure(Fraction(1, 5)), figure(Fraction(1, 3001)), figure(0.123456789), figure(None)
    ('12,345', '1/5', '0.0003332', '0.1235', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, Fraction) and value.denominator <= LARGEST_DENOMINATOR:
        return figure(value.numerator) if value.denominator == 1 else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    size = float(value)
    return f"{size:.4g}" if abs(size) < 10_000 else f"{size:,.0f}"


def several(count: int, one: str, many: str = "") -> str:
    """A count with its noun.

    >>> several(1, "row"), several(2000, "class", "classes")
    ('1 row', '2,000 classes')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def verdict_lines(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """One line per verdict, the broken ones first."""
    rank = {False: 0, None: 1, True: 2}
    lines: list[tuple[str, ...]] = []
    for v in sorted(verdicts, key=lambda v: rank[v.holds]):
        if v.holds is None:
            lines.append((v.promise, v.word, "", "", v.reason))
            continue
        line = [v.promise, v.word, f"{figure(v.measured)} measured", f"{figure(v.limit)} asked"]
        if v.holds is False and v.classes:
            line.append(
                f"{several(v.people, 'person', 'people')} in {several(v.classes, 'class', 'classes')}"
            )
        elif v.reason:
            line.append(v.reason)
        lines.append(tuple(line))
    return lines
