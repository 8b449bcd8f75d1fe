"""Guesses of what a column is, each with its reason: by its header, its cells, and what was found out."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.resources import files
from itertools import pairwise
from statistics import median

from sfumato.draft.evidence import (
    FEW_VALUES,
    FLAGS,
    LONG_TEXT,
    NO_FINDING,
    ColumnEvidence,
    ColumnFinding,
    ColumnProfile,
    TableEvidence,
)
from sfumato.draft.roles_from_content import (
    are_codes,
    are_long_numbers,
    are_numbers_of_people,
    are_sums_of_money,
    are_test_results,
    end_as_numbers_of_people,
    hash_digits,
    name_evidence,
    number_relatives,
    secret_words,
)
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies import rule_from
from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.files import Branch, NestedTree
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.ready.catalogue import CATALOGUE, ReadyEntry, ReadyKind, ReadyTaxonomy
from sfumato.policy.taxonomies.texts import Flat, Prefix
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.microdata import Role
from sfumato.table.taxonomy import ANY, TaxonomyRule

# Groups of categories: steps between a value without an order and `*`, for drafts.


FEWEST_CATEGORIES = 3
"""Two values have no group but all."""
MOST_CATEGORIES = 40
"""Groups of more values are what a hierarchy file is for."""
MOST_STEPS = 3
"""So many steps lie between a value and `*` at most: 2, 4 and 8 groups."""
NAMED_MEMBERS = 3
"""So many members of a group are named by its label; of a larger one fewer, and how many more there are."""
LONGEST_LABEL = 80


def grouped_categories(
    columns: Mapping[str, ColumnRule], survey: TableEvidence, least: int
) -> dict[str, ColumnRule]:
    """Returns new rules for the key columns whose words have no hierarchy, and could have one.

    A value that fewer than `least` rows have is written into no policy: such a column stays as it is.
    """
    trees = {}
    for name, rule in columns.items():
        if rule.role is not Role.QUASI or rule.taxonomy != Flat():
            continue
        tree = tree_of_categories(ColumnProfile.of(name, survey.columns[name], survey.rows), least)
        if tree is not None:
            trees[name] = ColumnRule(Role.QUASI, tree, f"{rule.reason}; common ones in groups")
    return trees


def tree_of_categories(profile: ColumnProfile, least: int) -> NestedTree | None:
    """Returns a tree that joins common values with common ones; none for numbers, few or rare values.

    Classes of k rows mix the common values most often, so these are what a group has to keep together: a
    group of rare values would be published less often, and `*` more often.
    """
    if not profile.column.complete or profile.numbers is not None or ANY in profile.values:
        return None
    if not FEWEST_CATEGORIES <= len(profile.values) <= MOST_CATEGORIES or min(profile.counts) < least:
        return None
    pairs = sorted(zip(profile.counts, profile.values, strict=True), key=lambda pair: (-pair[0], pair[1]))
    branches = _halves([value for _, value in pairs], MOST_STEPS)
    labels = [*_labels(branches)]
    if len(set(labels)) < len(labels) or max(map(len, labels)) > LONGEST_LABEL:
        return None
    return NestedTree(branches)


def _halves(values: Sequence[str], steps: int) -> tuple[Branch, ...]:
    """Returns the values in two groups, each again in two; the first has one more where they are odd."""
    if len(values) < FEWEST_CATEGORIES or not steps:
        return tuple(values)
    middle = (len(values) + 1) // 2
    halves = (values[:middle], values[middle:])
    return tuple(side[0] if len(side) == 1 else (label_of(side), _halves(side, steps - 1)) for side in halves)


def label_of(values: Sequence[str]) -> str:
    """Returns the text that a group is published as.

    >>> label_of(["Arts", "Law"]), label_of(["Arts", "Law", "Music", "Physics"])
    ('Arts / Law', 'Arts / Law / 2 more')
    """
    if len(values) <= NAMED_MEMBERS:
        return " / ".join(values)
    return f"{' / '.join(values[: NAMED_MEMBERS - 1])} / {len(values) - NAMED_MEMBERS + 1} more"


def _labels(branches: Sequence[Branch]) -> Sequence[str]:
    """Returns the labels of all values and groups."""
    return [
        label
        for branch in branches
        for label in ([branch] if isinstance(branch, str) else [branch[0], *_labels(branch[1])])
    ]


# Ordered categories: words of a known scale, and bands of numbers, as trees in their order.

FEWEST_LEVELS = 3
"""Two values have no order that would help."""
MOST_FLAT = 3
"""So many levels need no groups."""
HIGHEST = 10**10
"""Above every number of a band."""
_BAND = re.compile(
    r"(?P<below>[<≤]=?|under |unter |below |less than |weniger als |menos de |moins de |meno di )?"
    r"(?P<beyond>[>≥]=?|over |above |more than |über |mehr als |más de |plus de |più di |oltre )?"
    r"\s*(?P<low>[0-9]{1,9})(?:\s*(?:-|–|to|bis|à|a)\s*(?P<high>[0-9]{1,9}))?"
    r"(?P<more>\s*\+)?(?P<unit>\s*[^\W\d_]+?\.?)??"
    r"(?P<above>\s+(?:and|und|et|y|e|or|oder|ou|o)\s+(?:over|older|above|more|älter|mehr|plus|más|oltre|più)"
    r"(?P<behind>\s+[^\W\d_]+\.?)?)?"
)


@dataclass(frozen=True)
class ValueScale:
    """Levels from the least to the greatest, by the words for them, and how many of them belong together."""

    name: str
    levels: Mapping[str, int]
    tiers: tuple[int, ...]

    def tier(self, level: int) -> int:
        """Returns the group of a level."""
        ends = [sum(self.tiers[: i + 1]) for i in range(len(self.tiers))]
        return next((i for i, end in enumerate(ends) if level < end), len(ends) - 1)


@cache
def scales() -> tuple[ValueScale, ...]:
    """Returns the scales that Sfumato knows."""
    text = (files("sfumato.policy") / "lexicon" / "scales.toml").read_text(encoding="utf-8")
    return tuple(
        ValueScale(
            name,
            {_folded(word): i for i, level in enumerate(entry["levels"]) for word in level.split("|")},
            tuple(entry["tiers"]),
        )
        for name, entry in tomllib.loads(text).items()
    )


def ordered_taxonomy(values: Sequence[str]) -> tuple[Flat | NestedTree, str] | None:
    """Returns the values in their order, grouped where there are many, and what they are; else `None`.

    >>> found = ordered_taxonomy(["high", "low", "medium"])
    >>> found and (found[0].spec, found[1])
    ({'flat': ['low', 'medium', 'high'], 'ordered': True}, 'a scale of magnitude')
    """
    if len(values) < FEWEST_LEVELS:
        return None
    for scale in scales():
        places = [scale.levels.get(_folded(value)) for value in values]
        matching = sorted(
            (place, value) for place, value in zip(places, values, strict=True) if place is not None
        )
        if len(matching) == len(values) and len({place for place, _ in matching}) >= FEWEST_LEVELS:
            tiers = [scale.tier(place) for place, _ in matching]
            return _grouped([value for _, value in matching], tiers), f"a scale of {scale.name}"
    return _bands(values)


def _bands(values: Sequence[str]) -> tuple[Flat | NestedTree, str] | None:
    """Returns bands of numbers by their order (`<9 years`, `9-11 years`, `12 years`), in groups of two."""
    read = [(match, value) for value in values if (match := _BAND.fullmatch(value.strip().lower()))]
    bands = sorted((ends, value) for match, value in read if (ends := _band_ends(match)) is not None)
    if len(bands) < len(values) or not _one_after_another([ends for ends, _ in bands]):
        return None
    units = {
        _folded(match["unit"] or match["behind"] or "").rstrip(".").removesuffix("s") for match, _ in read
    } - {""}
    if len(units) > 1 or not any(re.search(r"[^0-9]", value) for value in values):
        return None
    return _grouped([value for _, value in bands], [i // 2 for i in range(len(bands))]), "bands of numbers"


def _grouped(values: Sequence[str], tiers: Sequence[int]) -> Flat | NestedTree:
    """Returns a tree of neighbours; without groups where there are few values, or one group would be all."""
    groups = [[v for v, at in zip(values, tiers, strict=True) if at == tier] for tier in dict.fromkeys(tiers)]
    labels = [f"{group[0]} … {group[-1]}" for group in groups]
    if len(values) <= MOST_FLAT or len(groups) < 2 or set(labels) & set(values):
        return Flat(tuple(values), ordered=True)
    branches: tuple[Branch, ...] = tuple(
        (label, tuple(group)) if len(group) > 1 else group[0]
        for label, group in zip(labels, groups, strict=True)
    )
    return NestedTree(branches, ordered=True)


def _one_after_another(bands: Sequence[tuple[int, int]]) -> bool:
    """Whether sorted bands differ and overlap nowhere; codes such as 5-470 beside 5-820 do."""
    return all(low[1] <= high[0] and low != high for low, high in pairwise(bands))


def _band_ends(band: re.Match[str]) -> tuple[int, int] | None:
    """Returns where a band of numbers starts and ends: what lies below a number first, beyond it last."""
    low, high = int(band["low"]), int(band["high"] or band["low"])
    if high < low or (band["below"] and band["beyond"]):
        return None
    return low, -1 if band["below"] else HIGHEST if band["beyond"] else high


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("_", " ").replace("’", "'")
    return " ".join(plain.split())


# Ready taxonomies for columns of a draft: those of which every value is known.

LEAST_VALUES = 3
"""Fewer different values prove nothing."""
SHORT_CODE = 3
"""So short texts are codes of many things; a header has to say which."""


def ready_taxonomy(profile: ColumnProfile) -> tuple[TaxonomyRule, str] | None:
    """Returns the one ready taxonomy that knows every value, with the reason; `None` for none or several.

    Words such as names of countries speak for themselves. Short codes and numbers count only under a header
    that names the taxonomy.
    """
    if profile.distinct < LEAST_VALUES:
        return None
    fitting = [entry for entry in CATALOGUE.values() if _fits(entry, profile)]
    if len(fitting) > 1:
        fitting = [entry for entry in fitting if _is_named(entry, profile)]
    if len(fitting) != 1:
        return None
    entry = fitting[0]
    return rule_from({"ready": entry.name}), f"values of the ready taxonomy {entry.name}"


def _fits(entry: ReadyEntry, profile: ColumnProfile) -> bool:
    if not entry.file and not entry.shape:
        return False  # ages and dates are recognized by other means
    short = any(len(value) <= SHORT_CODE or value.isdigit() for value in profile.values)
    if not _is_named(entry, profile) and (entry.shape or short):
        return False
    if entry.kind is ReadyKind.RULE:
        return all(re.fullmatch(entry.shape, value) for value in profile.values)
    rule = ReadyTaxonomy(entry.name)
    return all(rule.knows(value) for value in profile.values)


def _is_named(entry: ReadyEntry, profile: ColumnProfile) -> bool:
    words = set(re.split(r"[^a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", profile.header).lower()))
    return bool(words & set(entry.headers))


# Taxonomies of drafts: how the values of a quasi-identifier can become coarser, each with its reason.

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
    trees = (attempt(profile) for attempt in (_dates, _ages, ready_taxonomy, _codes, _numbers, _ordered))
    more = "" if profile.distinct <= FEW_VALUES else "; a hierarchy file would keep more detail"
    return next(filter(None, trees), (Flat(), f"{profile.spoken()}{more}"))


def _dates(profile: ColumnProfile) -> DraftedTaxonomy | None:
    forms = profile.dates
    if not forms:
        return None
    form = forms[0]
    days = [day for value in profile.values if (day := form.day(value)) is not None]
    span = (max(days) - min(days)).days // 365
    reason = f"dates over {span} year{'s' if span > 1 else ''}" if span else "dates within a year"
    if len(forms) > 1:
        units: tuple[str, ...] = ("year", "decade") if span >= DECADE_YEARS else ("year",)
        return Dates(units, form.written), f"{reason}; days and months could change places, years cannot"
    units = ("month", "year", "decade") if span >= DECADE_YEARS else ("month", "quarter", "year")
    if form.finest == "month":
        units = units[1:]
    return Dates(units, form.written), reason


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
    return _intervals(profile, low, high), f"{what}{', some far from the rest' if far else ''}"


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
    rows = 0
    for size, count in sized:
        rows += count
        if rows > allowed:
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


NOBODY_SAYS = ", and nothing says that others know them"
UNDECIDED = "yes or no, and nothing says who knows it, which is the cautious choice"
SMALL_TABLE = 20
"""In so few rows many different values, or running numbers, prove nothing."""
REACHING = ("contact", "address_word", "contact_person", "account")
"""Kinds of headers below which a few values are telephones, addresses or accounts of a few people."""
SHORTEST_CONTACT = 10_000
"""Smaller numbers there are codes: how many telephones somebody has."""
LONG_NUMBER = 100_000
"""Numbers that are nearly all different, and so large, are numbers of something."""
BODY_WEIGHTS = ((25, 400), (2, 12), (1500, 5000))
"""The middle of body weights, in kilograms or pounds; of newborn children; of these in grams."""
MOST_PEOPLE = 20
"""Sizes of households do not go further."""
LONGEST_CAREER = 70
"""Nobody works for more years; expenses go further."""
YEARS = (1850, 2100)
_ICD = re.compile(r"[A-TV-Z][0-9][0-9AB](\.?[0-9A-Z]{1,4})?", re.ASCII)
_ICD_WITH_DETAIL = re.compile(r"[A-TV-Z][0-9][0-9AB]\.[0-9A-Z]{1,4}", re.ASCII)
_ATC = re.compile(r"[A-DGHJLMNPRSV][0-9]{2}([A-Z]([A-Z]([0-9]{2})?)?)?", re.ASCII)
_ATC_IN_FULL = re.compile(r"[A-DGHJLMNPRSV][0-9]{2}[A-Z]{2}[0-9]{2}", re.ASCII)


def guess(
    name: str,
    column: ColumnEvidence,
    rows: int,
    *,
    finding: ColumnFinding = NO_FINDING,
    written: SourceForm = NO_FORM,
) -> ColumnRule:
    """Returns the first guess that applies; the last one always does."""
    profile = ColumnProfile.of(name, column, rows, finding, written)
    rule = next(rule for attempt in GUESSES if (rule := attempt(profile)) is not None)
    if finding.remark and rule.role is not Role.IDENTIFIER:
        return replace(rule, reason=f"{rule.reason}; {finding.remark}")
    return rule


def unpublished(reason: str) -> ColumnRule:
    """Returns the rule of a column that is not published."""
    return ColumnRule(Role.IDENTIFIER, None, reason)


def quasi_rule(profile: ColumnProfile, reason: str) -> ColumnRule:
    """Returns the rule of a quasi-identifier, with the first taxonomy that fits its values."""
    taxonomy, shape = taxonomy_of(profile)
    return ColumnRule(Role.QUASI, taxonomy, f"{reason}; {shape}" if reason else shape)


def _insensitive(profile: ColumnProfile, reason: str) -> ColumnRule:
    caution = "; nearly every value is unique: whoever knows one finds its row" if profile.unique else ""
    return ColumnRule(Role.INSENSITIVE, None, f"{reason}{caution}")


def _empty(profile: ColumnProfile) -> ColumnRule | None:
    return None if profile.present > 0 else unpublished("holds nothing, so nothing is published")


def _known_identifier(profile: ColumnProfile) -> ColumnRule | None:
    return unpublished(profile.finding.identifies) if profile.finding.identifies else None


def _too_many(profile: ColumnProfile) -> ColumnRule | None:
    listed = profile.column.kind == "list"
    if profile.column.complete and not listed:
        return None
    why = "lists in its cells" if listed else f"more than {profile.distinct} different values"
    return unpublished(f"{why}: not published unless you say otherwise")


def _named_identifier(profile: ColumnProfile) -> ColumnRule | None:
    """A header that names people; yes and no beside it, or a few numbers, say something of them instead."""
    if profile.role_by_header is not Role.IDENTIFIER:
        return None
    few = profile.distinct <= FEW_VALUES and profile.present >= 4 * profile.distinct
    if few and not _tell_few_people_apart(profile):
        return quasi_rule(profile, f"{profile.says}, but few values")
    return unpublished(f"{profile.says}, {profile.spoken()}")


def _tell_few_people_apart(profile: ColumnProfile) -> bool:
    """Whether a few values below a header that names people are these people, in several rows each."""
    numbered = profile.called("person_number", "record_number")
    if numbered or profile.flags:
        return numbered
    if profile.called(*REACHING):
        return _reach_people(profile)
    several = profile.called("person") and profile.distinct > 2
    if profile.numbers is not None:
        return profile.called("id_word") or (several and profile.whole)
    if profile.called("person_name") or ((several or profile.called("id_word")) and are_codes(profile)):
        return True
    return name_evidence(profile.header, profile.values, profile.counts).plausible


def _reach_people(profile: ColumnProfile) -> bool:
    """Whether cells are telephones, addresses or accounts, and not how many there are, or whether."""
    if profile.numbers is not None:
        return max(profile.numbers) >= SHORTEST_CONTACT
    return not any(value.strip().lower() in FLAGS for value in profile.values)


def _names(profile: ColumnProfile) -> ColumnRule | None:
    if profile.column.kind != "text":
        return None
    evidence = name_evidence(profile.header, profile.values, profile.counts)
    two_words = evidence.possible and profile.unique
    named = evidence.certain or two_words or evidence.few_people
    return unpublished("its cells look like names of people") if named else None


def _hashes(profile: ColumnProfile) -> ColumnRule | None:
    digits = hash_digits(profile.values) if profile.column.kind == "text" else 0
    return unpublished(f"its cells are hash values of {digits} digits") if digits else None


def _free_text(profile: ColumnProfile) -> ColumnRule | None:
    size = sum(map(len, profile.values)) / max(1, len(profile.values))
    if profile.column.kind == "text" and size > LONG_TEXT and 2 * profile.distinct > profile.present:
        return unpublished("free text: anybody's name may stand in it")
    return None


def _long_numbers(profile: ColumnProfile) -> ColumnRule | None:
    """Long numbers of nearly everybody are no amounts and no measurements, whatever the header says."""
    if profile.role_by_header in (Role.SENSITIVE, Role.INSENSITIVE) and are_long_numbers(profile):
        return unpublished(f"{profile.says}, but long numbers, nearly all different ({profile.spoken()})")
    return None


def _sensitive(profile: ColumnProfile) -> ColumnRule | None:
    """A header of what is nobody's business, and clinical codes; the date of an event is no secret value."""
    if _holds_dates(profile):
        return None
    codes = _clinical_codes(profile)
    if profile.role_by_header is not Role.SENSITIVE and not codes:
        return _secret_by_cells(profile)
    reason = f"{codes}: health" if codes else profile.says
    if profile.unique and profile.numbers is None and not codes:
        return unpublished(f"{reason}, but nearly every value is unique")
    return ColumnRule(Role.SENSITIVE, None, f"{reason}{_caution(profile)}")


