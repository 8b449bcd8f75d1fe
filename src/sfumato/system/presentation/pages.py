"""Articles as HTML: one file with everything in it, no script, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any, NoReturn

from sfumato.system.errors import UsageError
from sfumato.system.presentation.article import (
    Article,
    BarFigure,
    Block,
    Callout,
    Cell,
    Heading,
    Listing,
    Mood,
    Paragraph,
    Section,
    Signatures,
    Text,
    ValuePairs,
    Verbatim,
    pieces_of,
)
from sfumato.system.presentation.cards import visible
from sfumato.system.presentation.charts import Chart

LINE_END = "\n"
FILLED = "v"
"""The class of what is no fixed word of the program."""
MOODS: dict[Mood, str] = {"good": "✔", "bad": "✘", "open": "?", "plain": ""}
"""A sign beside the colour, for whoever does not see it."""


@cache
def style() -> str:
    """Returns the style sheet; widths of bars are classes, so that no element needs a style of its own."""
    sheet = files("sfumato.system.presentation").joinpath("article_style.css").read_text(encoding="utf-8")
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
        case ValuePairs():
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
            (label, [left / (largest or 1.0), right / (largest or 1.0)])
            for label, left, right in chart.points
        ]
        signs = ("<i></i>", '<i class="second"></i>')
        kinds = "".join(f"{s}{_marked(k)}" for s, k in zip(signs, chart.kinds, strict=True))
        key = f'<p class="key">{kinds}</p>'
    figures = [row[1:] for row in chart.rows()[1:]]
    rows = "".join(
        _bar(label, shares, values) for (label, shares), values in zip(lines, figures, strict=True)
    )
    caption = f"<figcaption>{_marked(block.heading)}</figcaption>"
    return f'<figure>{caption}{key}<table class="bars"><tbody>{rows}</tbody></table></figure>'


def _bar(label: str, shares: Sequence[float], values: Sequence[str]) -> str:
    fills = "".join(
        f'<div class="fill{" second" if i else ""} w{_percent(share)}"></div>'
        for i, share in enumerate(shares)
    )
    numbers = " → ".join(_marked(value) for value in values)
    return f'<tr><td>{_marked(label)}</td><td><div class="track">{fills}</div></td><td>{numbers}</td></tr>'


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


# Allow-lists of pages: whatever a page says must be a fixed word of the program, or be listed.

_VOID = frozenset(["meta", "br", "hr", "i"])
_ATTRIBUTES = frozenset(["class", "lang", "charset", "http-equiv", "content", "name", "data-head"])
_CLASS_NAMES = "kicker banner verdict lead small callout mood scroll stack bars track fill second key sign"
_CLASSES = frozenset([*_CLASS_NAMES.split(), FILLED, *MOODS])
_META = re.compile(
    r"|(utf-8|viewport|color-scheme|light dark|width=device-width, initial-scale=1|Content-Security-Policy"
    r"|default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none')"
)
_WIDTH = re.compile(r"w(\d{1,3})")
_SIGNS = frozenset([*MOODS.values(), "→", *(f"{sign} " for sign in MOODS.values())])


@dataclass(frozen=True)
class AllowList:
    """What a page may hold: `fixed` words, `values` that were filled in, and `shares` of bars in percent."""

    fixed: Collection[str]
    values: Collection[str]
    shares: Collection[int] = ()

    def faults(self, html: str) -> list[str]:
        """Returns what is wrong with a page, by its place, never by its text; nothing if all is listed."""
        reader = _PageReader()
        reader.feed(html)
        reader.close()
        faults = [
            f"text {i} holds words that are not those of the program"
            for i, text in reader.fixed
            if text.strip() and not self._is_fixed(text)
        ]
        faults += [
            f"text {i} was filled in with something that is not published"
            for i, text in reader.filled
            if text not in self.values
        ]
        faults += [
            f"a heading beside text {i} is not one of the page"
            for i, text in reader.attributes
            if text not in self.fixed and text not in self.values
        ]
        faults += [
            f"the bar beside text {i} shows a share that is not published"
            for i, share in reader.shares
            if share not in self.shares
        ]
        return faults + reader.faults

    def _is_fixed(self, text: str) -> bool:
        bare = text.lstrip("✔✘? ") if text.lstrip() != text or text[:1] in "✔✘?" else text
        return text in self.fixed or bare in self.fixed or text.strip() in _SIGNS


class _PageReader(HTMLParser):
    """Reads a page into its texts, in order; everything it does not know is a fault."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fixed: list[tuple[int, str]] = []
        self.filled: list[tuple[int, str]] = []
        self.attributes: list[tuple[int, str]] = []
        self.shares: list[tuple[int, int]] = []
        self.faults: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        self._check(tag, attrs, classes)
        if tag not in _VOID:
            self._open.append((tag, FILLED in classes))

    def handle_endtag(self, tag: str) -> None:
        while self._open and tag not in _VOID:
            name, _ = self._open.pop()
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        self._count += 1
        tags = [name for name, _ in self._open]
        if "style" in tags:
            if data != style():
                self.faults.append("the style sheet is another one")
        elif any(filled for _, filled in self._open):
            self.filled.append((self._count, data))
        elif "title" in tags:
            self.attributes.append((self._count, data))
        else:
            self.fixed.append((self._count, data))

    def handle_comment(self, data: str) -> None:
        del data
        self.faults.append("the page holds a comment")

    def _check(self, tag: str, attrs: list[tuple[str, str | None]], classes: list[str]) -> None:
        for name, value in attrs:
            if name not in _ATTRIBUTES:
                self.faults.append(f"an element {tag} has an attribute that no page of ours has")
            elif name == "data-head":
                self.attributes.append((self._count, value or ""))
            elif name == "lang" and value != "en":
                self.faults.append("the page is in another language")
            elif name in ("charset", "http-equiv", "content", "name") and not _META.fullmatch(value or ""):
                self.faults.append("the head of the page holds something else")
        for name in classes:
            width = _WIDTH.fullmatch(name)
            if width is not None:
                self.shares.append((self._count, int(width[1])))
            elif name not in _CLASSES:
                self.faults.append(f"an element {tag} has a class that no page of ours has")


