"""The tree of one column's values, made from what every value becomes, level by level."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadTaxonomy

Text = str | None
"""What a cell holds; `None` where it holds nothing."""

Numbers = NDArray[np.int64]

ANY = "*"
"""What a value becomes that says nothing any more."""


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """All nodes of a tree, a node before those below it, siblings from left to right.

    Node v stands for the values `low[v]` to `high[v] - 1`; those below it are the nodes up to `end[v] - 1`.
    """

    labels: tuple[Text, ...]
    parent: Numbers
    low: Numbers
    high: Numbers
    end: Numbers

    def named(self, label: Text) -> int:
        """Returns the topmost node with this label; raises `BadTaxonomy` where there is none."""
        try:
            return self.labels.index(label)
        except ValueError:
            raise BadTaxonomy("a label is spoken of that is no value of the taxonomy") from None


@dataclass(frozen=True, eq=False)
class ValueTree:
    """The values of a column in their order, and the groups that they become at every level.

    `values` are the leaves. At level i the leaves with the same number in `groups[i]` are one group, which is
    published as `labels[i]` says; level 0 is the leaves themselves, the last level is the root. A group's
    number is the place of its first leaf. `aliases` are texts that mean a leaf of another name.
    """

    values: tuple[Text, ...]
    groups: NDArray[np.int64]
    labels: tuple[tuple[Text, ...], ...]
    ordered: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_levels(
        cls,
        levels: Sequence[Sequence[Text]],
        *,
        ordered: bool = False,
        missing: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> ValueTree:
        """Returns the tree in which value j becomes `levels[i][j]` at level i.

        A root `*` is added unless all values become one at the last of several levels. With `missing` an
        empty cell is a value of its own, directly below the root. Raises `BadTaxonomy` where a label would
        stand in two unrelated places, and where an `ordered` tree groups values that are no neighbours.

        >>> tree = ValueTree.of_levels([["Flu", "TB", "AIDS"], ["Viral", "Bacterial", "Viral"]], missing=True)
        >>> tree.values, tree.labels[1]
        (('Flu', 'AIDS', 'TB', None), ('Viral', 'Viral', 'Bacterial', None))
        """
        above: Text = ANY
        below = [list(level) for level in levels]
        if not below or not below[0]:
            return cls._of_nothing(missing=missing)
        if len(below) > 1 and len(set(below[-1])) == 1:
            above = below.pop()[0]
        if missing:
            for level in below:
                level.append(None)
        groups = _first_of_group(below)
        order = np.lexsort(groups)
        if ordered and not np.array_equal(order, np.arange(len(order))):
            raise BadTaxonomy("values are ordered, and a group of them is not in one piece")
        spoken = [[level[j] for j in order.tolist()] for level in below]
        rows = [_starts(row[order]) for row in groups]
        tree = cls(
            tuple(spoken[0]),
            np.array([*rows, np.zeros(len(order), np.int64)]),
            (*map(tuple, spoken), (above,) * len(order)),
            ordered,
            dict(aliases or {}),
        )
        tree._check_labels()
        return tree

    @classmethod
    def _of_nothing(cls, *, missing: bool) -> ValueTree:
        """Returns the tree of no values: a root, and below it the empty cell if there is one."""
        if missing:
            return cls((None,), np.zeros((2, 1), np.int64), ((None,), (ANY,)))
        return cls((ANY,), np.zeros((1, 1), np.int64), ((ANY,),))

    @cached_property
    def _place(self) -> dict[Text, int]:
        own: dict[Text, int] = {value: place for place, value in enumerate(self.values)}
        return {**{text: own[leaf] for text, leaf in self.aliases.items()}, **own}

    def place(self, text: Text) -> int | None:
        """Returns the number of the leaf that a cell with this text is, `None` where it has no place."""
        return self._place.get(text)

    @property
    def height(self) -> int:
        """The number of steps from a leaf to the root."""
        return len(self.groups) - 1

    @cached_property
    def nodes(self) -> TreeNodes:
        """All nodes: a group that keeps its leaves and its label from one level to the next is one."""
        count = len(self.values)
        low, high, label, parent = _Growing(), _Growing(), _Growing(), _Growing()
        above, over = np.full(count, -1, np.int64), np.full(count, None, object)
        width = np.full(count, -1, np.int64)
        for level in range(self.height, -1, -1):
            start = np.flatnonzero(self.groups[level] == np.arange(count))
            lengths = np.diff(start, append=count)
            texts = np.array(self.labels[level], dtype=object)[start]
            fresh = (lengths != width[start]) | (texts != over[start]) | (above[start] < 0)
            number = above[start]
            number[fresh] = len(low) + np.arange(int(fresh.sum()))
            low.add(start[fresh])
            high.add((start + lengths)[fresh])
            label.add(texts[fresh])
            parent.add(above[start][fresh])
            above, over = np.repeat(number, lengths), np.repeat(texts, lengths)
            width = np.repeat(lengths, lengths)
        return _in_order(low.whole(), high.whole(), label.whole(), parent.whole())

    def _check_labels(self) -> None:
        """Raises where a label stands in two places, other than right below a group of its own name."""
        nodes = self.nodes
        often = {label for label, times in Counter(nodes.labels).items() if times > 1}
        last: dict[Text, int] = {}
        for node in [v for v, label in enumerate(nodes.labels) if label in often]:
            label = nodes.labels[node]
            if label in last and nodes.parent[node] != last[label]:
                raise BadTaxonomy("not a hierarchy: the same label stands in two places")
            last[label] = node

    def __repr__(self) -> str:
        return f"ValueTree({len(self.values)} values, {self.height} levels)"


def _first_of_group(levels: Sequence[Sequence[Text]]) -> list[Numbers]:
    """Returns, level by level, the first member of every value's group; groups lie within those above."""
    groups: list[Numbers] = []
    above = [0] * len(levels[0])
    for level in reversed(levels):
        first: dict[tuple[int, Text], int] = {}
        above = [first.setdefault(pair, j) for j, pair in enumerate(zip(above, level, strict=True))]
        groups.append(np.array(above, dtype=np.int64))
    return groups[::-1]


