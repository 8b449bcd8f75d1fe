"""Figures as data: charts, scatters, diagrams and grids, without a word on how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol

from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import visible, visible_in

Tone = Literal["ink", "accent", "green", "sand", "faint"]
"""How strongly a kind of thing is shown: `faint` is background, `accent` what it is about."""

Rows = Sequence[tuple[str, ...]]


class Figure(Protocol):
    """Anything that can be drawn. No figure holds a cell value of the data."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    def rows(self) -> Rows:
        """The figure as a table, its heads first."""


@dataclass(frozen=True)
class Chart:
    """Labels with a number each, drawn as bars or as a line through them in order.

    `details` says more about a point, for whoever points at it.

    >>> Chart("exposed", "Exposed by size", "bars", ("columns", "share"), (("1", 0.25), ("2", 1.0))).labels
    ('1', '2')
    """

    name: str
    title: str
    kind: Literal["bars", "line"]
    axes: tuple[str, str]
    points: Sequence[tuple[str, float]]
    details: Sequence[str] = ()
    percent: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label, _ in self.points)

    def rows(self) -> Rows:
        form = "{:.1%}" if self.percent else "{:,.4g}"
        return [self.axes, *((label, form.format(value)) for label, value in self.points)]


@dataclass(frozen=True)
class PairedBars:
    """Two shares for each label, drawn side by side; `kinds` names the first and the second.

    >>> PairedBars("sex", "sex", ("group", "share"), ("before", "after"), [("1", 0.5, 0.25)]).rows()
    [('group', 'before', 'after'), ('1', '50.0%', '25.0%')]
    """

    name: str
    title: str
    axes: tuple[str, str]
    kinds: tuple[str, str]
    points: Sequence[tuple[str, float, float]]

    def rows(self) -> Rows:
        heads = (self.axes[0], *self.kinds)
        return [heads, *((label, f"{left:.1%}", f"{right:.1%}") for label, left, right in self.points)]


Point = tuple[float, float]


@dataclass(frozen=True)
class Lines:
    """Series of points over two numeric axes, one line each; `boundary` is a broken line with its words.

    >>> Lines("fa", "FA", ("k", "FA"), {"all": [(40, 21), (80, 83)]}).rows()
    [('k', 'all'), ('40', '21'), ('80', '83')]
    """

    name: str
    title: str
    axes: tuple[str, str]
    series: Mapping[str, Sequence[Point]]
    boundary: tuple[str, Sequence[Point]] | None = None

    def rows(self) -> Rows:
        across = sorted({x for points in self.series.values() for x, _ in points})
        columns = [{x: f"{y:,.4g}" for x, y in points} for points in self.series.values()]
        lines = [(f"{x:,.6g}", *(column.get(x, "–") for column in columns)) for x in across]
        return [(self.axes[0], *self.series), *lines]


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


@dataclass(frozen=True)
class Grid:
    """Lines of cells below heads; each cell has a text and a kind."""

    name: str
    title: str
    heads: Sequence[str]
    lines: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    kinds: Mapping[str, Tone] = field(default_factory=dict)

    def rows(self) -> Rows:
        heads = ("", *self.heads)
        return [heads, *((label, *(text for text, _ in cells)) for label, cells in self.lines)]


# Scatters, diagrams and grids as Altair charts.

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
    label = line.mark_text(align="right", dy=-7, color=QUIET).encode(
        y=y, x=altair.value(556), text=altair.Text(field="words", type="nominal")
    )
    layers = altair.layer(rule, points, label)
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
    label = last.mark_text(align="right", dy=-7, color=QUIET).encode(
        x=x, y=y, text=altair.Text(field="words", type="nominal")
    )
    return altair.layer(broken, drawn, label).properties(**size)


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
    size = {"width": int((right + (1.95 if lying else 0.85)) * across), "height": int((top + 1.2) * up)}
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
    present = [kind for kind in kinds if kind in here]
    legend = (
        altair.Legend(title=None, orient="bottom", labelLimit=400, columns=4) if len(present) > 1 else None
    )
    scale = altair.Scale(domain=present, range=[COLOURS[kinds[kind]] for kind in present])
    return altair.Color(field="kind", type="nominal", scale=scale, legend=legend)


# Figures drawn by Altair and saved as SVG and HTML files that fetch nothing from anywhere.

INK = COLOURS["ink"]


def draw(chart: Figure) -> AltairChart:
    """The figure as an Altair chart, to be shown in a notebook or changed further."""
    altair = _installed("altair")
    draw_with = DRAWN_BY.get(type(chart))
    if draw_with is None:
        raise UsageError(f"nobody knows how to draw a {type(chart).__name__}")
    return draw_with(altair, chart)


