"""Numbers in intervals of growing width, each of which divides the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from sfumato.core.errors import BadTaxonomy
from sfumato.judge.taxonomies.numbers import number, number_text, written_number
from sfumato.judge.taxonomies.value_tree import ANY, Text, ValueTree


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
        listed = spec["intervals"]
        given = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else [listed]
        widths = tuple(map(_said, given))
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
            found = [(size - start) // step for size in sizes]
        else:
            found = [floor((size - self.origin) / width) for size in sizes]
        if self.bottom is not None:
            found.insert(0, ceil((self.bottom - self.origin) / width) - 1)
        if self.top is not None:
            found.append(floor((self.top - self.origin) / width))
        return found

    def label(self, index: int, width: Fraction, *, lowest: bool, highest: bool) -> str:
        """Returns what an interval is published as; it may hold the lowest or the highest value."""
        begin, end = self.origin + index * width, self.origin + (index + 1) * width
        begin = begin if self.low is None else max(begin, self.low)
        end = end if self.high is None else min(end, self.high)
        if lowest or highest:
            open_ended = f"<{number_text(end)}" if lowest else f"{number_text(begin)}+"
            return ANY if lowest and highest else open_ended
        return f"[{number_text(begin)}, {number_text(end)})"


def build(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of numbers, grouped as the policy says.

    >>> tree = build({"intervals": [5, 10], "from": 0, "to": 100, "top": 90}, ["93", "42"])
    >>> [level[tree.place("42")] for level in tree.labels], tree.values[tree.place("93")]
    (['42', '[40, 45)', '[40, 50)', '*'], '90+')
    """
    scale = Scale.of(spec)
    sized = [(scale.size(text), text) for text in texts if text is not None]
    wrong = [text for size, text in sized if size is None or not scale.has(size)]
    if wrong:
        raise BadTaxonomy(f"{len(wrong)} values have no place in the intervals", values=wrong)
    known = [(size, text) for size, text in sized if size is not None]
    aliases = {text: leaf for size, text in known if (leaf := scale.leaf(size, text)) != text}
    sizes, values = _values(scale, known)
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
    scale: Scale, known: Sequence[tuple[Fraction, str]]
) -> tuple[Sequence[Fraction] | range, list[Text]]:
    """Returns the numbers that keep a value of their own, and all values in their order."""
    values: list[Text]
    sizes: Sequence[Fraction] | range
    if scale.decimal:
        own = sorted((size, text) for size, text in known if scale.leaf(size, text) == text)
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
    found = None if isinstance(word, bool) else number(repr(word) if isinstance(word, float) else str(word))
    if found is None:
        raise BadTaxonomy("an end or a width is no number")
    return found
