"""Taxonomies of drafts: how the values of a quasi-identifier can become coarser, each with its reason."""

from __future__ import annotations

import re
from decimal import Decimal

from sfumato.core.taxonomy_rule import TaxonomyRule
from sfumato.policy.column_profile import FEW_VALUES, ColumnProfile
from sfumato.policy.ordered_categories import ordered_taxonomy
from sfumato.policy.ready_columns import ready_taxonomy
from sfumato.policy.taxonomies import Dates, Flat, Intervals, Prefix
from sfumato.policy.taxonomies.date_form import DateForm

HIGHEST_AGE = 120
LOWEST_ADULT = 18
"""Where nobody is as old, the numbers may be those of age groups."""
MOST_BINS = 25
WIDEST_RANGE = 1_000_000
NOMINAL_NUMBERS = 3
"""So few different numbers are codes: an interval of them would be all of them."""
OUTLIER_SHARE = 200
"""One in so many values on either side may be far away from the rest."""
FAR = 2
"""Outliers are this many times further from the middle than the rest is wide."""
DECADE_YEARS = 10
_CODE = re.compile(r"[A-Z0-9][A-Z0-9.\-]*", re.ASCII)

DraftedTaxonomy = tuple[TaxonomyRule, str]
"""A taxonomy, and the reason for it."""


def taxonomy_of(profile: ColumnProfile) -> DraftedTaxonomy:
    """Returns the first taxonomy that fits the values; else none but the value or `*`."""
    found = (attempt(profile) for attempt in (_dates, _ages, ready_taxonomy, _codes, _numbers, _ordered))
    fitting = next((drafted for drafted in found if drafted is not None), None)
    if fitting is not None:
        return fitting
    more = "" if profile.distinct <= FEW_VALUES else "; a hierarchy file would keep more detail"
    return Flat(), f"{profile.spoken()}{more}"


def _dates(profile: ColumnProfile) -> DraftedTaxonomy | None:
    forms = profile.dates
    if not forms:
        return None
    form = forms[0]
    days = [day for value in profile.values if (day := form.day(value)) is not None]
    span = (max(days) - min(days)).days // 365
    reason = f"dates over {span} year{'s' if span > 1 else ''}" if span else "dates within a year"
    if _may_change_places(forms):
        units: tuple[str, ...] = ("year", "decade") if span >= DECADE_YEARS else ("year",)
        return Dates(units, form.written), f"{reason}; days and months could change places, years cannot"
    units = ("month", "year", "decade") if span >= DECADE_YEARS else ("month", "quarter", "year")
    if form.finest == "month":
        units = units[1:]
    return Dates(units, form.written), reason


def _may_change_places(forms: list[DateForm]) -> bool:
    return len(forms) > 1


def _ages(profile: ColumnProfile) -> DraftedTaxonomy | None:
    numbers = profile.numbers
    if not numbers or not profile.whole or not profile.called("age"):
        return None
    if min(numbers) < 0 or not LOWEST_ADULT <= max(numbers) < HIGHEST_AGE:
        return None
    form = profile.number_form
    assert form is not None  # noqa: S101  # there are numbers
    widths = tuple(Decimal(5 * 2**i) for i in range(4))
    return Intervals(widths, Decimal(0), Decimal(HIGHEST_AGE), written=form.written), "ages in years"