def _starts(group: Numbers) -> Numbers:
    """Returns the place of the first member of every group, where groups are in one piece."""
    fresh = np.append(True, group[1:] != group[:-1])
    return np.maximum.accumulate(np.where(fresh, np.arange(len(group)), 0))


class _Growing:
    """An array that grows piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[NDArray[Any]] = []
        self._length = 0

    def add(self, piece: NDArray[Any]) -> None:
        self._pieces.append(piece)
        self._length += len(piece)

    def whole(self) -> NDArray[Any]:
        return np.concatenate(self._pieces)

    def __len__(self) -> int:
        return self._length


def _in_order(low: Numbers, high: Numbers, label: NDArray[np.object_], parent: Numbers) -> TreeNodes:
    """Returns the nodes in order; they come level by level from the top, so a parent before its children."""
    order = np.lexsort((np.arange(len(low)), -high, low))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    above = parent[order]
    low, high = low[order], high[order]
    end = np.searchsorted(low, high).astype(np.int64)
    return TreeNodes(tuple(label[order]), np.where(above < 0, -1, number[above]), low, high, end)


# Codes that say less when characters are masked, from the right (prefix, mask) or from the left (mask).

LONGEST_CODE = 32
"""Characters that are masked one by one; longer codes need `steps`."""


def build_prefix(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of codes of which so many leading characters stay: `{prefix: [4, 3, 1]}`.

    >>> [level[0] for level in build_prefix({"prefix": [3, 1]}, ["02138", "02139"]).labels]
    ['02138', '021**', '0****', '*']
    """
    values = sorted({text for text in texts if text is not None})
    levels = [
        [_stars(text, len(text) - leading, "right") for text in values]
        for leading in character_counts(spec["prefix"])
    ]
    return _tree(values, levels, texts)


