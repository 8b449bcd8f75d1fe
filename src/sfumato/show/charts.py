"""Figures drawn by Altair and saved as SVG and HTML files that fetch nothing from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.show.chart import Chart, Diagram, Figure, Grid, Lines, PairedBars, Scatter
from sfumato.show.diagrams import (
    COLOURS,
    AltairChart,
    AltairModule,
    VlConvertModule,
    diagram,
    grid,
    lines,
    scatter,
)
from sfumato.show.visible_text import visible, visible_in

INK = COLOURS["ink"]


def draw(chart: Figure) -> AltairChart:
    """The figure as an Altair chart, to be shown in a notebook or changed further."""
    altair = _altair()
    match chart:
        case Chart():
            return _bars_or_line(altair, chart)
        case PairedBars():
            return _paired_bars(altair, chart)
        case Scatter():
            return scatter(altair, chart)
        case Lines():
            return lines(altair, chart)
        case Diagram():
            return diagram(altair, chart)
        case Grid():
            return grid(altair, chart)
    raise WrongCall(f"nobody knows how to draw a {type(chart).__name__}")


def _bars_or_line(altair: AltairModule, chart: Chart) -> AltairChart:
    across, up = chart.axes
    details = chart.details or [""] * len(chart.points)
    rows = [
        {"label": label, "value": value, "detail": detail}
        for (label, value), detail in zip(chart.points, details, strict=True)
    ]
    data = altair.InlineData(values=rows, format=altair.DataFormat(type="json"))
    labels = list(chart.labels)
    amount = altair.Axis(format="%", title=up) if chart.percent else altair.Axis(title=up)
    scale = altair.Scale(domain=[0, 1]) if chart.percent else altair.Undefined
    value = {"field": "value", "type": "quantitative", "axis": amount, "scale": scale}
    tips = [altair.Tooltip(field=name, type="nominal") for name in ("label", "detail")]
    tips.append(altair.Tooltip(field="value", type="quantitative", format=".1%" if chart.percent else ""))
    base = altair.Chart(data, title=chart.title)
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
    data = altair.InlineData(values=rows, format=altair.DataFormat(type="json"))
    tones = altair.Scale(domain=list(chart.kinds), range=[COLOURS["faint"], INK])
    labels = [label for label, _, _ in chart.points]
    return (
        altair.Chart(data, title=chart.title)
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


def svg(chart: Figure, *, titled: bool = True) -> str:
    """The figure as the text of an SVG file; without its title where the page around it says that."""
    words = draw(chart).to_dict()
    if not titled:
        words.pop("title", None)
    drawn: str = _converter().vegalite_to_svg(visible_in(words))
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


def _altair() -> AltairModule:
    try:
        import altair  # noqa: PLC0415  # optional
    except ImportError:
        raise _missing() from None
    return altair


def _converter() -> VlConvertModule:
    try:
        import vl_convert  # noqa: PLC0415  # optional
    except ImportError:
        raise _missing() from None
    return vl_convert


def _missing() -> WrongCall:
    return WrongCall(
        "charts need two more packages", remedy="Install them: python -m pip install 'sfumato[charts]'"
    )