def _caution(profile: ColumnProfile) -> str:
    return "; nearly every value is unique, think of coarser ones" if profile.unique else ""


def _secret_by_cells(profile: ColumnProfile) -> ColumnRule | None:
    """What is nobody's business by its cells, under a header that is silent."""
    if profile.role_by_header not in (None, Role.INSENSITIVE):
        return None
    reason = "its cells are results of a test" if are_test_results(profile) else ""
    silent = profile.role_by_header is None or profile.reading.kinds == {"measure_word"}
    if silent and are_sums_of_money(profile):
        reason = f"its cells are sums of money{_caution(profile)}"
    if not reason and silent and not profile.unique and (words := secret_words(profile)):
        reason = f"by its cells, {words}"
    return ColumnRule(Role.SENSITIVE, None, reason) if reason else None


def _clinical_codes(profile: ColumnProfile) -> str:
    """Returns what codes the cells are shaped as, empty if none."""
    if profile.distinct < 2 or profile.called("place"):
        return ""
    for name, shape, telling in (("ICD", _ICD, _ICD_WITH_DETAIL), ("ATC", _ATC, _ATC_IN_FULL)):
        coded = sum(telling.fullmatch(value) is not None for value in profile.values)
        if 3 * coded >= profile.distinct and all(shape.fullmatch(value) for value in profile.values):
            return f"{name}-shaped codes"
    return ""


