"""A card: one fact per line, aligned, for a terminal or a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from sfumato.terms.verdict import Measure, Verdict


@dataclass(frozen=True)
class Card:
    """A title, lines of cells that align below each other, and notes.

    >>> lines = ("zip", "400 values", "12 groups"), ("sex", "2 values", "*")
    >>> print(Card("plan", lines, notes=("nothing suppressed",)))
    plan
    zip  400 values  12 groups
    sex  2 values    *
    nothing suppressed
    """

    title: str
    lines: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        widths: dict[int, int] = {}
        for line in self.lines:
            for i, cell in enumerate(line):
                widths[i] = max(widths.get(i, 0), len(cell))
        aligned = [
            "  ".join(cell.ljust(widths[i]) for i, cell in enumerate(line)).rstrip() for line in self.lines
        ]
        return "\n".join([self.title, *aligned, *self.notes])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(c)}</td>' for c in line)}</tr>" for line in self.lines)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<div><p><b>{escape(self.title)}</b></p><table><tbody>{rows}</tbody></table>{notes}</div>"


def figure(value: Measure | None) -> str:
    """A number for people: thousands apart, fractions as they are, at most six digits of the rest.

    >>> figure(12345), figure(Fraction(1, 5)), figure(0.123456789), figure(None)
    ('12,345', '1/5', '0.123457', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, Fraction):
        return figure(value.numerator) if value.denominator == 1 else str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def several(count: int, one: str, many: str = "") -> str:
    """A count with its noun.

    >>> several(1, "row"), several(2000, "class", "classes")
    ('1 row', '2,000 classes')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def verdict_lines(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """One line per verdict, the broken ones first."""
    rank = {False: 0, None: 1, True: 2}
    lines = []
    for v in sorted(verdicts, key=lambda v: rank[v.holds]):
        line = [v.promise, v.word, f"{figure(v.measured)} measured", f"{figure(v.limit)} asked"]
        if v.holds is False:
            line.append(
                f"{several(v.people, 'person', 'people')} in {several(v.classes, 'class', 'classes')}"
            )
        elif v.reason:
            line.append(v.reason)
        lines.append(tuple(line))
    return lines
