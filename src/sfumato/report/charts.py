"""Charts as files: SVG for documents, HTML with everything inside, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from sfumato.terms.chart import Chart
from sfumato.terms.errors import WrongCall

INK = "#3b5b7a"


def draw(chart: Chart) -> Any:
    """The chart as an Altair chart, to be shown in a notebook or changed further."""
    altair = _altair()
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


def save(charts: Sequence[Chart], folder: str | Path) -> tuple[Path, ...]:
    """One SVG per chart and a page with all of them; the files, the page last."""
    convert = _converter()
    into = Path(folder)
    drawn = [(chart, convert.vegalite_to_svg(draw(chart).to_dict())) for chart in charts]
    into.mkdir(parents=True, exist_ok=True)
    files = []
    for chart, svg in drawn:
        files.append(into / f"{chart.name}.svg")
        files[-1].write_text(svg, encoding="utf-8")
    page = into / "charts.html"
    page.write_text(_page(drawn), encoding="utf-8")
    return (*files, page)


def _page(drawn: Sequence[tuple[Chart, str]]) -> str:
    """Every chart as a picture and as a table, for those who read rather than look."""
    parts = []
    for chart, svg in drawn:
        head = "".join(f"<th>{escape(name)}</th>" for name in chart.axes)
        body = "".join(f"<tr><td>{escape(x)}</td><td>{_number(y, chart)}</td></tr>" for x, y in chart.points)
        parts.append(f"<figure>{svg}<figcaption><table><tr>{head}</tr>{body}</table></figcaption></figure>")
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Charts</title>'
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem}td,th{padding-right:1rem;text-align:left}"
        "</style></head>\n<body>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _number(value: float, chart: Chart) -> str:
    return f"{value:.1%}" if chart.percent else f"{value:,.4g}"


def _altair() -> Any:
    try:
        import altair  # noqa: PLC0415
    except ImportError:
        raise _missing() from None
    return altair


def _converter() -> Any:
    try:
        import vl_convert  # noqa: PLC0415
    except ImportError:
        raise _missing() from None
    return vl_convert


def _missing() -> WrongCall:
    return WrongCall(
        "charts need two more packages", remedy="Install them: python -m pip install 'sfumato[charts]'"
    )