def build_mask(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of codes of which so many characters are masked: `{mask: left, steps: [1, 3]}`.

    >>> [level[0] for level in build_mask({"mask": "left"}, ["K12", "L12"]).labels]
    ['K12', '*12', '**2', '*']
    """
    values = sorted({text for text in texts if text is not None})
    longest = max(map(len, values), default=0)
    steps = character_counts(spec.get("steps", ()))
    if not steps and longest > LONGEST_CODE:
        raise BadTaxonomy(f"a value is longer than {LONGEST_CODE} characters")
    levels = [
        [_stars(text, masked, str(spec["mask"])) for text in values] for masked in steps or range(1, longest)
    ]
    return _tree(values, levels, texts)


def _stars(text: str, masked: int, end: str) -> str:
    """Returns the text with so many characters masked at one end, all of them if there are no more."""
    plain = max(0, len(text) - max(0, masked))
    stars = ANY * (len(text) - plain)
    return text[:plain] + stars if end == "right" else stars + text[len(text) - plain :]


def character_counts(listed: object) -> list[int]:
    """Returns the numbers of characters that a policy lists."""
    return [int(str(count)) for count in listed_words(listed)]


def listed_words(listed: object) -> Sequence[object]:
    """Returns what a policy lists; one word may stand without a list."""
    return listed if isinstance(listed, Sequence) and not isinstance(listed, str) else [listed]


def _tree(values: Sequence[str], levels: Sequence[Sequence[Text]], texts: Sequence[Text]) -> ValueTree:
    return ValueTree.of_levels([values, *levels, [ANY] * len(values)], missing=None in texts)


# Dates in calendar units of growing length.

_MOMENT = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T][0-9]{2}:[0-9]{2}"  # hours and minutes
    r"(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"  # seconds and parts of one
    r"[ \t\n\r\f\v]?(?:Z|[+-][0-9]{2}:?(?:[0-9]{2})?)?)?"  # the zone
)

REMEMBERED = 1 << 14
"""So many texts are not read again: ranges share their ends."""

_UNIT = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?:W(?P<week>[0-9]{2})|Q(?P<quarter>[1-4])|(?P<last>[0-9]{4})|(?P<month>[0-9]{2})))?"
)


def _decade(day: date) -> str:
    first = day.year - day.year % 10
    return f"{first:04d}-{first + 9:04d}"


UNITS: Mapping[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
    "month": lambda day: day.isoformat()[:7],
    "quarter": lambda day: f"{day.isoformat()[:4]}-Q{1 + (day.month - 1) // 3}",
    "year": lambda day: day.isoformat()[:4],
    "decade": _decade,
}
"""What a day becomes, unit by unit."""


def build_dates(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of dates in the order of time; a moment belongs to the day that is written.

    >>> tree = build_dates({"date": ["month", "year"]}, ["2024-03-01", "2024-02-29T23:59Z"])
    >>> [level[0] for level in tree.labels]
    ['2024-02-29T23:59Z', '2024-02', '2024', '*']
    """
    units = listed_words(spec["date"])
    if any(unit not in UNITS for unit in units):
        raise BadTaxonomy(f"the units are {', '.join(UNITS)}")
    form = spec.get("written")
    dated = [(_day(text, None if form is None else str(form)), text) for text in texts if text is not None]
    wrong = [text for day, text in dated if day is None]
    if wrong:
        raise BadTaxonomy(f"{len(wrong)} values are no dates", values=wrong)
    days = sorted((day, text) for day, text in dated if day is not None)
    levels: list[list[Text]] = [[text for _, text in days]]
    levels += [[UNITS[str(unit)](day) for day, _ in days] for unit in units]
    return ValueTree.of_levels([*levels, [ANY] * len(days)], ordered=True, missing=None in texts)


def is_moment(text: str, form: str | None = None) -> bool:
    """Tells whether a text names a day, or a moment of one, in the form in which cells are written."""
    return _day(text, form) is not None


@lru_cache(REMEMBERED)
def span(label: str, form: str | None = None) -> tuple[date | None, date | None]:
    """Returns the first and the last day of a calendar unit, a day or a moment; `None` where it is none.

    Days are written in this form, or as year, month and day.

    >>> [str(day) for day in span("2024-02")], [str(day) for day in span("1950-1959")]
    (['2024-02-01', '2024-02-29'], ['1950-01-01', '1959-12-31'])
    """
    if (day := _day(label, form)) is not None:
        return day, day
    match = _UNIT.fullmatch(label)
    if match is None:
        return None, None
    year, one_day = int(match["year"]), timedelta(days=1)
    try:
        if match["week"]:
            first = date.fromisocalendar(year, int(match["week"]), 1)
            return first, first + 6 * one_day
        if match["last"]:
            return date(year, 1, 1), date(int(match["last"]), 12, 31)
        month, months = 1, 12
        if match["quarter"]:
            month, months = 3 * int(match["quarter"]) - 2, 3
        elif match["month"]:
            month, months = int(match["month"]), 1
        after = month + months - 1
        first = date(year, month, 1)
        return first, date(year, 12, 31) if after == 12 else date(year, after + 1, 1) - one_day
    except ValueError:
        return None, None


@lru_cache(REMEMBERED)
def _day(text: str, form: str | None = None) -> date | None:
    """Returns the day that a cell names, `None` where it names none; of a month, the first."""
    if form is not None:
        return _day_in_form(text, form)
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match["day"].split("-"))
    return _calendar_day(year, month, day)


_CLOCK = re.compile(
    r"[T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r"[ \t\n\r\f\v]?(?:Z|[+-][0-9]{2}:?(?:[0-9]{2})?)?"
)


def _day_in_form(text: str, form: str) -> date | None:
    """Returns the day that a text names in a form such as `dd.mm.yyyy`."""
    if not text.isascii():
        return None
    clock = _CLOCK.search(text)
    if clock is not None and "dd" in form and clock.end() == len(text):
        text = text[: clock.start()]
    marks = {character for character in form if character not in "dmy"}
    if not marks:
        pieces = [text[:4], text[4:6], text[6:]]
        fields = ["yyyy", "mm", "dd"]
    else:
        (mark,) = marks
        pieces, fields = text.split(mark), form.split(mark)
    if len(pieces) != len(fields) or not all(piece.isdecimal() for piece in pieces):
        return None
    exact = not marks or form == "yyyy-mm"
    for piece, part in zip(pieces, fields, strict=True):
        if not (len(piece) == len(part) or (len(piece) == 1 and len(part) == 2 and not exact)):
            return None
    numbers = {part: int(piece) for part, piece in zip(fields, pieces, strict=True)}
    return _calendar_day(numbers["yyyy"], numbers["mm"], numbers.get("dd", 1))


