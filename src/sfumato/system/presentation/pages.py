"""Articles as HTML: one file with everything in it, no script, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from sfumato.show.article import (
    Article,
    BarFigure,
    Block,
    Callout,
    Cell,
    Facts,
    Heading,
    Listing,
    Mood,
    Paragraph,
    Section,
    Signatures,
    Text,
    Verbatim,
    pieces_of,
)
from sfumato.show.chart import Chart
from sfumato.show.visible_text import visible

LINE_END = "\n"
FILLED = "v"
"""The class of what is no fixed word of the program."""
MOODS: dict[Mood, str] = {"good": "✔", "bad": "✘", "open": "?", "plain": ""}
"""A sign beside the colour, for whoever does not see it."""


@cache
def style() -> str:
    """Returns the style sheet; widths of bars are classes, so that no element needs a style of its own."""
    sheet = files("sfumato.show").joinpath("article_style.css").read_text(encoding="utf-8")
    widths = "".join(f".w{i}{{width:{i}%}}" for i in range(101))
    return sheet.replace("\n", "") + widths


def article_page(article: Article) -> str:
    """Returns the page; whatever was filled in is escaped and marked.

    A content policy allows the style sheet, by its digest, and nothing else: no script, picture or frame.
    """
    allowed = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    body = "\n".join(_section(section) for section in article.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{_plain(article.name)}</title><style>{style()}</style></head>\n<body>\n"
        f"{_head(article)}\n{body}\n{_footer(article)}</body>\n</html>\n"
    )


def _head(article: Article) -> str:
    kicker = f'<p class="kicker">{_marked(article.kicker)}</p>' if article.kicker else ""
    summary = "".join(f"<p>{_marked(text)}</p>" for text in article.summary)
    sign = f"{MOODS[article.mood]} " if MOODS[article.mood] else ""
    return (
        f"<header>{kicker}<h1>{_marked(article.title)}</h1>"
        f'<div class="banner {article.mood}"><p class="verdict">{sign}{_marked(article.verdict)}</p>'
        f"{summary}</div></header>"
    )


def _footer(article: Article) -> str:
    return f"<footer>{_marked(article.footer)}</footer>\n" if article.footer else ""


def _section(section: Section) -> str:
    lead = f'<p class="lead">{_marked(section.lead)}</p>' if section.lead else ""
    blocks = "\n".join(_block(block) for block in section.blocks)
    return f"<section><h2>{_marked(section.title)}</h2>{lead}\n{blocks}</section>"


def _block(block: Block) -> str:
    match block:
        case Heading():
            html = f"<h3>{_marked(block.text)}</h3>"
        case Paragraph():
            mark = ' class="small"' if block.small else ""
            html = f"<p{mark}>{_marked(block.text)}</p>"
        case Callout():
            html = f'<div class="callout {block.mood}">{_marked(block.text)}</div>'
        case Facts():
            pairs = (f"<dt>{_marked(name)}</dt><dd>{_marked(value)}</dd>" for name, value in block.pairs)
            html = f"<dl>{''.join(pairs)}</dl>"
        case Listing():
            html = _listing(block)
        case BarFigure():
            html = _bars(block)
        case Verbatim():
            html = f'<pre class="{FILLED}">{escape(visible(block.text, keep=LINE_END))}</pre>'
        case Signatures():
            places = "".join(f"<div>{_marked(place)}</div>" for place in block.places)
            html = f'<div class="sign">{places}</div>'
    return html


def _listing(table: Listing) -> str:
    heads = "".join(f"<th>{_marked(head)}</th>" for head in table.heads)
    lines = "".join(f"<tr>{_cells(table.heads, line)}</tr>" for line in table.lines)
    return (
        f'<div class="scroll"><table class="stack"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cells(heads: Sequence[Text], line: Sequence[Cell]) -> str:
    return "".join(
        f'<td data-head="{_plain(head)}">{_cell(cell)}</td>' for head, cell in zip(heads, line, strict=True)
    )


def _cell(cell: Cell) -> str:
    text, sign = _marked(cell.text), MOODS[cell.mood]
    return f'<span class="mood {cell.mood}">{sign} {text}</span>' if sign else text


def _bars(block: BarFigure) -> str:
    chart = block.chart
    if isinstance(chart, Chart):
        largest = 1.0 if chart.percent else max((value for _, value in chart.points), default=1.0)
        lines = [(label, [value / (largest or 1.0)]) for label, value in chart.points]
        key = ""
    else:
        largest = max((max(pair) for _, *pair in chart.points), default=1.0)
        lines = [
            (label, [one / (largest or 1.0), other / (largest or 1.0)]) for label, one, other in chart.points
        ]
        signs = ("<i></i>", '<i class="second"></i>')
        kinds = "".join(f"{s}{_marked(k)}" for s, k in zip(signs, chart.kinds, strict=True))
        key = f'<p class="key">{kinds}</p>'
    said = [row[1:] for row in chart.rows()[1:]]
    rows = "".join(_bar(label, shares, values) for (label, shares), values in zip(lines, said, strict=True))
    caption = f"<figcaption>{_marked(block.heading)}</figcaption>"
    return f'<figure>{caption}{key}<table class="bars"><tbody>{rows}</tbody></table></figure>'


def _bar(label: str, shares: Sequence[float], values: Sequence[str]) -> str:
    fills = "".join(
        f'<div class="fill{" second" if i else ""} w{_percent(share)}"></div>'
        for i, share in enumerate(shares)
    )
    told = " → ".join(_marked(value) for value in values)
    return f'<tr><td>{_marked(label)}</td><td><div class="track">{fills}</div></td><td>{told}</td></tr>'


def _percent(share: float) -> int:
    return max(0, min(100, round(100 * share)))


def _marked(text: Text) -> str:
    """Returns the text as HTML; what was filled in stands in an element of its own."""
    return "".join(
        f'<span class="{FILLED}">{escape(visible(piece))}</span>' if filled else escape(piece)
        for piece, filled in pieces_of(text)
    )


def _plain(text: Text) -> str:
    return escape(visible("".join(piece for piece, _ in pieces_of(text))))
