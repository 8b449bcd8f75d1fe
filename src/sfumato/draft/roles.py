"""Guesses of what a column is, each with its reason: by its header, its cells, and what was found out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import median

from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.microdata import Role
from sfumato.policy.cell_meaning import (
    are_codes,
    are_long_numbers,
    are_numbers_of_people,
    are_sums_of_money,
    are_test_results,
    end_as_numbers_of_people,
    number_relatives,
    secret_in_cells,
)
from sfumato.policy.column_evidence import LONG_TEXT, NO_FINDING, ColumnEvidence, ColumnFinding
from sfumato.policy.column_profile import FEW_VALUES, FLAGS, ColumnProfile
from sfumato.policy.column_taxonomy import code_length, taxonomy_of
from sfumato.policy.hash_values import hash_digits
from sfumato.policy.person_names import name_evidence
from sfumato.policy.policy import ColumnRule
from sfumato.policy.taxonomies import Flat

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
OLDER_PUPILS = (6, 13)
"""Classes of a school that are no marks: these begin with lower numbers."""
LEAST_GRADES = 3
LONGEST_CAREER = 70
"""Nobody works for more years; expenses go further."""
YEARS = (1850, 2100)
_GRADE = re.compile(r"grade[ds]?\Z")
_WHOLE = re.compile(r"[0-9]{1,2}", re.ASCII)
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


def _identifier(reason: str) -> ColumnRule:
    return ColumnRule(Role.IDENTIFIER, None, reason)


def _quasi(profile: ColumnProfile, reason: str) -> ColumnRule:
    taxonomy, shape = taxonomy_of(profile)
    return ColumnRule(Role.QUASI, taxonomy, f"{reason}; {shape}" if reason else shape)


def _insensitive(profile: ColumnProfile, reason: str) -> ColumnRule:
    caution = "; nearly every value is unique: whoever knows one finds its row" if profile.unique else ""
    return ColumnRule(Role.INSENSITIVE, None, f"{reason}{caution}")


def _empty(profile: ColumnProfile) -> ColumnRule | None:
    return None if profile.present > 0 else _identifier("holds nothing, so nothing is published")


def _known_identifier(profile: ColumnProfile) -> ColumnRule | None:
    return _identifier(profile.finding.identifies) if profile.finding.identifies else None


def _too_many(profile: ColumnProfile) -> ColumnRule | None:
    if profile.column.complete and profile.column.kind != "list":
        return None
    listed = profile.column.kind == "list"
    why = "lists in its cells" if listed else f"more than {profile.distinct} different values"
    return _identifier(f"{why}: not published unless you say otherwise")


def _named_identifier(profile: ColumnProfile) -> ColumnRule | None:
    """A header that names people; yes and no beside it, or a few numbers, say something of them instead."""
    if profile.role_by_header is not Role.IDENTIFIER:
        return None
    few = profile.distinct <= FEW_VALUES and profile.present >= 4 * profile.distinct
    if few and not _tell_few_people_apart(profile):
        return _quasi(profile, f"{profile.says}, but few values")
    return _identifier(f"{profile.says}, {profile.spoken()}")


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
    seen = name_evidence(profile.header, profile.values, profile.counts)
    two_words = seen.possible and profile.unique
    named = seen.certain or two_words or seen.few_people
    return _identifier("its cells look like names of people") if named else None


def _hashes(profile: ColumnProfile) -> ColumnRule | None:
    digits = hash_digits(profile.values) if profile.column.kind == "text" else 0
    return _identifier(f"its cells are hash values of {digits} digits") if digits else None


def _free_text(profile: ColumnProfile) -> ColumnRule | None:
    size = sum(map(len, profile.values)) / max(1, len(profile.values))
    if profile.column.kind == "text" and size > LONG_TEXT and 2 * profile.distinct > profile.present:
        return _identifier("free text: anybody's name may stand in it")
    return None


def _long_numbers(profile: ColumnProfile) -> ColumnRule | None:
    """Long numbers of nearly everybody are no amounts and no measurements, whatever the header says."""
    if profile.role_by_header in (Role.SENSITIVE, Role.INSENSITIVE) and are_long_numbers(profile):
        return _identifier(f"{profile.says}, but long numbers, nearly all different ({profile.spoken()})")
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
        return _identifier(f"{reason}, but nearly every value is unique")
    caution = "; nearly every value is unique, think of coarser ones" if profile.unique else ""
    return ColumnRule(Role.SENSITIVE, None, f"{reason}{caution}")


def _secret_by_cells(profile: ColumnProfile) -> ColumnRule | None:
    """What is nobody's business by its cells, under a header that is silent."""
    if profile.role_by_header not in (None, Role.INSENSITIVE):
        return None
    reason = "its cells are results of a test" if are_test_results(profile) else ""
    silent = profile.role_by_header is None or profile.reading.kinds == {"measure_word"}
    if silent and are_sums_of_money(profile):
        caution = "; nearly every value is unique, think of coarser ones" if profile.unique else ""
        reason = f"its cells are sums of money{caution}"
    if not reason and silent and not profile.unique:
        reason = secret_in_cells(profile)
    return ColumnRule(Role.SENSITIVE, None, reason) if reason else None


