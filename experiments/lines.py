"""Lines over a numeric axis, as a small SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDE, HIGH, EDGE, BESIDE = 640, 360, 56, 170
COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8e5ea2", "#c98b2b", "#4d4d4d")

Points = Sequence[tuple[float, float]]


def lines(title: str, across: str, up: str, series: Mapping[str, Points]) -> str:
    """One line per name, with its points marked; both axes begin at 0."""
    points = [p for some in series.values() for p in some] or [(1.0, 1.0)]
    across_at, up_at = ticks(max(x for x, _ in points)), ticks(max(y for _, y in points))
    right, top = across_at[-1], up_at[-1]

    def place(x: float, y: float) -> str:
        return (
            f"{EDGE + x / right * (WIDE - EDGE - BESIDE):.1f},{HIGH - EDGE - y / top * (HIGH - 2 * EDGE):.1f}"
        )

    low, end = HIGH - EDGE, WIDE - BESIDE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDE}" height="{HIGH}" fill="white"/>',
        f'<text x="{EDGE}" y="24" font-size="14">{escape(title)}</text>',
        f'<path d="M{EDGE},{EDGE} V{low} H{end}" fill="none" stroke="#888"/>',
        f'<text x="{(EDGE + end) // 2}" y="{HIGH - 14}" text-anchor="middle">{escape(across)}</text>',
        f'<text x="{EDGE}" y="{EDGE - 8}">{escape(up)}</text>',
    ]
    for value in across_at:
        x, _ = place(value, 0).split(",")
        parts.append(f'<text x="{x}" y="{low + 16}" text-anchor="middle">{value:g}</text>')
    for value in up_at:
        _, y = place(0, value).split(",")
        if value:
            parts.append(f'<path d="M{EDGE},{y} H{end}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{EDGE - 6}" y="{float(y) + 4}" text-anchor="end">{value:g}</text>')
    for i, (name, some) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        drawn = [place(x, y) for x, y in sorted(some)]
        parts.append(f'<polyline points="{" ".join(drawn)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for spot in drawn:
            x, y = spot.split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
        parts.append(f'<text x="{end + 12}" y="{EDGE + 18 * i}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def ticks(most: float) -> list[float]:
    """Round numbers from 0 to the first that is not below `most`, four to six of them.

    >>> ticks(0.63), ticks(10)
    ([0.0, 0.2, 0.4, 0.6, 0.8], [0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    """
    if most <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(most / 5))
    step = next(s * power for s in (1, 2, 5, 10) if s * power * 5 >= most * (1 - 1e-9))
    return [round(i * step, 12) for i in range(ceil(most / step - 1e-9) + 1)]
