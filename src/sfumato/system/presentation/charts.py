"""Figures as data: charts, lines and grids; then how they are drawn."""

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


# Lines and grids as Altair charts.

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
        altair.Chart(inline(altair, rows))
        .mark_line(point=True)
        .encode(
            x=x, y=y, color=altair.Color(field="kind", type="nominal", scale=colours, title=None, sort=kinds)
        )
    )
    size = {"title": chart.title, "width": 420, "height": 240}
    if chart.boundary is None:
        return drawn.properties(**size)
    words, points = chart.boundary
    edge = altair.Chart(inline(altair, [{"x": x, "y": y} for x, y in points]))
    broken = edge.mark_line(color=QUIET, strokeDash=[5, 4]).encode(x=x, y=y)
    last = altair.Chart(inline(altair, [{"x": points[-1][0], "y": points[-1][1], "words": words}]))
    label = last.mark_text(align="right", dy=-7, color=QUIET).encode(
        x=x, y=y, text=altair.Text(field="words", type="nominal")
    )
    return altair.layer(broken, drawn, label).properties(**size)


def grid(altair: AltairModule, chart: Grid) -> AltairChart:
    """A table whose cells are coloured by their kind."""
    labels, heads = [label for label, _ in chart.lines], list(chart.heads)
    rows = [
        {"line": label, "head": head, "text": text, "kind": kind}
        for label, cells in chart.lines
        for head, (text, kind) in zip(heads, cells, strict=True)
    ]
    base = altair.Chart(inline(altair, rows)).encode(
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
        color=colour_by_kind(altair, chart.kinds, (row["kind"] for row in rows))
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


def inline(altair: AltairModule, rows: list[JsonObject]) -> AltairChart:
    """Rows as data that stand in the chart itself."""
    return altair.InlineData(values=rows, format=altair.DataFormat(type="json"))


def colour_by_kind(altair: AltairModule, kinds: Mapping[str, Tone], used: Iterable[str]) -> AltairChart:
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
    base = altair.Chart(inline(altair, rows), title=chart.title)
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
        altair.Chart(inline(altair, rows), title=chart.title)
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


DRAWN_BY: dict[type, Callable[[AltairModule, Any], AltairChart]] = {
    Chart: _bars_or_line,
    PairedBars: _paired_bars,
    Lines: lines,
    Grid: grid,
}
"""How each kind of figure is drawn; whoever has a figure of another kind adds to it."""


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
