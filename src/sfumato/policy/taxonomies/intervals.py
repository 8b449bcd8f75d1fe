"""Numbers in nested intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.policy.taxonomies.dates import day
from sfumato.policy.taxonomies.levels import (
    Level,
    builder_schema,
    decimal,
    label,
    list_schema,
    number,
    plain,
    sequence,
    tree_of_levels,
    unknown_values,
)
from sfumato.policy.taxonomies.texts import Flat
from sfumato.system.errors import BadPolicy, BadTaxonomy
from sfumato.table.taxonomy import ANY, Label, Spec, Taxonomy, TaxonomyRule

# Forms of numbers: how cells write thousands, decimals and sums of money.

PLAIN = "1234.5"
MONEY = "¤"
"""Before the name of a form: its numbers may bear a currency, and brackets where they are negative."""
_CURRENCIES = """
    R$ US$ C$ A$ $ € £ ¥ ₹ ₽ ₩ ₺ ₪ ₫ ₴ ₦ ฿ EUR USD GBP CHF JPY CNY SEK NOK DKK PLN CZK HUF RON CAD AUD NZD INR
    BRL MXN TRY ZAR Fr. Fr kr. kr zł Kč Ft Euro euro
"""
CURRENCIES = tuple(_CURRENCIES.split())
LONGEST_AMOUNT = 100
"""A sum of money has at most so many characters."""
_GAPS = " \u00a0\u202f"


@dataclass(frozen=True)
class NumberForm:
    """A form, named by the number 1234.5 as it writes it: `1.234,5`, `1 234,5`, `1234,5`, …

    Thousands may be marked in a cell or not; where they are, every group has three digits. Sums of money are
    in a form that begins with `¤`: with or without a currency at one end, negative in brackets or by a sign.

    >>> NumberForm("1.234,5").read("12.345,60"), NumberForm("1.234,5").read("12.34")
    (Decimal('12345.60'), None)
    >>> NumberForm("¤1,234.5").read("$1,234.50"), NumberForm("¤1,234.5").read("($5)")
    (Decimal('1234.50'), Decimal('-5'))
    """

    written: str = PLAIN

    def __post_init__(self) -> None:
        if self.written not in NUMBER_FORMS:
            raise BadPolicy(f"numbers are written as one of {', '.join(NUMBER_FORMS)}", where="written")

    def read(self, text: str) -> Decimal | None:
        """Returns the number that a cell holds, `None` if it holds none."""
        if self.written.startswith(MONEY):
            bare = without_currency(text)[0]
            return None if bare is None else NumberForm(self.written.removeprefix(MONEY)).read(bare)
        if self.written == PLAIN:
            return number(text)
        shape = self._shape.fullmatch(text)
        if shape is None:
            return None
        whole = "".join(filter(str.isdigit, shape["whole"]))
        return number(f"{shape['sign']}{whole}" + (f".{shape['part']}" if shape["part"] else ""))

    @cached_property
    def _shape(self) -> re.Pattern[str]:
        marks, point = NUMBER_FORMS[self.written]
        groups = rf"[0-9]{{1,3}}(?:[{marks}][0-9]{{3}})+|" if marks else ""
        return re.compile(rf"(?P<sign>[+-]?)(?P<whole>{groups}[0-9]+)(?:[{point}](?P<part>[0-9]*))?")


def without_currency(text: str) -> tuple[str | None, str]:
    """Returns the number in a sum of money, with a sign if it is negative, and its currency, if it has one.

    No number where two signs or currencies stand in a text.

    >>> without_currency("-€ 5"), without_currency("(1 234,50 €)"), without_currency("$5 $")
    (('-5', '€'), ('-1 234,50', '€'), (None, ''))
    """
    if len(text) > LONGEST_AMOUNT:
        return None, ""
    inside = text[1:-1] if text[:1] == "(" and text[-1:] == ")" else text
    signs = ["-"] if inside != text else []
    before = inside[:1] if inside[:1] in ("+", "-") else ""
    body = inside.removeprefix(before).strip(_GAPS)
    front = next((currency for currency in CURRENCIES if body.startswith(currency)), "")
    back = next((currency for currency in CURRENCIES if body.endswith(currency)), "")
    bare = body.removeprefix(front) if front else body.removesuffix(back)
    bare = bare.strip(_GAPS)
    within = bare[:1] if bare[:1] in ("+", "-") else ""
    signs += [sign for sign in (before, within) if sign]
    if (front and back) or len(signs) > 1:
        return None, ""
    return "".join(signs) + bare.removeprefix(within), front or back


def bears_money(text: str) -> bool:
    """Whether a number has a currency beside it, or stands in brackets.

    >>> [bears_money(text) for text in ("$5", "(5)", " 5", "-5")]
    [True, True, False, False]
    """
    return text.startswith("(") or bool(without_currency(text)[1])


_BASIC = {
    PLAIN: ("", "."),
    "1234,5": ("", ","),
    "1.234,5": (".", ","),
    "1,234.5": (",", "."),
    "1 234,5": (" \u00a0\u202f", ","),
    "1 234.5": (" \u00a0\u202f", "."),
    "1'234.5": ("'\u2019", "."),
    "1'234,5": ("'\u2019", ","),
}
NUMBER_FORMS = {**_BASIC, **{f"{MONEY}{name}": marks for name, marks in _BASIC.items()}}
"""By their name: the marks of thousands, and the decimal mark."""


def _is_whole(text: str) -> bool:
    """Whether a text has neither a mark nor a sign: every form reads it alike."""
    return text.isascii() and text.isdigit()


def form_of(texts: Iterable[str], *, decimal: str | None = None) -> NumberForm | None:
    """Returns the only form in which all texts are numbers, the plain one first; `None` where it is not told.

    A column of texts such as `1,234`, each with one comma before three digits, may be of thousands or of
    decimals: it has no form, unless somebody says what the `decimal` mark is. Texts that have a form with
    another mark alone keep it. Sums of money have a form where all have the same currency, or none.

    >>> form_of(["1,234"]), form_of(["1,234"], decimal=","), form_of(["1.234"], decimal=",")
    (None, NumberForm(written='1234,5'), NumberForm(written='1.234,5'))
    """
    listed = list(texts)
    form = _basic_form_of(listed, decimal)
    if form is not None:
        return form
    amounts = _amounts(listed)
    form = None if amounts is None or amounts == listed else _basic_form_of(amounts, decimal)
    return None if form is None else NumberForm(MONEY + form.written)


def _basic_form_of(listed: Sequence[str], decimal: str | None) -> NumberForm | None:
    """Returns the only form without money in which all texts are numbers."""
    if not listed:
        return None
    basic = [NumberForm(name) for name in _BASIC]
    fitting = [form for form in basic if all(form.read(t) is not None for t in listed)]
    if decimal is not None and not all(map(_is_whole, listed)):
        fitting = [form for form in fitting if NUMBER_FORMS[form.written][1] == decimal] or fitting
    if not fitting or fitting[0].written == PLAIN:
        return fitting[0] if fitting else None
    numbers = {tuple(form.read(text) for text in listed) for form in fitting}
    return fitting[0] if len(numbers) == 1 else None


def _amounts(listed: Sequence[str]) -> list[str] | None:
    """Returns sums of money without their currency, `None` where they have several, or a text is none."""
    bare, currencies = [], set[str]()
    for text in listed:
        amount, currency = without_currency(text)
        if amount is None or not any(map(str.isdigit, amount)) or any(map(str.isalpha, amount)):
            return None
        bare.append(amount)
        currencies |= {currency} if currency else set()
    return bare if len(currencies) <= 1 else None


MOST_LEAVES = 2_000_000
"""So many whole numbers may be leaves."""

BELOW, ABOVE = -1, 1


@dataclass(frozen=True)
class Intervals:
    """Intervals of growing width: `{intervals: [5, 10, 20, 40], from: 0, to: 120}`.

    Every interval holds its lower end and not its upper end; the first starts at `from`, and `to` is the
    first number that is out of range. Each width divides the next, so that every number lies in exactly
    one interval of each width. The whole numbers from `from` to `to`, `to` excluded, are the leaves,
    whatever the data holds. With `decimal: true` the numbers that occur are the leaves. `top: 90` codes all
    from 90 on as `90+`; `bottom: 18` codes all below 18 as `<18`. `written: 1.234,5` says how cells write
    numbers, where they do not as `1234.5`; intervals are published in plain numbers.

    >>> t = Intervals.read({"intervals": [5, 10], "from": 0, "to": 100, "top": 90}).build(["93"])
    >>> [t.labels[v] for v in t.levels[:, t.rank("42")]], t.leaf_labels[t.rank("93")]
    (['42', '[40, 45)', '[40, 50)', '*'], '90+')
    """

    key: ClassVar[str] = "intervals"
    schema: ClassVar[Mapping[str, object]] = builder_schema(
        "Nested intervals; each width divides the next. `to` is excluded.",
        {
            "intervals": list_schema(
                {"$ref": "#/$defs/number"}, "The width of an interval at level 1, at level 2, and so on."
            ),
            "from": {"$ref": "#/$defs/number", "description": "Where the first interval starts."},
            "to": {"$ref": "#/$defs/number", "description": "The first number that is out of range."},
            "top": {"$ref": "#/$defs/number", "description": "All numbers from this one on are one value."},
            "bottom": {"$ref": "#/$defs/number", "description": "All numbers below this one are one value."},
            "decimal": {
                "type": "boolean",
                "default": False,
                "description": "Numbers may have decimals: those that occur are the leaves.",
            },
            "written": {
                "enum": list(NUMBER_FORMS),
                "default": PLAIN,
                "description": "How cells write the number 1234.5.",
            },
        },
    )

    widths: tuple[Decimal, ...]
    start: Decimal | None = None
    stop: Decimal | None = None
    top: Decimal | None = None
    bottom: Decimal | None = None
    decimal: bool = False
    written: str = PLAIN
    ordered: ClassVar[bool] = True
    digest: ClassVar[str] = ""

    def __post_init__(self) -> None:
        NumberForm(self.written)
        if not self.widths or self.widths[0] <= 0:
            raise BadPolicy("a width must be greater than 0", where="intervals")
        for finer, coarser in zip(self.widths, self.widths[1:], strict=False):
            if coarser <= finer or _ticks(coarser, _places(finer, coarser)) % _ticks(
                finer, _places(finer, coarser)
            ):
                raise BadPolicy(
                    f"{plain(finer)} does not divide {plain(coarser)}, so intervals would overlap",
                    where="intervals",
                    remedy="Each width must be a multiple of the one before, as in [5, 10, 20, 40].",
                )
        if not self.decimal:
            self._check_whole()
        low, high = self._low, self._high
        if low is not None and high is not None and low >= high:
            raise BadPolicy("the range is empty: its lower end is not below its upper end", where="from")

    def _check_whole(self) -> None:
        numbers = (*self.widths, self.start, self.stop, self.top, self.bottom)
        if any(x is not None and x != int(x) for x in numbers):
            raise BadPolicy("not all numbers are whole", remedy="Say `decimal: true` for decimal numbers.")
        if self._low is None or self._high is None:
            lacks = "from (or bottom)" if self._low is None else "to (or top)"
            raise BadPolicy(
                f"{lacks} is missing", remedy="As in `from: 0, to: 120`; `to` itself is excluded."
            )
        if int(self._high) - int(self._low) > MOST_LEAVES:
            raise BadPolicy(
                f"more than {MOST_LEAVES:,} whole numbers in range",
                remedy="Narrow from and to, or say `decimal: true` to take the numbers that occur.",
            )

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        ends = {
            field: decimal(spec[key], key=key)
            for key, field in (("from", "start"), ("to", "stop"), ("top", "top"), ("bottom", "bottom"))
            if spec.get(key) is not None
        }
        widths = tuple(decimal(w, key="intervals") for w in sequence(spec["intervals"]))
        form = label(spec.get("written", PLAIN))
        whole = spec.get("decimal") is not True
        return cls(widths, **ends, decimal=not whole, written=form)

    @property
    def spec(self) -> Spec:
        ends = {"from": self.start, "to": self.stop, "top": self.top, "bottom": self.bottom}
        return {
            "intervals": [_written(w) for w in self.widths],
            **{key: _written(end) for key, end in ends.items() if end is not None},
            **({"decimal": True} if self.decimal else {}),
            **({} if self.written == PLAIN else {"written": self.written}),
        }

    def build(self, values: Sequence[Label]) -> Taxonomy:
        texts = [v for v in values if v is not None]
        form = NumberForm(self.written)
        read = [(form.read(text), text) for text in texts]
        if wrong := [text for size, text in read if size is None or not self._in_range(size)]:
            raise unknown_values(wrong)
        sizes = [(size, text) for size, text in read if size is not None]
        if self.decimal:
            inside = sorted((size, text) for size, text in sizes if self._side(size) == 0)
            numbers, names = [size for size, _ in inside], [text for _, text in inside]
        else:
            numbers = []
            names = [str(i) for i in range(int(self._low or 0), int(self._high or 0))]
        aliases: dict[Label, Label] = {}
        for size, text in sizes:
            leaf = self._leaf(size, text)
            if leaf != text:
                aliases[text] = leaf
        levels = self._levels(names, numbers)
        return tree_of_levels(levels, ordered=True, missing=len(texts) < len(values), aliases=aliases)

    @property
    def _low(self) -> Decimal | None:
        return self.start if self.bottom is None else self.bottom

    @property
    def _high(self) -> Decimal | None:
        return self.stop if self.top is None else self.top

    def _in_range(self, size: Decimal) -> bool:
        below = self.start is not None and size < self.start
        above = self.stop is not None and size >= self.stop
        return not below and not above and (self.decimal or size == int(size))

    def _side(self, size: Decimal) -> int:
        if self.bottom is not None and size < self.bottom:
            return BELOW
        return ABOVE if self.top is not None and size >= self.top else 0

    def _leaf(self, size: Decimal, text: str) -> str:
        side = self._side(size)
        if side == 0:
            return text if self.decimal else str(int(size))
        return (
            f"<{plain(self.bottom or Decimal(0))}" if side == BELOW else f"{plain(self.top or Decimal(0))}+"
        )

    def _levels(self, names: list[str], numbers: list[Decimal]) -> list[Level]:
        """Returns a level per width; bins are counted in whole ticks, so that nothing is rounded."""
        anchor = next((x for x in (self.start, self.bottom) if x is not None), Decimal(0))
        ends = [x for x in (anchor, self.top, self.bottom) if x is not None]
        places = _places(*self.widths, *ends, *numbers)
        zero = _ticks(anchor, places)
        if self.decimal:
            ticks = [_ticks(x, places) - zero for x in numbers]
        else:
            first = int(self._low or 0) * 10**places - zero
            ticks = [first + i * 10**places for i in range(len(names))]
        labels = list(names)
        if self.bottom is not None:
            labels.insert(0, f"<{plain(self.bottom)}")
            ticks.insert(0, _ticks(self.bottom, places) - zero - 1)
        if self.top is not None:
            labels.append(f"{plain(self.top)}+")
            ticks.append(_ticks(self.top, places) - zero)
        leaves = Level(labels, np.arange(len(labels)))
        bins = [self._bins(ticks, width, places, zero) for width in self.widths]
        return [leaves, *bins, Level.all_alike(ANY, len(labels))] if labels else []

    def _bins(self, ticks: list[int], width: Decimal, places: int, zero: int) -> Level:
        step = _ticks(width, places)
        fits = not ticks or max(abs(ticks[0]), abs(ticks[-1])) < 2**62
        numbers: NDArray[np.int64] | NDArray[np.object_]
        numbers = np.array(ticks, dtype=np.int64 if fits and step < 2**62 else object) // step
        first, last = int(numbers[0]) if ticks else 0, int(numbers[-1]) if ticks else 0
        used, codes = np.unique(numbers, return_inverse=True)
        names: list[Label] = []
        for index in used.tolist():
            low, high = (_number(zero + i * step, places) for i in (index, index + 1))
            below = self.bottom is not None and index == first
            above = self.top is not None and index == last
            names.append(self._name(low, high, below=below, above=above))
        return Level(names, codes.astype(np.int64))

    def _name(self, low: Decimal, high: Decimal, *, below: bool, above: bool) -> str:
        if below and above:
            return ANY
        if below:
            return f"<{plain(high if self._high is None else min(high, self._high))}"
        if self._low is not None:
            low = max(low, self._low)
        if above:
            return f"{plain(low)}+"
        if self._high is not None:
            high = min(high, self._high)
        return f"[{plain(low)}, {plain(high)})"


def _places(*numbers: Decimal) -> int:
    """Returns how many decimal places write all of them without loss."""
    return max(0, *(-int(x.as_tuple().exponent) for x in numbers))


def _ticks(value: Decimal, places: int) -> int:
    """Returns the number in units of 10^-places, exactly."""
    sign, digits, exponent = value.as_tuple()
    scaled: int = int("".join(map(str, digits))) * 10 ** (int(exponent) + places)
    return -scaled if sign else scaled


def _number(ticks: int, places: int) -> Decimal:
    return Decimal(f"{ticks}E-{places}")


def _written(value: Decimal) -> int | str:
    return int(value) if value == int(value) else plain(value)


# Range ends: what a column needs so that a search can publish ranges of its values.

MOST_CODES = 2
"""So many different numbers without a taxonomy are taken for codes, such as 0 and 1."""

REMEDY = (
    "Give it one, as in `{intervals: [5, 10], from: 0, to: 120}` or `{date: [month, year]}`"
    " (`sfumato declare` proposes one), or `{flat: true}` if the values are codes."
)


def check_range_ends(rule: TaxonomyRule | None, values: Sequence[Label], *, search: str) -> None:
    """Raises `BadTaxonomy` where a search that publishes ranges would find none in a column.

    Numbers and dates without a taxonomy have no order, and would be the value or `*`. Values in an order that
    nobody listed have no ends but those of the data: the least and the greatest value of a class, which may
    be one person's each.
    """
    texts = [value for value in values if value is not None]
    if rule is None and len(texts) > MOST_CODES:
        for kind, read in (("numbers", number), ("dates", day)):
            if all(read(text) is not None for text in texts):
                raise BadTaxonomy(
                    f"{kind} without a taxonomy: {search} would publish each as it is or as `*`",
                    remedy=REMEDY,
                )
    if isinstance(rule, Flat) and rule.ordered and rule.domain is None and len(texts) > 1:
        raise BadTaxonomy(
            f"the values are ordered, and no list of them says where ranges may end: {search} would have to"
            " publish the least and the greatest value of every class",
            remedy="List them, as in `{flat: [low, mid, high], ordered: true}`, or give intervals.",
        )


def check_range_ceiling(tree: Taxonomy, *, search: str) -> None:
    """Raises `BadTaxonomy` where ranges of a column would be coarser than the policy lets it be."""
    if tree.ordered and tree.ceiling < tree.range_level:
        raise BadTaxonomy(
            f"at-most or fixed asks for single values, and {search} publishes ranges between nodes of level"
            f" {tree.range_level}",
            remedy="Use search: top-down, lattice, optimum or local, or allow that level.",
        )