def _bars_or_line(altair: AltairModule, chart: Chart) -> AltairChart:
    across, up = chart.axes
    details = chart.details or [""] * len(chart.points)
    rows = [
        {"label": label, "value": value, "detail": detail}
        for (label, value), detail in zip(chart.points, details, strict=True)
    ]
    labels = list(chart.labels)
    amount = altair.Axis(format="%", title=up) if chart.percent else altair.Axis(title=up)
    scale = altair.Scale(domain=[0, 1]) if chart.percent else altair.Undefined
    value = {"field": "value", "type": "quantitative", "axis": amount, "scale": scale}
    tips = [altair.Tooltip(field=name, type="nominal") for name in ("label", "detail")]
    tips.append(altair.Tooltip(field="value", type="quantitative", format=".1%" if chart.percent else ""))
    base = altair.Chart(_data(altair, rows), title=chart.title)
    if chart.kind == "bars":
        x, y = altair.X(**value), altair.Y(field="label", type="nominal", sort=labels, title=across)
        return base.mark_bar(color=INK).encode(x=x, y=y, tooltip=tips).properties(width=480)
    x = altair.X(field="label", type="ordinal", sort=labels, title=across, axis=altair.Axis(labelAngle=-30))
    line = base.mark_line(color=INK, point=altair.OverlayMarkDef(color=INK))
    return line.encode(x=x, y=altair.Y(**value), tooltip=tips).properties(width=480, height=280)


def _paired_bars(altair: AltairModule, chart: PairedBars) -> AltairChart:
    across, up = chart.axes
    rows = [
        {"label": label, "value": value, "kind": kind}
        for label, *values in chart.points
        for kind, value in zip(chart.kinds, values, strict=True)
    ]
    tones = altair.Scale(domain=list(chart.kinds), range=[COLOURS["faint"], INK])
    labels = [label for label, _, _ in chart.points]
    return (
        altair.Chart(_data(altair, rows), title=chart.title)
        .mark_bar()
        .encode(
            x=altair.X(field="label", type="nominal", sort=labels, title=across),
            xOffset=altair.XOffset(field="kind", type="nominal", sort=list(chart.kinds)),
            y=altair.Y(field="value", type="quantitative", title=up, axis=altair.Axis(format="%")),
            color=altair.Color(field="kind", type="nominal", scale=tones, title=None),
            tooltip=[altair.Tooltip(field=name, type="nominal") for name in ("label", "kind", "value")],
        )
        .properties(width=480, height=240)
    )


DRAWN_BY: Mapping[type, Callable[[AltairModule, Any], AltairChart]] = {
    Chart: _bars_or_line,
    PairedBars: _paired_bars,
    Scatter: scatter,
    Lines: lines,
    Diagram: diagram,
    Grid: grid,
}
"""How each kind of figure is drawn."""


def svg(chart: Figure, *, titled: bool = True) -> str:
    """The figure as the text of an SVG file; without its title where the page around it says that."""
    words = draw(chart).to_dict()
    if not titled:
        words.pop("title", None)
    drawn: str = _installed("vl_convert").vegalite_to_svg(visible_in(words))
    return drawn


def save(charts: Sequence[Figure], folder: str | Path) -> tuple[Path, ...]:
    """Writes one SVG per chart and a page with all of them; returns the files, the page last."""
    into = Path(folder)
    drawn = [(chart, svg(chart)) for chart in charts]
    into.mkdir(parents=True, exist_ok=True)
    files = []
    for chart, text in drawn:
        files.append(into / f"{chart.name}.svg")
        files[-1].write_text(text, encoding="utf-8")
    page = into / "charts.html"
    page.write_text(_page(drawn), encoding="utf-8")
    return (*files, page)


def _page(drawn: Sequence[tuple[Figure, str]]) -> str:
    """Every chart as a picture and as a table, for those who read rather than look."""
    parts = []
    for chart, text in drawn:
        heads, *lines = chart.rows()
        head = "".join(f"<th>{escape(visible(name))}</th>" for name in heads)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(visible(x))}</td>' for x in line)}</tr>" for line in lines
        )
        parts.append(f"<figure>{text}<figcaption><table><tr>{head}</tr>{body}</table></figcaption></figure>")
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Charts</title>'
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem}td,th{padding-right:1rem;text-align:left}"
        "</style></head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _installed(library: str) -> AltairModule | VlConvertModule:
    """Returns an optional library that draws charts; raises `UsageError` where it is not installed."""
    try:
        return import_module(library)
    except ImportError:
        raise UsageError(
            "charts need two more packages", remedy="Install them: python -m pip install 'sfumato[charts]'"
        ) from None