def _calendar_day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


# Numbers as cells and policies write them, read exactly as fractions.

LONGEST_NUMBER = 60
"""A number has at most so many characters, and at most so many digits before or behind the point."""

_PARTS = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]{1,3}))?")


def number(text: str) -> Fraction | None:
    """Returns the number that a text writes, `None` where it writes none.

    >>> number("007"), number("-2.50"), number("1e3"), number("1_000"), number("."), number("inf")
    (Fraction(7, 1), Fraction(-5, 2), Fraction(1000, 1), None, None, None)
    """
    parts = _PARTS.fullmatch(text) if len(text) <= LONGEST_NUMBER and text.isascii() else None
    if parts is None or not (parts[2] or parts[3]):
        return None
    digits = (parts[2] + parts[3]).lstrip("0")
    exponent = int(parts[4] or 0) - len(parts[3])
    if not digits:
        return Fraction(0)
    if not -LONGEST_NUMBER < len(digits) - 1 + exponent < LONGEST_NUMBER:
        return None
    return Fraction(int(parts[1] + digits)) * Fraction(10) ** exponent


def written_number(text: str, form: str | None) -> Fraction | None:
    """Returns the number that a text writes in a form, which is named by 1234.5 as it writes it.

    >>> written_number("12.345,5", "1.234,5"), written_number("1.5", "1.234,5"), written_number("1.5", None)
    (Fraction(24691, 2), None, Fraction(3, 2))
    """
    if form is None:
        return number(text)
    if form[0] == "¤":
        amount = _amount(text)
        basic = form[1:]
        return None if amount is None else written_number(amount, None if basic == "1234.5" else basic)
    point = form[-2]
    between = form[1] if len(form) > len("1234.5") else ""
    body = text[1:] if text[:1] in ("+", "-") else text
    before, has_point, behind = body.partition(point)
    groups = [before]
    for mark in _ALIKE.get(between, between):
        groups = [piece for group in groups for piece in group.split(mark)]
    if len(groups) > 1 and not (1 <= len(groups[0]) <= 3 and all(len(piece) == 3 for piece in groups[1:])):
        return None
    digits = "".join(groups)
    if (
        not digits.isascii()
        or not digits.isdecimal()
        or (behind and not (behind.isascii() and behind.isdecimal()))
    ):
        return None
    sign = text.removesuffix(body)
    return number(f"{sign}{digits}.{behind}" if has_point and behind else f"{sign}{digits}")


_CURRENCIES = """
    R$ US$ C$ A$ $ € £ ¥ ₹ ₽ ₩ ₺ ₪ ₫ ₴ ₦ ฿ EUR USD GBP CHF JPY CNY SEK NOK DKK PLN CZK HUF RON CAD AUD NZD INR
    BRL MXN TRY ZAR Fr. Fr kr. kr zł Kč Ft Euro euro
"""
_CURRENCY = "|".join(map(re.escape, _CURRENCIES.split()))
_GAPS = r"[ \u00a0\u202f]*"
_MONEY = re.compile(
    rf"(?P<sign>[+-]?){_GAPS}(?P<front>{_CURRENCY})?{_GAPS}(?P<inner>[+-]?)"
    rf"(?P<number>[0-9.](?:.*?[0-9.,])??){_GAPS}(?P<back>{_CURRENCY})?{_GAPS}"
)
LONGEST_AMOUNT = 100
"""A sum of money has at most so many characters."""


def _amount(text: str) -> str | None:
    """Returns the number in a sum of money, with one sign at most and a currency at one end, or nowhere."""
    if len(text) > LONGEST_AMOUNT:
        return None
    bracketed = len(text) > 1 and text[0] + text[-1] == "()"
    match = _MONEY.fullmatch(text[1:-1] if bracketed else text)
    if match is None or (match["front"] and match["back"]):
        return None
    signs = "-" * bracketed + match["sign"] + match["inner"]
    return None if len(signs) > 1 else signs + match["number"]


_ALIKE = {" ": " \u00a0\u202f", "'": "'\u2019"}
"""Marks between thousands that mean the same."""