def _running_number(profile: ColumnProfile) -> ColumnRule | None:
    numbers = profile.numbers
    if not numbers or not profile.whole or profile.present <= SMALL_TABLE or profile.called("age", "looks"):
        return None
    span = max(numbers) - min(numbers) + 1
    if span == profile.distinct == profile.present:
        return unpublished("a running number")
    if end_as_numbers_of_people(profile):
        return unpublished(f"its header ends as those of numbers of people do, {profile.spoken()}")
    if profile.role_by_header is None and are_numbers_of_people(profile):
        return unpublished(f"numbers of the same length, a few rows each ({profile.spoken()})")
    silent = profile.role_by_header is None and not profile.dates
    if silent and profile.unique and max(numbers) >= LONG_NUMBER:
        return unpublished(f"large numbers, nearly all different ({profile.spoken()})")
    return None


def _numbered_relative(profile: ColumnProfile) -> ColumnRule | None:
    reason = f"{profile.says}, and numbers that say who it is ({profile.spoken()})"
    return unpublished(reason) if number_relatives(profile) else None


def _dated(profile: ColumnProfile) -> ColumnRule | None:
    """Dates, of whatever: others can know when something happened to somebody."""
    if not _holds_dates(profile):
        return None
    return quasi_rule(profile, profile.says if profile.role_by_header is Role.SENSITIVE else "")