def _clinical_codes(profile: ColumnProfile) -> str:
    """Returns what codes the cells are shaped as, empty if none."""
    if profile.distinct < 2 or profile.called("place"):
        return ""
    for name, shape, telling in (("ICD", _ICD, _ICD_WITH_DETAIL), ("ATC", _ATC, _ATC_IN_FULL)):
        told = sum(telling.fullmatch(value) is not None for value in profile.values)
        if 3 * told >= profile.distinct and all(shape.fullmatch(value) for value in profile.values):
            return f"{name}-shaped codes"
    return ""


def _running_number(profile: ColumnProfile) -> ColumnRule | None:
    numbers = profile.numbers
    if not numbers or not profile.whole or profile.present <= SMALL_TABLE or profile.called("age", "looks"):
        return None
    span = max(numbers) - min(numbers) + 1
    if span == profile.distinct == profile.present:
        return _identifier("a running number")
    if end_as_numbers_of_people(profile):
        return _identifier(f"its header ends as those of numbers of people do, {profile.spoken()}")
    if profile.role_by_header is None and are_numbers_of_people(profile):
        return _identifier(f"numbers of the same length, a few rows each ({profile.spoken()})")
    if (
        profile.unique
        and max(numbers) >= LONG_NUMBER
        and profile.role_by_header is None
        and not profile.dates
    ):
        return _identifier(f"large numbers, nearly all different ({profile.spoken()})")
    return None


def _numbered_relative(profile: ColumnProfile) -> ColumnRule | None:
    if not number_relatives(profile):
        return None
    return _identifier(f"{profile.says}, and numbers that say who it is ({profile.spoken()})")


def _dated(profile: ColumnProfile) -> ColumnRule | None:
    """Dates, of whatever: others can know when something happened to somebody."""
    if not _holds_dates(profile):
        return None
    return _quasi(profile, profile.says if profile.role_by_header is Role.SENSITIVE else "")


def _holds_dates(profile: ColumnProfile) -> bool:
    return bool(profile.dates) and profile.numbers is None


def _school_grade(profile: ColumnProfile) -> ColumnRule | None:
    if not _are_school_grades(profile):
        return None
    return _quasi(profile, "grades of a school that follow each other, as classes do")


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
        return _quasi(profile, "a size of few people, as of a household")
    if profile.unique and profile.numbers is None:
        return _identifier(f"nearly every value is unique ({profile.spoken()})")
    return _insensitive(profile, profile.says)


def _counts_people(profile: ColumnProfile) -> bool:
    """Whether small whole numbers stand below a size (`hsize`), or a number of people (`num_persons`)."""
    kinds, numbers = profile.reading.kinds, profile.numbers
    size = kinds == {"measure_word"} and profile.header.lower().strip().endswith("size")
    if not numbers or not profile.whole or not (size or kinds == {"measure_word", "person"}):
        return False
    return min(numbers) >= (1 if size else 0) and 3 <= max(numbers) <= MOST_PEOPLE


def _are_school_grades(profile: ColumnProfile) -> bool:
    """Whether a grade is a class of a school (9, 10, 11, 12, other), and no mark."""
    if profile.reading.kinds != {"outcome"} or not _GRADE.search(profile.header.lower()):
        return False
    grades = sorted(int(value) for value in profile.values if _WHOLE.fullmatch(value))
    few_words = profile.distinct - len(grades) <= 1
    in_turn = len(grades) >= LEAST_GRADES and grades == list(range(grades[0], grades[-1] + 1))
    return few_words and in_turn and grades[0] >= OLDER_PUPILS[0] and grades[-1] <= OLDER_PUPILS[1]


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
        return _identifier(f"{profile.says}, but nearly every value is unique")
    return _quasi(profile, profile.says)


def _codes(profile: ColumnProfile) -> ColumnRule | None:
    length = code_length(profile)
    if not length:
        return None
    if profile.unique:
        return _identifier(f"codes of {length} characters, nearly all unique")
    return _quasi(profile, "")


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
        return _quasi(profile, "years, as it seems")
    if _counts_years_of_work(profile):
        return _quasi(profile, "by its header, work or expenses, and no more than years of work")
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
    return _identifier(f"nearly every value is unique ({profile.spoken()})") if profile.unique else None


def _words(profile: ColumnProfile) -> ColumnRule | None:
    """Words under a header that says nothing: others may know them, which is the cautious choice."""
    return _quasi(profile, "")


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
    _school_grade,
    _unknowable,
    _knowable,
    _codes,
    _plain_numbers,
    _unique_text,
    _words,
)
