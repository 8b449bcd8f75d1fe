"""Allow-lists of pages: whatever a page says must be a fixed word of the program, or be listed."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from html.parser import HTMLParser

from sfumato.show.article_page import FILLED, MOODS, style

_VOID = frozenset(["meta", "br", "hr", "i"])
_ATTRIBUTES = frozenset(["class", "lang", "charset", "http-equiv", "content", "name", "data-head"])
_CLASSES = frozenset(
    [
        "kicker",
        "banner",
        "verdict",
        "lead",
        "small",
        "callout",
        "mood",
        "scroll",
        "stack",
        "bars",
        "track",
        "fill",
        "second",
        "key",
        "sign",
    ]
) | {FILLED, *MOODS}
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
        said = [
            f"text {i} holds words that are not those of the program"
            for i, text in reader.fixed
            if text.strip() and not self._is_fixed(text)
        ]
        said += [
            f"text {i} was filled in with something that is not published"
            for i, text in reader.filled
            if text not in self.values
        ]
        said += [
            f"a heading beside text {i} is not one of the page"
            for i, text in reader.attributes
            if not self._is_heading(text)
        ]
        said += [
            f"the bar beside text {i} shows a share that is not published"
            for i, share in reader.shares
            if share not in self.shares
        ]
        return said + reader.faults

    def _is_fixed(self, text: str) -> bool:
        bare = text.lstrip("✔✘? ") if text.lstrip() != text or text[:1] in "✔✘?" else text
        return text in self.fixed or bare in self.fixed or text.strip() in _SIGNS

    def _is_heading(self, text: str) -> bool:
        return text in self.fixed or text in self.values


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