def _holds_dates(profile: ColumnProfile) -> bool:
    return bool(profile.dates) and profile.numbers is None


def _unknowable(profile: ColumnProfile) -> ColumnRule | None:
    """A header of measurements and outcomes; a weight that is nobody's weight."""
    if profile.role_by_header is Role.QUASI and _is_sampling_weight(profile):
        return _insensitive(profile, "weights that nobody's body has: of a sample")
    figures = profile.role_by_header is Role.QUASI and profile.called("measure_word")
    if figures and profile.numbers is not None and not profile.whole:
        return _insensitive(profile, f"figures with decimals, though {profile.says}")
    if profile.role_by_header is not Role.INSENSITIVE:
        return None
    if _counts_people(profile):
        return quasi_rule(profile, "a size of few people, as of a household")
    if profile.unique and profile.numbers is None:
        return unpublished(f"nearly every value is unique ({profile.spoken()})")
    return _insensitive(profile, profile.says)


def _counts_people(profile: ColumnProfile) -> bool:
    """Whether small whole numbers stand below a size (`hsize`), or a number of people (`num_persons`)."""
    kinds, numbers = profile.reading.kinds, profile.numbers
    size = kinds == {"measure_word"} and profile.header.lower().strip().endswith("size")
    if not numbers or not profile.whole or not (size or kinds == {"measure_word", "person"}):
        return False
    return min(numbers) >= (1 if size else 0) and 3 <= max(numbers) <= MOST_PEOPLE


