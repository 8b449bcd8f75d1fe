"""Figures of experiments as SVG files: those of the library, and scatters and diagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.system.presentation.charts import (
    COLOURS,
    DRAWN_BY,
    QUIET,
    AltairChart,
    AltairModule,
    Figure,
    Rows,
    Tone,
    colour_by_kind,
    inline,
    svg,
)


@dataclass(frozen=True)
class Mark:
    """A point of a scatter, for `weight` things that share the place."""

    x: float
    y: float
    kind: str
    weight: int = 1
    detail: str = ""


@dataclass(frozen=True)
class Scatter:
    """Points over two numeric axes, in kinds; `floor` is a line across, with its words."""

    name: str
    title: str
    axes: tuple[str, str]
    marks: Sequence[Mark]
    kinds: Mapping[str, Tone]
    floor: tuple[float, str] | None = None

    def rows(self) -> Rows:
        across, up = self.axes
        lines = []
        for kind in self.kinds:
            marks = [m for m in self.marks if m.kind == kind]
            if marks:
                wide = f"{min(m.x for m in marks):,.4g} to {max(m.x for m in marks):,.4g}"
                high = f"{min(m.y for m in marks):,.4g} to {max(m.y for m in marks):,.4g}"
                lines.append((kind, f"{sum(m.weight for m in marks):,}", wide, high))
        return [("kind", "number", across, up), *lines]


@dataclass(frozen=True)
class Spot:
    """A place of a diagram, in steps from its lower left corner; `text` may have several lines."""

    x: float
    y: float
    text: str
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Diagram:
    """Spots and links between them. Words stand below a spot, or, as in a tree that lies, to its right.

    `step` is how many pixels a unit of x and of y takes.
    """

    name: str
    title: str
    spots: Sequence[Spot]
    links: Sequence[tuple[int, int]]
    kinds: Mapping[str, Tone]
    words: Literal["below", "right"] = "below"
    step: tuple[int, int] = (110, 90)

    def rows(self) -> Rows:
        heads = ("what", "kind", "more")
        return [heads, *((s.text.replace("\n", ", "), s.kind, s.detail) for s in self.spots)]


def scatter(altair: AltairModule, chart: Scatter) -> AltairChart:
    """Points over two axes, the upright one logarithmic; larger where several things share a place."""
    across, up = chart.axes
    rows = [
        {"x": m.x, "y": m.y, "kind": m.kind, "weight": m.weight, "detail": m.detail}
        for m in sorted(chart.marks, key=lambda m: list(chart.kinds).index(m.kind), reverse=True)
    ]
    heaviest, small = max((m.weight for m in chart.marks), default=1), 110 if len(chart.marks) <= 100 else 40
    around = {"nice": False, "padding": 14}
    points = (
        altair.Chart(inline(altair, rows))
        .mark_circle(opacity=0.85)
        .encode(
            x=altair.X(
                field="x", type="quantitative", title=across, scale=altair.Scale(zero=False, **around)
            ),
            y=altair.Y(
                field="y",
                type="quantitative",
                scale=altair.Scale(type="log", **around),
                axis=altair.Axis(title=up, tickCount=6, format=",d"),
            ),
            size=altair.Size(
                field="weight",
                type="quantitative",
                scale=altair.Scale(domain=[1, max(2, heaviest)], range=[small, 3 * small]),
                legend=None,
            ),
            color=colour_by_kind(altair, chart.kinds, (m.kind for m in chart.marks)),
            tooltip=[altair.Tooltip(field=name, type="nominal") for name in ("kind", "detail")],
        )
    )
    if chart.floor is None:
        return points.properties(title=chart.title, width=560, height=340)
    level, words = chart.floor
    line = altair.Chart(inline(altair, [{"y": level, "words": words}]))
    y = altair.Y(field="y", type="quantitative", title=up)
    rule = line.mark_rule(color=QUIET, strokeDash=[5, 4]).encode(y=y)
    label = line.mark_text(align="right", dy=-7, color=QUIET).encode(
        y=y, x=altair.value(556), text=altair.Text(field="words", type="nominal")
    )
    layers = altair.layer(rule, points, label)
    return layers.properties(title=chart.title, width=560, height=340)


def diagram(altair: AltairModule, chart: Diagram) -> AltairChart:
    """Spots where they are said to be, links below them, words beside them."""
    across, up = chart.step
    right, top = max((s.x for s in chart.spots), default=0), max((s.y for s in chart.spots), default=0)
    lying = chart.words == "right"
    span = {
        "x": altair.Scale(domain=[-0.35, right + (1.6 if lying else 0.5)], nice=False),
        "y": altair.Scale(domain=[-0.6, top + 0.6], nice=False),
    }

    def place(name: str, field: str) -> AltairChart:
        kind = altair.X if name == "x" else altair.Y
        return kind(field=field, type="quantitative", axis=None, scale=span[name])

    spots = [
        {"x": s.x, "y": s.y, "text": s.text.split("\n"), "kind": s.kind, "detail": s.detail}
        for s in chart.spots
    ]
    ends = [(chart.spots[a], chart.spots[b]) for a, b in chart.links]
    links = [{"x": a.x, "y": a.y, "x2": b.x, "y2": b.y} for a, b in ends]
    lines = (
        altair.Chart(inline(altair, links))
        .mark_rule(color=COLOURS["faint"], strokeWidth=1.3)
        .encode(x=place("x", "x"), y=place("y", "y"), x2=altair.X2(field="x2"), y2=altair.Y2(field="y2"))
    )
    base = altair.Chart(inline(altair, spots)).encode(x=place("x", "x"), y=place("y", "y"))
    dots = base.mark_circle(size=90 if lying else 210, opacity=1).encode(
        color=colour_by_kind(altair, chart.kinds, (s.kind for s in chart.spots)),
        tooltip=[altair.Tooltip(field=name, type="nominal") for name in ("text", "detail")],
    )
    side = {"align": "left", "baseline": "middle", "dx": 9} if lying else {"baseline": "top", "dy": 11}
    text = altair.Text(field="text", type="nominal")
    halo = base.mark_text(fontSize=11, lineHeight=13, stroke="white", strokeWidth=4, **side).encode(text=text)
    words = base.mark_text(fontSize=11, lineHeight=13, **side).encode(text=text)
    size = {"width": int((right + (1.95 if lying else 0.85)) * across), "height": int((top + 1.2) * up)}
    layers = altair.layer(lines, halo, dots, words).properties(title=chart.title, **size)
    return layers.configure_view(stroke=None)


DRAWN_BY.update({Scatter: scatter, Diagram: diagram})


def draw_figure(figure: Figure, folder: Path) -> Path:
    """Draws a figure into the file of its name; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{figure.name}.svg"
    path.write_text(svg(figure) + "\n", encoding="utf-8")
    return path
