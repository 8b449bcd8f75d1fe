"""What a column probably is, and why."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from sfumato.core.microdata import Role
from sfumato.policy.column_evidence import ColumnEvidence, nearly_unique, texts
from sfumato.policy.column_finding import NOTHING, Hint
from sfumato.policy.column_names import AGES, IDENTIFIERS, PLACES, SENSITIVE, words
from sfumato.policy.policy import ColumnRule
from sfumato.policy.taxonomies import Dates, Flat, Intervals, Prefix
from sfumato.policy.taxonomies.date import day
from sfumato.policy.taxonomies.numbers import number

FEW = 12
"""So few values need no hierarchy."""
SOME = 20
LONG_TEXT = 40
OLDEST = 120
MOST_BINS = 25
WIDEST = 1_000_000
_CODE = re.compile(r"[A-Z0-9][A-Z0-9.\-]*", re.ASCII)


@dataclass(frozen=True)
class Clues:
    """What the guesses look at."""

    name: frozenset[str]
    column: ColumnEvidence
    values: list[str]
    present: int
    unique: bool
    hint: Hint = NOTHING

    @property
    def distinct(self) -> int:
        return self.column.distinct


def guess(name: str, column: ColumnEvidence, rows: int, *, hint: Hint = NOTHING) -> ColumnRule:
    """The first guess that has something to say; else a quasi-identifier without hierarchy."""
    present = rows - column.missing
    clues = Clues(words(name), column, texts(column), present, nearly_unique(column, rows), hint)
    rule = next((rule for attempt in GUESSES if (rule := attempt(clues)) is not None), None)
    if rule is None:
        rule = ColumnRule(Role.QUASI, Flat(), f"{_values(clues)}; a hierarchy file would keep more detail")
    if hint.remark and rule.role is not Role.IDENTIFIER:
        return replace(rule, reason=f"{rule.reason}; {hint.remark}")
    return rule


def _empty(clues: Clues) -> ColumnRule | None:
    if clues.present > 0:
        return None
    return ColumnRule(Role.IDENTIFIER, None, "holds nothing, so nothing is published")


def _known_identifier(clues: Clues) -> ColumnRule | None:
    return ColumnRule(Role.IDENTIFIER, None, clues.hint.identifies) if clues.hint.identifies else None


def _too_many(clues: Clues) -> ColumnRule | None:
    if clues.column.complete and clues.column.kind != "list":
        return None
    why = (
        "lists in its cells"
        if clues.column.kind == "list"
        else f"more than {clues.distinct} different values"
    )
    return ColumnRule(Role.IDENTIFIER, None, f"{why}: not published unless you say otherwise")


def _named_identifier(clues: Clues) -> ColumnRule | None:
    many = clues.distinct == clues.present or clues.distinct > max(SOME, clues.present / 5)
    if clues.name & IDENTIFIERS and many:
        return ColumnRule(Role.IDENTIFIER, None, f"its name says so, and {_values(clues)}")
    return None


def _free_text(clues: Clues) -> ColumnRule | None:
    size = sum(map(len, clues.values)) / max(1, len(clues.values))
    if clues.column.kind == "text" and size > LONG_TEXT and 2 * clues.distinct > clues.present:
        return ColumnRule(Role.IDENTIFIER, None, "free text: anybody's name may stand in it")
    return None


def _secret(clues: Clues) -> ColumnRule | None:
    if not clues.name & SENSITIVE:
        return None
    if clues.unique and clues.column.kind == "text":
        return ColumnRule(Role.IDENTIFIER, None, "sensitive by its name, but nearly every value is unique")
    caution = "; nearly every value is unique, think of coarser ones" if clues.unique else ""
    return ColumnRule(Role.SENSITIVE, None, f"sensitive by its name{caution}")


def _date(clues: Clues) -> ColumnRule | None:
    days = [day(value) for value in clues.values]
    known = [at for at in days if at is not None]
    if not known or len(known) < len(days):
        return None
    span = (max(known) - min(known)).days // 365
    units = ("month", "year", "decade") if span >= 10 else ("month", "quarter", "year")
    return ColumnRule(Role.QUASI, Dates(units), f"dates over {span} years" if span else "dates within a year")


def _code(clues: Clues) -> ColumnRule | None:
    length = len(clues.values[0]) if clues.values else 0
    alike = 3 <= length <= 12 and all(len(v) == length and _CODE.fullmatch(v) for v in clues.values)
    if not alike or clues.distinct <= FEW or not any(c.isdigit() for c in clues.values[0]):
        return None
    padded = any(v.startswith("0") and v.isdigit() for v in clues.values)
    letters = any(c.isalpha() for v in clues.values for c in v)
    if not (padded or letters or clues.name & PLACES):
        return None
    if clues.unique and not clues.name & PLACES:
        return ColumnRule(Role.IDENTIFIER, None, f"codes of {length} characters, nearly all unique")
    keep = range(length - 1, 0, -1) if length <= 6 else (length - 2, length // 2, length // 4)
    return ColumnRule(Role.QUASI, Prefix(tuple(keep)), f"codes of {length} characters each")


def _number(clues: Clues) -> ColumnRule | None:
    sizes = [number(value) for value in clues.values]
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return None
    low, high = min(known), max(known)
    whole = all(size == int(size) for size in known)
    span = f"{'whole numbers' if whole else 'numbers'}, {clues.distinct} different ones"
    if whole and low >= 0 and high < OLDEST and clues.name & AGES:
        return ColumnRule(Role.QUASI, Intervals(_widths(5, 4), Decimal(0), Decimal(OLDEST)), "ages in years")
    running = whole and clues.present > SOME and high - low + 1 == clues.distinct == clues.present
    if running:
        return ColumnRule(Role.IDENTIFIER, None, "a running number")
    if clues.distinct <= FEW:
        return ColumnRule(Role.QUASI, Flat(ordered=True), span)
    return ColumnRule(Role.QUASI, _intervals(low, high, whole=whole), span)


def _intervals(low: Decimal, high: Decimal, *, whole: bool) -> Intervals:
    """Widths that double from about `MOST_BINS` intervals up to one, on round numbers, with room to grow."""
    span = max(high - low, Decimal(1) if whole else high - low, Decimal("1e-12"))
    finest = _round_up(span / MOST_BINS, whole=whole)
    widths = [finest]
    while widths[-1] < span:
        widths.append(widths[-1] * 2)
    start = low // widths[-1] * widths[-1] if low >= 0 else -(-low // widths[-1] + 1) * widths[-1]
    stop = start + widths[-1] * 2
    if not whole or stop - start > WIDEST or high >= stop:
        return Intervals(tuple(widths), decimal=True)
    return Intervals(tuple(widths), start, stop)


def _round_up(size: Decimal, *, whole: bool) -> Decimal:
    """The next of 1, 2, 5, 10, 20, 50, …"""
    if whole and size <= 1:
        return Decimal(1)
    power = Decimal(1).scaleb(size.adjusted())
    return next(power * step for step in (1, 2, 5, 10) if power * step >= size)


def _widths(first: int, count: int) -> tuple[Decimal, ...]:
    return tuple(Decimal(first * 2**i) for i in range(count))


def _unique_text(clues: Clues) -> ColumnRule | None:
    if clues.unique:
        return ColumnRule(Role.IDENTIFIER, None, f"nearly every value is unique ({_values(clues)})")
    return None


def _few(clues: Clues) -> ColumnRule | None:
    if clues.distinct <= FEW:
        return ColumnRule(Role.QUASI, Flat(), _values(clues))
    return None


def _values(clues: Clues) -> str:
    return f"{clues.distinct} different value{'' if clues.distinct == 1 else 's'} in {clues.present} cells"


GUESSES: tuple[Callable[[Clues], ColumnRule | None], ...] = (
    _empty,
    _known_identifier,
    _too_many,
    _named_identifier,
    _free_text,
    _secret,
    _date,
    _code,
    _number,
    _unique_text,
    _few,
)
