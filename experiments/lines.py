"""Lines over a numeric axis, as a small SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDE, HIGH, EDGE, BESIDE = 640, 360, 56, 170
COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8e5ea2", "#c98b2b", "#4d4d4d")

Points = Sequence[tuple[float, float]]


def lines(title: str, across: str, up: str, series: Mapping[str, Points]) -> str:
    """One line per name, with its points marked; both axes begin at 0."""
    points = [p for some in series.values() for p in some] or [(1.0, 1.0)]
    right, top = max(x for x, _ in points) or 1.0, max(y for _, y in points) or 1.0

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
    for share in (0.0, 0.5, 1.0):
        x, y = place(share * right, share * top).split(",")
        parts.append(f'<text x="{x}" y="{low + 16}" text-anchor="middle">{share * right:.3g}</text>')
        parts.append(f'<text x="{EDGE - 6}" y="{float(y) + 4}" text-anchor="end">{share * top:.3g}</text>')
    for i, (name, some) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        drawn = [place(x, y) for x, y in sorted(some)]
        parts.append(f'<polyline points="{" ".join(drawn)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for spot in drawn:
            x, y = spot.split(",")
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
        parts.append(f'<text x="{end + 12}" y="{EDGE + 18 * i}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])
