"""Guesses of what a column is, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from sfumato.core.microdata import Role
from sfumato.policy.column_evidence import NO_FINDING, ColumnEvidence, ColumnFinding, nearly_unique, texts
from sfumato.policy.column_names import AGES, IDENTIFIERS, PLACES, SENSITIVE, words
from sfumato.policy.policy import ColumnRule
from sfumato.policy.taxonomies import Dates, Flat, Intervals, Prefix
from sfumato.policy.taxonomies.date import day
from sfumato.policy.taxonomies.numbers import number

FEW_VALUES = 12
"""So few values need no hierarchy."""
SMALL_TABLE = 20
"""In so few rows many different values, or running numbers, prove nothing."""
LONG_TEXT = 40
HIGHEST_AGE = 120
MOST_BINS = 25
WIDEST_RANGE = 1_000_000
_CODE = re.compile(r"[A-Z0-9][A-Z0-9.\-]*", re.ASCII)


@dataclass(frozen=True)
class ColumnProfile:
    """The name, the values and the findings by which a column is guessed."""

    name: frozenset[str]
    column: ColumnEvidence
    values: list[str]
    present: int
    unique: bool
    finding: ColumnFinding = NO_FINDING

    @property
    def distinct(self) -> int:
        return self.column.distinct


def guess(name: str, column: ColumnEvidence, rows: int, *, finding: ColumnFinding = NO_FINDING) -> ColumnRule:
    """Returns the first guess that applies; else a quasi-identifier without hierarchy."""
    present = rows - column.missing
    profile = ColumnProfile(words(name), column, texts(column), present, nearly_unique(column, rows), finding)
    rule = next((rule for attempt in GUESSES if (rule := attempt(profile)) is not None), None)
    if rule is None:
        rule = ColumnRule(Role.QUASI, Flat(), f"{_values(profile)}; a hierarchy file would keep more detail")
    if finding.remark and rule.role is not Role.IDENTIFIER:
        return replace(rule, reason=f"{rule.reason}; {finding.remark}")
    return rule


def _empty(profile: ColumnProfile) -> ColumnRule | None:
    if profile.present > 0:
        return None
    return ColumnRule(Role.IDENTIFIER, None, "holds nothing, so nothing is published")


def _known_identifier(profile: ColumnProfile) -> ColumnRule | None:
    return (
        ColumnRule(Role.IDENTIFIER, None, profile.finding.identifies) if profile.finding.identifies else None
    )


def _too_many(profile: ColumnProfile) -> ColumnRule | None:
    if profile.column.complete and profile.column.kind != "list":
        return None
    why = (
        "lists in its cells"
        if profile.column.kind == "list"
        else f"more than {profile.distinct} different values"
    )
    return ColumnRule(Role.IDENTIFIER, None, f"{why}: not published unless you say otherwise")


def _named_identifier(profile: ColumnProfile) -> ColumnRule | None:
    many = profile.distinct == profile.present or profile.distinct > max(SMALL_TABLE, profile.present / 5)
    if profile.name & IDENTIFIERS and many:
        return ColumnRule(Role.IDENTIFIER, None, f"its name says so, and {_values(profile)}")
    return None


def _free_text(profile: ColumnProfile) -> ColumnRule | None:
    size = sum(map(len, profile.values)) / max(1, len(profile.values))
    if profile.column.kind == "text" and size > LONG_TEXT and 2 * profile.distinct > profile.present:
        return ColumnRule(Role.IDENTIFIER, None, "free text: anybody's name may stand in it")
    return None


def _sensitive(profile: ColumnProfile) -> ColumnRule | None:
    if not profile.name & SENSITIVE:
        return None
    if profile.unique and profile.column.kind == "text":
        return ColumnRule(Role.IDENTIFIER, None, "sensitive by its name, but nearly every value is unique")
    caution = "; nearly every value is unique, think of coarser ones" if profile.unique else ""
    return ColumnRule(Role.SENSITIVE, None, f"sensitive by its name{caution}")


def _date(profile: ColumnProfile) -> ColumnRule | None:
    days = [day(value) for value in profile.values]
    known = [at for at in days if at is not None]
    if not known or len(known) < len(days):
        return None
    span = (max(known) - min(known)).days // 365
    units = ("month", "year", "decade") if span >= 10 else ("month", "quarter", "year")
    return ColumnRule(Role.QUASI, Dates(units), f"dates over {span} years" if span else "dates within a year")


def _code(profile: ColumnProfile) -> ColumnRule | None:
    length = len(profile.values[0]) if profile.values else 0
    alike = 3 <= length <= 12 and all(len(v) == length and _CODE.fullmatch(v) for v in profile.values)
    if not alike or profile.distinct <= FEW_VALUES or not any(c.isdigit() for c in profile.values[0]):
        return None
    padded = any(v.startswith("0") and v.isdigit() for v in profile.values)
    letters = any(c.isalpha() for v in profile.values for c in v)
    if not (padded or letters or profile.name & PLACES):
        return None
    if profile.unique and not profile.name & PLACES:
        return ColumnRule(Role.IDENTIFIER, None, f"codes of {length} characters, nearly all unique")
    keep = range(length - 1, 0, -1) if length <= 6 else (length - 2, length // 2, length // 4)
    return ColumnRule(Role.QUASI, Prefix(tuple(keep)), f"codes of {length} characters each")


def _number(profile: ColumnProfile) -> ColumnRule | None:
    sizes = [number(value) for value in profile.values]
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return None
    low, high = min(known), max(known)
    whole = all(size == int(size) for size in known)
    span = f"{'whole numbers' if whole else 'numbers'}, {profile.distinct} different ones"
    if whole and low >= 0 and high < HIGHEST_AGE and profile.name & AGES:
        return ColumnRule(
            Role.QUASI, Intervals(_widths(5, 4), Decimal(0), Decimal(HIGHEST_AGE)), "ages in years"
        )
    running = (
        whole and profile.present > SMALL_TABLE and high - low + 1 == profile.distinct == profile.present
    )
    if running:
        return ColumnRule(Role.IDENTIFIER, None, "a running number")
    if profile.distinct <= FEW_VALUES:
        return ColumnRule(Role.QUASI, Flat(ordered=True), span)
    return ColumnRule(Role.QUASI, _intervals(low, high, whole=whole), span)


def _intervals(low: Decimal, high: Decimal, *, whole: bool) -> Intervals:
    """Returns widths that double from about `MOST_BINS` intervals to one, on round numbers, with room."""
    span = max(high - low, Decimal(1) if whole else high - low, Decimal("1e-12"))
    finest = _round_up(span / MOST_BINS, whole=whole)
    widths = [finest]
    while widths[-1] < span:
        widths.append(widths[-1] * 2)
    start = low // widths[-1] * widths[-1] if low >= 0 else -(-low // widths[-1] + 1) * widths[-1]
    stop = start + widths[-1] * 2
    if not whole or stop - start > WIDEST_RANGE or high >= stop:
        return Intervals(tuple(widths), decimal=True)
    return Intervals(tuple(widths), start, stop)


def _round_up(size: Decimal, *, whole: bool) -> Decimal:
    """Returns the next of 1, 2, 5, 10, 20, 50, …"""
    if whole and size <= 1:
        return Decimal(1)
    power = Decimal(1).scaleb(size.adjusted())
    return next(power * step for step in (1, 2, 5, 10) if power * step >= size)


def _widths(first: int, count: int) -> tuple[Decimal, ...]:
    return tuple(Decimal(first * 2**i) for i in range(count))


def _unique_text(profile: ColumnProfile) -> ColumnRule | None:
    if profile.unique:
        return ColumnRule(Role.IDENTIFIER, None, f"nearly every value is unique ({_values(profile)})")
    return None


def _few_values(profile: ColumnProfile) -> ColumnRule | None:
    if profile.distinct <= FEW_VALUES:
        return ColumnRule(Role.QUASI, Flat(), _values(profile))
    return None


def _values(profile: ColumnProfile) -> str:
    return (
        f"{profile.distinct} different value{'' if profile.distinct == 1 else 's'} in {profile.present} cells"
    )


GUESSES: tuple[Callable[[ColumnProfile], ColumnRule | None], ...] = (
    _empty,
    _known_identifier,
    _too_many,
    _named_identifier,
    _free_text,
    _sensitive,
    _date,
    _code,
    _number,
    _unique_text,
    _few_values,
)
