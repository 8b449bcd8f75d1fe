"""Scatters, diagrams and grids as Altair charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.core.json_object import JsonObject
from sfumato.show.chart import Diagram, Grid, Lines, Scatter, Tone

# `Any`: Altair and its converter are optional packages, so there is no type to name where they are absent.
AltairModule = Any
VlConvertModule = Any
AltairChart = Any
"""A chart, or a part of one such as an axis."""

COLOURS: Mapping[Tone, str] = {
    "ink": "#3b5b7a",
    "accent": "#c8553d",
    "green": "#5b8c5a",
    "sand": "#c99a4b",
    "faint": "#ccd2d9",
}
QUIET = "#8a929b"


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
        altair.Chart(_data(altair, rows))
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
            color=_colour(altair, chart.kinds, (m.kind for m in chart.marks)),
            tooltip=[altair.Tooltip(field=name, type="nominal") for name in ("kind", "detail")],
        )
    )
    if chart.floor is None:
        return points.properties(title=chart.title, width=560, height=340)
    level, words = chart.floor
    line = altair.Chart(_data(altair, [{"y": level, "words": words}]))
    y = altair.Y(field="y", type="quantitative", title=up)
    rule = line.mark_rule(color=QUIET, strokeDash=[5, 4]).encode(y=y)
    said = line.mark_text(align="right", dy=-7, color=QUIET).encode(
        y=y, x=altair.value(556), text=altair.Text(field="words", type="nominal")
    )
    layers = altair.layer(rule, points, said)
    return layers.properties(title=chart.title, width=560, height=340)


def lines(altair: AltairModule, chart: Lines) -> AltairChart:
    """One line per series with its points marked; the boundary is broken and grey."""
    across, up = chart.axes
    rows = [{"x": x, "y": y, "kind": kind} for kind, points in chart.series.items() for x, y in points]
    kinds = list(chart.series)
    tones = [COLOURS["ink"], COLOURS["accent"], COLOURS["green"], COLOURS["sand"], "#8e5ea2", QUIET]
    colours = altair.Scale(domain=kinds, range=tones[: len(kinds)])
    x = altair.X(field="x", type="quantitative", title=across, scale=altair.Scale(zero=False, nice=False))
    y = altair.Y(field="y", type="quantitative", title=up)
    drawn = (
        altair.Chart(_data(altair, rows))
        .mark_line(point=True)
        .encode(
            x=x, y=y, color=altair.Color(field="kind", type="nominal", scale=colours, title=None, sort=kinds)
        )
    )
    size = {"title": chart.title, "width": 420, "height": 240}
    if chart.boundary is None:
        return drawn.properties(**size)
    words, points = chart.boundary
    edge = altair.Chart(_data(altair, [{"x": x, "y": y} for x, y in points]))
    broken = edge.mark_line(color=QUIET, strokeDash=[5, 4]).encode(x=x, y=y)
    last = altair.Chart(_data(altair, [{"x": points[-1][0], "y": points[-1][1], "words": words}]))
    said = last.mark_text(align="right", dy=-7, color=QUIET).encode(
        x=x, y=y, text=altair.Text(field="words", type="nominal")
    )
    return altair.layer(broken, drawn, said).properties(**size)


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
        altair.Chart(_data(altair, links))
        .mark_rule(color=COLOURS["faint"], strokeWidth=1.3)
        .encode(x=place("x", "x"), y=place("y", "y"), x2=altair.X2(field="x2"), y2=altair.Y2(field="y2"))
    )
    base = altair.Chart(_data(altair, spots)).encode(x=place("x", "x"), y=place("y", "y"))
    dots = base.mark_circle(size=90 if lying else 210, opacity=1).encode(
        color=_colour(altair, chart.kinds, (s.kind for s in chart.spots)),
        tooltip=[altair.Tooltip(field=name, type="nominal") for name in ("text", "detail")],
    )
    side = {"align": "left", "baseline": "middle", "dx": 9} if lying else {"baseline": "top", "dy": 11}
    text = altair.Text(field="text", type="nominal")
    halo = base.mark_text(fontSize=11, lineHeight=13, stroke="white", strokeWidth=4, **side).encode(text=text)
    words = base.mark_text(fontSize=11, lineHeight=13, **side).encode(text=text)
    size = {
        "width": int((right + (1.95 if lying else 0.85)) * across),
        "height": int((top + 1.2) * up),
    }
    layers = altair.layer(lines, halo, dots, words).properties(title=chart.title, **size)
    return layers.configure_view(stroke=None)


def grid(altair: AltairModule, chart: Grid) -> AltairChart:
    """A table whose cells are coloured by their kind."""
    labels, heads = [label for label, _ in chart.lines], list(chart.heads)
    rows = [
        {"line": label, "head": head, "text": text, "kind": kind}
        for label, cells in chart.lines
        for head, (text, kind) in zip(heads, cells, strict=True)
    ]
    base = altair.Chart(_data(altair, rows)).encode(
        x=altair.X(
            field="head",
            type="nominal",
            sort=heads,
            title=None,
            axis=altair.Axis(orient="top", labelAngle=0, domain=False, ticks=False),
        ),
        y=altair.Y(
            field="line",
            type="nominal",
            sort=labels,
            title=None,
            axis=altair.Axis(domain=False, ticks=False, labelLimit=260),
        ),
    )
    boxes = base.mark_rect(stroke="white", strokeWidth=3, cornerRadius=4).encode(
        color=_colour(altair, chart.kinds, (row["kind"] for row in rows))
    )
    dark = [kind for kind, tone in chart.kinds.items() if tone not in ("faint", "sand")]
    words = base.mark_text(fontSize=11).encode(
        text=altair.Text(field="text", type="nominal"),
        color=altair.condition(
            altair.FieldOneOfPredicate("kind", dark), altair.value("white"), altair.value("#333")
        ),
    )
    width = max(64, 8 * max((len(text) for row in rows for text in (row["text"], row["head"])), default=8))
    size = {"width": width * len(heads), "height": 30 * len(labels)}
    return altair.layer(boxes, words).properties(title=chart.title, **size).configure_view(stroke=None)


def _data(altair: AltairModule, rows: list[JsonObject]) -> AltairChart:
    return altair.InlineData(values=rows, format=altair.DataFormat(type="json"))


def _colour(altair: AltairModule, kinds: Mapping[str, Tone], used: Iterable[str]) -> AltairChart:
    """Colours by kind; the legend names those that occur, if there are several."""
    here = set(used)
    shown = [kind for kind in kinds if kind in here]
    legend = altair.Legend(title=None, orient="bottom", labelLimit=400, columns=4) if len(shown) > 1 else None
    scale = altair.Scale(domain=shown, range=[COLOURS[kinds[kind]] for kind in shown])
    return altair.Color(field="kind", type="nominal", scale=scale, legend=legend)
