"""Cards as an HTML page: one file, no script, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sfumato.show.card import Card
from sfumato.show.visible_text import visible

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "td{padding:.1rem 1rem .1rem 0;vertical-align:top}"
)


def page(title: str, cards: Sequence[Card]) -> str:
    """An HTML page; everything that came from outside is escaped.

    >>> "<b>" in page("report", [Card("<b>bold</b>")]).replace("<b>&lt;", "")
    False
    """
    body = "\n".join(card._repr_html_() for card in cards)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{escape(visible(title))}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(visible(title))}</h1>\n{body}\n</body>\n</html>\n"
    )