# Pages as PDF, by WeasyPrint: the same HTML, laid out for paper, with nothing fetched from anywhere.

NEEDED = "python -m pip install 'sfumato[report]'"
LIBRARIES = "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
"""What WeasyPrint needs of a Debian or Ubuntu system; docs/report.md says it for others."""


def pdf_of(html: str) -> bytes:
    """Returns the page as PDF; raises `UsageError` where WeasyPrint, or Pango below it, is not installed."""
    weasyprint = _weasyprint()
    document: bytes = weasyprint.HTML(string=html, url_fetcher=_fetch_nothing).write_pdf()
    return document


def check_pdf() -> None:
    """Raises `UsageError` where no PDF can be made on this machine."""
    _weasyprint()


def _weasyprint() -> Any:  # an optional package: there is no type to name where it is absent
    try:
        import weasyprint  # noqa: PLC0415  # optional, and heavy
    except ImportError:
        raise UsageError(
            "a PDF needs one more package: WeasyPrint",
            remedy=f"Install it: {NEEDED}. Or leave the PDF out, and print the HTML from a browser.",
        ) from None
    except OSError:  # the package is there, a library of the system is not
        raise UsageError(
            "a PDF needs Pango, a library of the system that WeasyPrint sets text with",
            remedy=f"On Debian and Ubuntu: {LIBRARIES}. Or leave the PDF out.",
        ) from None
    return weasyprint


def _fetch_nothing(*_: object, **__: object) -> NoReturn:
    raise ValueError("a report fetches nothing")
