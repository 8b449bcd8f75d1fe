"""A picture of threats: one line per value that could be inferred, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape

from sfumato.models.freeform.attack import FreeformFinding

ROW, LEFT, WIDTH, RIGHT, TOP = 18, 230, 420, 30, 46
INK, BEFORE, AFTER, LIMIT = "#444444", "#d55e00", "#0072b2", "#999999"


def threat_chart(
    before: Sequence[FreeformFinding], after: Sequence[FreeformFinding], limit: Fraction, *, title: str = ""
) -> str:
    """An SVG: per column and value the largest threat before (ring) and after (dot), and the limit.

    A value without a dot can no longer be inferred: nothing as specific is published. The names of values
    are shown, so the picture is for the publisher.
    """
    first = {f.infers: f.threat for f in before}
    then = {f.infers: f.threat for f in after}
    places = sorted({*first, *then}, key=lambda p: (p[0], -max(first.get(p, 0), then.get(p, 0)), str(p[1])))
    height = TOP + ROW * len(places) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="18" font-size="13">{escape(title)}</text>',
        *_axis(height, limit),
    ]
    for i, place in enumerate(places):
        y = TOP + ROW * i + ROW // 2
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(_name(place))}</text>')
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#eeeeee"/>')
        if place in first:
            ring = f'fill="none" stroke="{BEFORE}" stroke-width="2"'
            parts.append(f'<circle cx="{_x(first[place])}" cy="{y}" r="5" {ring}/>')
        if place in then:
            parts.append(f'<circle cx="{_x(then[place])}" cy="{y}" r="4" fill="{AFTER}"/>')
    return "\n".join([*parts, "</svg>", ""])


def _axis(height: int, limit: Fraction) -> list[str]:
    bottom = height - 30
    ticks = [
        f'<text x="{_x(Fraction(k, 4))}" y="{bottom + 14}" text-anchor="middle">{k / 4:g}</text>'
        for k in range(5)
    ]
    x = _x(limit)
    return [
        *ticks,
        f'<line x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{bottom}" stroke="{LIMIT}" stroke-dasharray="4 3"/>',
        f'<text x="{x}" y="{TOP - 10}" text-anchor="middle">threat allowed {limit}</text>',
        f'<circle cx="{LEFT + 10}" cy="{height - 6}" r="4" fill="none" stroke="{BEFORE}" stroke-width="2"/>'
        f'<text x="{LEFT + 20}" y="{height - 2}">before</text>'
        f'<circle cx="{LEFT + 90}" cy="{height - 6}" r="4" fill="{AFTER}"/>'
        f'<text x="{LEFT + 100}" y="{height - 2}">after</text>',
    ]


def _x(threat: Fraction) -> str:
    return f"{LEFT + float(threat) * WIDTH:.1f}"


def _name(place: tuple[str, str | None]) -> str:
    return f"{place[0]} = {'(empty)' if place[1] is None else place[1]}"