def number_text(value: Fraction) -> str:
    """Returns a number with finitely many decimals, without exponent and without idle zeros.

    >>> number_text(Fraction(5, 2)), number_text(Fraction(100)), number_text(Fraction(-1, 8))
    ('2.5', '100', '-0.125')
    """
    places = 0
    while (value * 10**places).denominator > 1:
        places += 1
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    whole, decimals = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{'-' if value < 0 else ''}{whole}{'.' if decimals else ''}{decimals}"


def in_order(texts: Iterable[str]) -> list[str]:
    """Returns texts by the size of their numbers if all are numbers, else by their characters.

    >>> in_order(["10", "9"]), in_order(["10", "9", "x"])
    (['9', '10'], ['10', '9', 'x'])
    """
    sized = [(number(text), text) for text in texts]
    if any(size is None for size, _ in sized):
        return sorted(text for _, text in sized)
    return [text for _, text in sorted((size or Fraction(0), text) for size, text in sized)]


# Numbers in intervals of growing width, each of which divides the next.


@dataclass(frozen=True)
class Scale:
    """What a policy says of a column of numbers.

    An interval holds its lower end and not its upper end. Intervals of every width are counted from `origin`.
    Numbers below `bottom` are one value, and so are those from `top` on; numbers outside `first` and `beyond`
    (excluded) have no place. Unless `decimal`, the values are all whole numbers in between. `written` is the
    form of numbers in cells, if not the plain one.
    """

    widths: tuple[Fraction, ...]
    first: Fraction | None
    beyond: Fraction | None
    top: Fraction | None
    bottom: Fraction | None
    decimal: bool
    written: str | None = None

    @classmethod
    def of(cls, spec: Mapping[str, object]) -> Scale:
        """Returns what `{intervals: [5, 10], from: 0, to: 120, top: 90, bottom: 18, decimal: true}` says."""
        ends = {key: _said(spec[key]) for key in ("from", "to", "top", "bottom") if spec.get(key) is not None}
        widths = tuple(map(_said, listed_words(spec["intervals"])))
        if (
            not widths
            or widths[0] <= 0
            or any((b / a).denominator > 1 or b <= a for a, b in pairwise(widths))
        ):
            raise BadTaxonomy("each width must be a multiple of the one before")
        decimal, form = spec.get("decimal") is True, spec.get("written")
        outer = (ends.get("from"), ends.get("to"), ends.get("top"), ends.get("bottom"))
        return cls(widths, *outer, decimal, None if form is None else str(form))

    def size(self, text: str) -> Fraction | None:
        """Returns the number that a cell writes, `None` where it writes none."""
        return written_number(text, self.written)

    @property
    def low(self) -> Fraction | None:
        """The smallest number that keeps a value of its own."""
        return self.first if self.bottom is None else self.bottom

    @property
    def high(self) -> Fraction | None:
        """The first number that keeps none any more."""
        return self.beyond if self.top is None else self.top

    @property
    def origin(self) -> Fraction:
        return next((end for end in (self.first, self.bottom) if end is not None), Fraction(0))

    def has(self, size: Fraction) -> bool:
        """Tells whether a number has a place."""
        within = (self.first is None or size >= self.first) and (self.beyond is None or size < self.beyond)
        return within and (self.decimal or size.denominator == 1)

    def leaf(self, size: Fraction, text: str) -> str:
        """Returns the value that a number is."""
        if self.bottom is not None and size < self.bottom:
            return self.lowest
        if self.top is not None and size >= self.top:
            return self.highest
        return text if self.decimal else str(int(size))

    @property
    def lowest(self) -> str:
        return f"<{number_text(self.bottom or Fraction(0))}"

    @property
    def highest(self) -> str:
        return f"{number_text(self.top or Fraction(0))}+"

    def bins(self, sizes: Sequence[Fraction] | range, width: Fraction) -> list[int]:
        """Returns the number of the interval of every value: those at the ends first and last."""
        if isinstance(sizes, range):
            start, step = int(self.origin), int(width)
            numbers = [(size - start) // step for size in sizes]
        else:
            numbers = [floor((size - self.origin) / width) for size in sizes]
        if self.bottom is not None:
            numbers.insert(0, ceil((self.bottom - self.origin) / width) - 1)
        if self.top is not None:
            numbers.append(floor((self.top - self.origin) / width))
        return numbers

    def label(self, index: int, width: Fraction, *, lowest: bool, highest: bool) -> str:
        """Returns what an interval is published as; it may hold the lowest or the highest value."""
        begin, end = self.origin + index * width, self.origin + (index + 1) * width
        begin = begin if self.low is None else max(begin, self.low)
        end = end if self.high is None else min(end, self.high)
        if lowest or highest:
            open_ended = f"<{number_text(end)}" if lowest else f"{number_text(begin)}+"
            return ANY if lowest and highest else open_ended
        return f"[{number_text(begin)}, {number_text(end)})"


def build_intervals(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of numbers, grouped as the policy says.

    >>> tree = build_intervals({"intervals": [5, 10], "from": 0, "to": 100, "top": 90}, ["93", "42"])
    >>> [level[tree.place("42")] for level in tree.labels], tree.values[tree.place("93")]
    (['42', '[40, 45)', '[40, 50)', '*'], '90+')
    """
    scale = Scale.of(spec)
    sized = [(scale.size(text), text) for text in texts if text is not None]
    wrong = [text for size, text in sized if size is None or not scale.has(size)]
    if wrong:
        raise BadTaxonomy(f"{len(wrong)} values have no place in the intervals", values=wrong)
    numbers = [(size, text) for size, text in sized if size is not None]
    aliases = {text: leaf for size, text in numbers if (leaf := scale.leaf(size, text)) != text}
    sizes, values = _values(scale, numbers)
    levels: list[list[Text]] = [values] if values else []
    for width in scale.widths if values else ():
        index = scale.bins(sizes, width)
        named = {
            i: scale.label(
                i,
                width,
                lowest=scale.bottom is not None and i == index[0],
                highest=scale.top is not None and i == index[-1],
            )
            for i in dict.fromkeys(index)
        }
        levels.append([named[i] for i in index])
    top: list[list[Text]] = [[ANY] * len(values)] if values else []
    return ValueTree.of_levels([*levels, *top], ordered=True, missing=None in texts, aliases=aliases)


def _values(
    scale: Scale, numbers: Sequence[tuple[Fraction, str]]
) -> tuple[Sequence[Fraction] | range, list[Text]]:
    """Returns the numbers that keep a value of their own, and all values in their order."""
    values: list[Text]
    sizes: Sequence[Fraction] | range
    if scale.decimal:
        own = sorted((size, text) for size, text in numbers if scale.leaf(size, text) == text)
        sizes, values = [size for size, _ in own], [text for _, text in own]
    else:
        if scale.low is None or scale.high is None:
            raise BadTaxonomy("whole numbers need a lower and an upper end")
        if any(end is not None and end.denominator > 1 for end in (*scale.widths, scale.low, scale.high)):
            raise BadTaxonomy("not all ends and widths are whole numbers")
        sizes = range(int(scale.low), int(scale.high))
        values = [str(size) for size in sizes]
    lowest: list[Text] = [] if scale.bottom is None else [scale.lowest]
    highest: list[Text] = [] if scale.top is None else [scale.highest]
    return sizes, [*lowest, *values, *highest]


def _said(word: object) -> Fraction:
    """Returns an exact number: a float means the decimal that it prints as."""
    size = None if isinstance(word, bool) else number(repr(word) if isinstance(word, float) else str(word))
    if size is None:
        raise BadTaxonomy("an end or a width is no number")
    return size


# Taxonomies that the policy writes out: flat lists, rows, nested trees, and hierarchy files.

SEPARATORS = (";", ",", "\t", "|")

Path = tuple[str, ...]
"""A value, and what it becomes on the way to the root."""


def build_flat(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of a value or `*`; the values are those that occur, or those that are listed.

    >>> build_flat({"flat": True}, ["10", "9", None]).values
    ('9', '10', None)
    """
    listed = spec["flat"]
    values = in_order(text for text in texts if text is not None) if listed is True else _labels(listed)
    return _written_tree([list(dict.fromkeys(values))], spec, texts)


def build_rows(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of `{rows: [[Flu, Viral, "*"], [TB, "*"]]}`.

    >>> [level[1] for level in build_rows({"rows": [["Flu", "Viral", "*"], ["TB", "*"]]}, []).labels]
    ['TB', 'TB', '*']
    """
    listed = spec["rows"]
    rows = listed if isinstance(listed, Sequence) else []
    return of_paths([_labels(row) for row in rows], spec, texts)


def build_tree(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of nested groups, `{tree: {Viral: [Flu, AIDS], Trauma: null}}`.

    >>> build_tree({"tree": {"Viral": ["Flu", "AIDS"], "Trauma": None}}, [None]).values
    ('Flu', 'AIDS', 'Trauma', None)

    A single group that holds everything is the root itself.

    >>> build_tree({"tree": {"person": ["f", "m"]}}, []).labels
    (('f', 'm'), ('person', 'person'))
    """
    words = spec["tree"]
    is_one_group = isinstance(words, Mapping) and len(words) == 1
    return of_paths(list(_branches(words, () if is_one_group else (ANY,))), spec, texts)


def build_file(spec: Mapping[str, object], texts: Sequence[Text], content: bytes) -> ValueTree:
    r"""Returns the tree of a hierarchy file: a line per value, then what it becomes, level by level.

    >>> build_file({"file": "h.csv"}, [], b"Flu;Viral;*\nAIDS;Viral;*\n").labels[1]
    ('Viral', 'Viral')
    """
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise BadTaxonomy("a hierarchy file is not UTF-8 text", where=str(spec["file"])) from None
    read = {separator: _lines(text, separator) for separator in SEPARATORS}
    fitting = [s for s in SEPARATORS if s in text] or [SEPARATORS[0]]
    lines = read[max(fitting, key=lambda s: sum(len(line) > 1 for line in read[s]))]
    if not lines or "\0" in text:
        raise BadTaxonomy("a hierarchy file holds no rows that can be read", where=str(spec["file"]))
    return of_paths([_whole(line, str(spec["file"])) for line in lines], spec, texts)


def of_paths(paths: Sequence[Path], spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree in which values take these paths; where one is shorter, its value stays for longer.

    All end in the root: in one label, if they say so, else in `*`. Raises `BadTaxonomy` where a value has two
    different paths, or a text has none.
    """
    chosen: dict[str, Path] = {}
    for path in paths:
        if chosen.setdefault(path[0], path) != path:
            raise BadTaxonomy("not a hierarchy: a value has two paths to the root")
    rooted = len({path[-1] for path in chosen.values()}) == 1 and all(len(p) > 1 for p in chosen.values())
    if not rooted:
        chosen = {v: p if len(p) > 1 and p[-1] == ANY else (*p, ANY) for v, p in chosen.items()}
    longest = max(map(len, chosen.values()), default=0)
    full = [(value,) * (longest - len(path)) + path for value, path in chosen.items()]
    return _written_tree([[path[i] for path in full] for i in range(longest)], spec, texts)


def _written_tree(
    levels: Sequence[Sequence[Text]], spec: Mapping[str, object], texts: Sequence[Text]
) -> ValueTree:
    """Returns the tree of written levels; raises `BadTaxonomy` where a text has no place in it."""
    tree = ValueTree.of_levels(levels, ordered=spec.get("ordered") is True, missing=None in texts)
    lacking = [text for text in texts if text is not None and tree.place(text) is None]
    if lacking:
        raise BadTaxonomy(f"{len(lacking)} values have no place in the taxonomy", values=lacking)
    return tree


def _branches(words: object, above: Path) -> Iterator[Path]:
    """Yields the path of every value in nested mappings and lists; a group without members is a value."""
    if isinstance(words, Mapping):
        for name, below in words.items():
            inner = list(_branches(below, (str(name), *above)))
            yield from inner or [(str(name), *above)]
    elif isinstance(words, Sequence) and not isinstance(words, str):
        for word in words:
            yield from _branches(word, above)
    elif words is not None:
        yield (str(words), *above)


def _lines(text: str, separator: str) -> list[Path]:
    """Yields the cells of every line that is not empty; nothing where quotes do not fit this separator."""
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        return [tuple(line) for line in lines if line]
    except csv.Error:
        return []


def _whole(line: Path, where: str) -> Path:
    """Returns a line without the empty cells at its end; raises where another one is empty."""
    while len(line) > 1 and line[-1] == "":
        line = line[:-1]
    if "" in line:
        raise BadTaxonomy("a line of a hierarchy file has an empty cell", where=where)
    return line


def _labels(listed: object) -> Path:
    return tuple(map(str, listed_words(listed)))


# Ready taxonomies: lists of values in several spellings, or of the beginnings of codes.

BEGINNING = 3
"""So many characters of a code say which line it belongs to."""


@dataclass(frozen=True)
class ReadyList:
    """The lines of a list: what each value, or each beginning of codes, becomes.

    `leaf_of` names the value that a spelling means; it is empty for codes.
    """

    paths: Mapping[str, tuple[str, ...]]
    leaf_of: Mapping[str, str]
    mark: str
    shape: str

    @classmethod
    def of(cls, spec: Mapping[str, object], content: bytes) -> ReadyList:
        """Reads the bytes of a list, as the words of the policy describe it."""
        codes = spec.get("kind") == "codes"
        paths: dict[str, tuple[str, ...]] = {}
        leaf_of: dict[str, str] = {}
        for line in content.decode("utf-8").split("\n"):
            first, *groups = line.split(";")
            if not first:
                continue
            names = first.split(" ") if codes else first.split("|")
            for name in names if codes else names[:1]:
                paths[name] = tuple(groups)
            if not codes:
                leaf_of.update(dict.fromkeys(names, names[0]))
        return cls(paths, leaf_of, str(spec.get("mark") or ""), str(spec.get("shape") or ""))

    @property
    def has_codes(self) -> bool:
        return not self.leaf_of

    def value_of(self, text: str) -> str | None:
        """Returns the value that a text of the data means, `None` where it means none."""
        if not self.has_codes:
            return self.leaf_of.get(text)
        if text[:BEGINNING] not in self.paths or not re.fullmatch(self.shape, text):
            return None
        if self.mark[:1] != "." or len(text) == BEGINNING or text[BEGINNING] == ".":
            return text
        return f"{text[:BEGINNING]}.{text[BEGINNING:]}"

    def path_of(self, value: str) -> tuple[str, ...]:
        """Returns a value and what it becomes."""
        if not self.has_codes:
            return value, *self.paths[value]
        begins = value[:BEGINNING]
        return value, begins + self.mark, *self.paths[begins]

    @cached_property
    def groups(self) -> Mapping[str, int]:
        """The labels above the values, and the level of each."""
        return {
            group: level
            for value in self.paths
            for level, group in enumerate(self.path_of(value))
            if level > 0
        }


def build_ready(spec: Mapping[str, object], texts: Sequence[Text], content: bytes) -> ValueTree:
    r"""Returns the tree of a list and of the texts that occur.

    >>> listed = b"Netherlands|NL;Europe\nChad|TD;Africa\n"
    >>> tree = build_ready({"ready": "lands", "kind": "list"}, ["NL"], listed)
    >>> tree.values[tree.place("NL")], tree.labels[1]
    ('Netherlands', ('Europe', 'Africa'))
    """
    listed = ReadyList.of(spec, content)
    values = {text: listed.value_of(text) for text in texts if text is not None}
    lacking = [text for text, value in values.items() if value is None]
    if lacking:
        raise BadTaxonomy(f"{len(lacking)} values have no place in the list", values=lacking)
    occurring = {value for value in values.values() if value is not None}
    leaves = sorted({*listed.paths, *occurring}) if listed.has_codes else list(listed.paths)
    if listed.has_codes and not occurring:
        leaves = []
    tree = of_paths([listed.path_of(leaf) for leaf in leaves], spec, [None] if None in texts else [])
    aliases = {text: value for text, value in values.items() if value is not None and value != text}
    return ValueTree(tree.values, tree.groups, tree.labels, tree.ordered, aliases)


@dataclass(frozen=True)
class CodeLabels:
    """Published labels of codes: a code, the beginning of one with its mark, a group, or `*`."""

    listed: ReadyList

    def is_finer(self, text: str, start: int, _ranges: bool) -> bool:
        level = self._level(text)
        return level is not None and level < start

    def is_coarser(self, text: str, most: int) -> bool:
        level = self._level(text)
        return level is not None and level > most

    def height(self, _texts: Sequence[str]) -> int:
        return 1 + max(self.listed.groups.values())

    def covers(self, wide: str, text: str) -> bool:
        value = self.listed.value_of(text)
        if value is not None:
            return wide in self.listed.path_of(value)
        return any(wide in path[path.index(text) :] for path in self._paths if text in path)

    @property
    def _paths(self) -> Iterator[tuple[str, ...]]:
        return map(self.listed.path_of, self.listed.paths)

    def _level(self, text: str) -> int | None:
        if text == ANY:
            return self.height(())
        return 0 if self.listed.value_of(text) is not None else self.listed.groups.get(text)


# The tree of a column, from the words of the policy and the texts that occur.

Spec = Mapping[str, object]
"""A taxonomy as a policy writes it: `{prefix: [4, 3, 1]}`."""

KINDS: Mapping[str, Callable[[Spec, Sequence[Text]], ValueTree]] = {
    "flat": build_flat,
    "rows": build_rows,
    "tree": build_tree,
    "intervals": build_intervals,
    "date": build_dates,
    "prefix": build_prefix,
    "mask": build_mask,
}
"""By the key that names them in a policy; `file` and `ready` need the content of a file beside it."""


def value_tree(spec: Spec, texts: Sequence[Text], *, content: bytes | None = None) -> ValueTree:
    """Returns the tree that the policy's words make of the texts that occur, `None` for an empty cell.

    Raises `BadTaxonomy` where the words make no tree, or a text has no place in it.
    """
    if "file" in spec:
        if content is None:
            raise BadTaxonomy("the content of a hierarchy file is missing", where=str(spec["file"]))
        return build_file(spec, texts, content)
    if "ready" in spec:
        if content is None:
            raise BadTaxonomy("the content of a ready list is missing", where=str(spec["ready"]))
        return build_ready(spec, texts, content)
    kinds = [build for key, build in KINDS.items() if key in spec]
    if len(kinds) != 1:
        raise BadTaxonomy(f"a taxonomy names one of {', '.join((*KINDS, 'file', 'ready'))}")
    return kinds[0](spec, texts)