def _counts_years_of_work(profile: ColumnProfile) -> bool:
    """Whether numbers below `exp` are years of experience: expenses go further."""
    numbers = profile.numbers
    if not numbers or not profile.called("experience") or profile.role_by_header is not None:
        return False
    return profile.distinct > 2 and min(numbers) >= 0 and MOST_PEOPLE < max(numbers) <= LONGEST_CAREER


def _is_sampling_weight(profile: ColumnProfile) -> bool:
    if profile.reading.kinds != {"looks"} or not profile.numbers:
        return False
    if not re.search(r"weight|wgh?t|wt|gewicht|poids|peso", profile.header.lower()):
        return False
    middle = median(profile.numbers)
    return not any(low <= middle <= high for low, high in BODY_WEIGHTS) or max(profile.numbers) > 10 * middle


def _knowable(profile: ColumnProfile) -> ColumnRule | None:
    """A header of what outsiders can know."""
    if profile.role_by_header is not Role.QUASI:
        return None
    if profile.unique and profile.numbers is None and not profile.dates and not code_length(profile):
        return unpublished(f"{profile.says}, but nearly every value is unique")
    return quasi_rule(profile, profile.says)


def _column_guess_codes(profile: ColumnProfile) -> ColumnRule | None:
    length = code_length(profile)
    if not length:
        return None
    if profile.unique:
        return unpublished(f"codes of {length} characters, nearly all unique")
    return quasi_rule(profile, "")