def _codes(profile: ColumnProfile) -> DraftedTaxonomy | None:
    length = code_length(profile)
    if not length:
        return None
    keep = range(length - 1, 0, -1) if length <= 6 else (length - 2, length // 2, length // 4)
    return Prefix(tuple(keep)), f"codes of {length} characters each"


def code_length(profile: ColumnProfile) -> int:
    """Returns how many characters all values have, if they are codes that say less when cut; else 0.

    Blanks that a file with columns of a fixed width leaves behind every code do not count.
    """
    padded_alike = len({len(value) for value in profile.values}) == 1
    values = [value.rstrip() for value in profile.values] if padded_alike else profile.values
    length = len(values[0]) if values else 0
    alike = 3 <= length <= 12 and all(len(v) == length and _CODE.fullmatch(v) for v in values)
    if not alike or not any(c.isdigit() for c in values[0]):
        return 0
    postal = profile.called("place", "job", "education") and length >= 4 and all(v.isdigit() for v in values)
    if postal and profile.distinct > NOMINAL_NUMBERS:
        return length
    padded = any(v.startswith("0") and v.isdigit() for v in values)
    letters = any(c.isalpha() for v in values for c in v) and profile.numbers is None
    return length if profile.distinct > FEW_VALUES and (padded or letters) else 0


def _numbers(profile: ColumnProfile) -> DraftedTaxonomy | None:
    numbers = profile.numbers
    if not numbers:
        return None
    what = f"{'whole numbers' if profile.whole else 'numbers'}, {profile.distinct} different ones"
    if profile.distinct <= NOMINAL_NUMBERS:
        return Flat(), what
    low, high, far = _range(profile, numbers)
    rule = _intervals(profile, low, high)
    return rule, f"{what}{', some far from the rest' if far else ''}"


def _range(profile: ColumnProfile, numbers: tuple[Decimal, ...]) -> tuple[Decimal, Decimal, bool]:
    """Returns the range of the values without the few far from the rest, and whether there are any."""
    sized = sorted(zip(numbers, profile.counts, strict=True))
    low, high = sized[0][0], sized[-1][0]
    allowed = profile.present // OUTLIER_SHARE
    near_low, near_high = _number_after(sized, allowed), _number_after(sized[::-1], allowed)
    width = near_high - near_low
    if width <= 0:
        return low, high, False
    far_low, far_high = near_low - low > FAR * width, high - near_high > FAR * width
    return (near_low if far_low else low), (near_high if far_high else high), far_low or far_high


def _number_after(sized: list[tuple[Decimal, int]], allowed: int) -> Decimal:
    """Returns the first number after so many cells."""
    seen = 0
    for size, count in sized:
        seen += count
        if seen > allowed:
            return size
    return sized[-1][0]


def _intervals(profile: ColumnProfile, low: Decimal, high: Decimal) -> Intervals:
    """Returns widths that double from about `MOST_BINS` intervals to one, on round numbers, with room.

    Numbers outside the range become open-ended at once.
    """
    form, numbers, whole = profile.number_form, profile.numbers, profile.whole
    assert form is not None and numbers is not None  # noqa: S101  # there are numbers
    span = max(high - low, Decimal(1) if whole else high - low, Decimal("1e-12"))
    finest = _round_up(span / MOST_BINS, whole=whole)
    widths = [finest]
    while widths[-1] < span:
        widths.append(widths[-1] * 2)
    top = (high // widths[0] + 1) * widths[0] if max(numbers) > high else None
    bottom = low // widths[0] * widths[0] if min(numbers) < low else None
    if bottom is not None and low < 0 and bottom > low:
        bottom -= widths[0]
    start = low // widths[-1] * widths[-1] if low >= 0 else -(-low // widths[-1] + 1) * widths[-1]
    stop = start + widths[-1] * 2
    first, last = (None if bottom is not None else start), (None if top is not None else stop)
    ends = ((bottom if first is None else first), (top if last is None else last))
    wide = ends[1] is not None and ends[0] is not None and ends[1] - ends[0] > WIDEST_RANGE
    if whole and not wide and (top is not None or high < stop):
        return Intervals(tuple(widths), first, last, top, bottom, written=form.written)
    return Intervals(tuple(widths), top=top, bottom=bottom, decimal=True, written=form.written)


def _round_up(size: Decimal, *, whole: bool) -> Decimal:
    """Returns the next of 1, 2, 5, 10, 20, 50, …; at least 2 of whole numbers, as 1 is the value itself."""
    if whole and size <= 1:
        return Decimal(2)
    power = Decimal(1).scaleb(size.adjusted())
    return next(power * step for step in (1, 2, 5, 10) if power * step >= size)


def _ordered(profile: ColumnProfile) -> DraftedTaxonomy | None:
    return ordered_taxonomy(profile.values) if profile.distinct <= 40 else None