def _plain_numbers(profile: ColumnProfile) -> ColumnRule | None:
    """Numbers and flags under a header that says nothing: measurements, for a person to look at.

    Of 212 flags under such headers, in tables of people that nothing was tuned on, others knew 94, and 86
    were secrets: these are quasi-identifiers as long as that costs little (`without_undecided`).
    """
    numbers = profile.numbers
    if not numbers and not profile.flags:
        return None
    years = profile.whole and all(YEARS[0] <= size <= YEARS[1] for size in numbers or ())
    if years and profile.distinct > 2:
        return quasi_rule(profile, "years, as it seems")
    if _counts_years_of_work(profile):
        return quasi_rule(profile, "by its header, work or expenses, and no more than years of work")
    if profile.flags or set(numbers or ()) == {0, 1} or set(numbers or ()) == {1, 2}:
        return ColumnRule(Role.QUASI, Flat(), UNDECIDED)
    return _insensitive(profile, f"numbers, {profile.distinct} different ones{NOBODY_SAYS}")


def is_undecided(rule: ColumnRule) -> bool:
    """Whether a column is a quasi-identifier only because nothing is known of it."""
    return rule.role is Role.QUASI and rule.reason.startswith(UNDECIDED)


def without_undecided(columns: Mapping[str, ColumnRule]) -> dict[str, ColumnRule]:
    """Returns the rules of the columns of which nothing is known, published unchanged."""
    open_ones = (name for name, rule in columns.items() if is_undecided(rule))
    return {name: ColumnRule(Role.INSENSITIVE, None, f"yes or no{NOBODY_SAYS}") for name in open_ones}


def _unique_text(profile: ColumnProfile) -> ColumnRule | None:
    return unpublished(f"nearly every value is unique ({profile.spoken()})") if profile.unique else None


def _words(profile: ColumnProfile) -> ColumnRule | None:
    """Words under a header that says nothing: others may know them, which is the cautious choice."""
    return quasi_rule(profile, "")


GUESSES: tuple[Callable[[ColumnProfile], ColumnRule | None], ...] = (
    _empty,
    _known_identifier,
    _too_many,
    _named_identifier,
    _names,
    _hashes,
    _free_text,
    _long_numbers,
    _sensitive,
    _running_number,
    _numbered_relative,
    _dated,
    _unknowable,
    _knowable,
    _column_guess_codes,
    _plain_numbers,
    _unique_text,
    _words,
)
