"""The rules of HIPAA's Safe Harbor, held against cells: for drafts, and before data are published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from sfumato.draft.evidence import (
    NATIONAL,
    NO_FINDING,
    ColumnEvidence,
    ColumnFinding,
    ColumnProfile,
    TableEvidence,
    texts,
)
from sfumato.draft.roles import guess, unpublished
from sfumato.draft.roles_from_content import name_evidence
from sfumato.policy.columns import PEOPLE, words
from sfumato.policy.content import ColumnRule
from sfumato.policy.header_lexicon import lexicon
from sfumato.policy.policy import Policy
from sfumato.policy.presets import COARSE_UNITS, HIGHEST_AGE, STATES, YEARS, Rule, keeps, problem, rule_of
from sfumato.policy.taxonomies.dates import Dates, forms_of
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.ready.catalogue import ReadyTaxonomy
from sfumato.policy.taxonomies.texts import Flat
from sfumato.system.errors import Problem
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.microdata import Role

Findings = Mapping[str, ColumnFinding]

TOLD = frozenset(
    {
        *("sex", "origin", "looks", "household", "education", "job", "health", "crime", "money", "belief"),
        *("sexuality", "genetics", "legal_status", "measurement", "outcome", "design"),
    }
)
"""Kinds of headers, as the lexicon calls them, below which words are none of the eighteen kinds."""
LONG_NUMBER = 10_000
"""Whole numbers from here on, of which no header says what they are, may be numbers of people or places."""
OLDEST = 90
"""Dates of people that are so many years apart tell an age."""
_MANY_DIGITS = re.compile(r"(?:\d[ ./-]?){5}")


def rules_kept(
    columns: Mapping[str, ColumnRule],
    survey: TableEvidence,
    findings: Findings,
    source: SourceForm = NO_FORM,
) -> dict[str, ColumnRule]:
    """Returns the rules of a draft's columns as Safe Harbor has them: coarser where that is enough, or gone.

    Of words, codes and long numbers of which no header says what they are nothing is published.
    """
    published = {name: rule for name, rule in columns.items() if rule.role is not Role.IDENTIFIER}
    return {name: _kept(rule, _profile(name, survey, findings, source)) for name, rule in published.items()}


def cell_problems(policy: Policy, survey: TableEvidence, findings: Findings) -> Iterator[Problem]:
    """Yields every rule of Safe Harbor that cells of published columns break, whatever headers say."""
    for name in policy.published:
        column = survey.columns.get(name)
        if column is None or column.kind == "list":
            continue
        rule, why = _told_by_cells(_profile(name, survey, findings, policy.source))
        if rule is not None and not keeps(rule, policy.columns[name]):
            yield problem(name, rule, why)


def _profile(name: str, survey: TableEvidence, findings: Findings, source: SourceForm) -> ColumnProfile:
    column = survey.columns[name]
    written = source if column.is_text else NO_FORM
    return ColumnProfile.of(name, column, survey.rows, findings.get(name, NO_FINDING), written)


def _told_by_cells(profile: ColumnProfile) -> tuple[Rule | None, str]:
    """Returns what Safe Harbor asks of a column for what it holds, and why."""
    if profile.dates and profile.numbers is None:
        return Rule.DATE, "its cells are dates"
    few_or_text = profile.column.complete or profile.column.kind == "text"
    figures = profile.numbers is not None and not profile.finding.identifies
    if profile.present == 0 or figures or not few_or_text:
        return None, ""
    guessed = guess(
        profile.header, profile.column, profile.rows, finding=profile.finding, written=profile.written
    )
    reasons = (
        (guessed.role is Role.IDENTIFIER, guessed.reason),
        (_may_be_names(profile), "its cells look like names of people"),
        (_are_numbers_with_letters(profile), "its cells hold long numbers"),
    )
    why = next((reason for holds, reason in reasons if holds), "")
    return (Rule.IDENTIFIER, why) if why else (None, "")


def _may_be_names(profile: ColumnProfile) -> bool:
    """Whether words are names of people, also few ones, below a header that says nothing else of them."""
    if profile.column.kind != "text" or profile.numbers is not None or profile.flags:
        return False
    if profile.called(*TOLD - {"household"}) or _states_or_countries(profile) is not None:
        return False
    evidence = name_evidence(profile.header, profile.values, profile.counts)
    return evidence.plausible or evidence.few_people


def _are_numbers_with_letters(profile: ColumnProfile) -> bool:
    """Whether most cells have five digits in a row, as numbers of members, plates and telephones have."""
    if profile.column.kind != "text" or profile.numbers is not None or profile.dates:
        return False
    cells = zip(profile.values, profile.counts, strict=True)
    return 2 * sum(n for value, n in cells if _MANY_DIGITS.search(value)) > profile.present


def _states_or_countries(profile: ColumnProfile) -> ReadyTaxonomy | None:
    """Returns the list of states or countries that knows every value of a column."""
    if not profile.values or profile.column.kind != "text":
        return None
    lists = (ReadyTaxonomy(name) for name in STATES)
    return next((places for places in lists if all(map(places.knows, profile.values))), None)


def _kept(rule: ColumnRule, profile: ColumnProfile) -> ColumnRule:
    by_cells, why = _told_by_cells(profile)
    kind = rule_of(profile.header)
    if by_cells is Rule.IDENTIFIER or (kind is None and by_cells is not None):
        kind = by_cells
    if kind is None:
        return unpublished(NOBODY_SAYS) if _nobody_says(rule, profile) else rule
    mended = _mended(kind, rule, profile)
    if mended is not None and keeps(kind, mended):
        return mended
    return unpublished(f"Safe Harbor: {kind}{f' ({why})' if why else ''}")


NOBODY_SAYS = "Safe Harbor: no header says what its cells are, and they may be of one of the eighteen kinds"


def _nobody_says(rule: ColumnRule, profile: ColumnProfile) -> bool:
    if profile.called(*TOLD) or profile.flags:
        return profile.called("relative") and not profile.flags and profile.numbers is None
    if profile.numbers is not None:
        return profile.reading.role is None and profile.whole and max(profile.numbers) >= LONG_NUMBER
    return rule.role is not Role.SENSITIVE


def _mended(kind: Rule, rule: ColumnRule, profile: ColumnProfile) -> ColumnRule | None:
    """Returns a rule that may be what Safe Harbor allows of a column; `None` where there is none."""
    taxonomy = rule.taxonomy
    if kind is Rule.AGE and isinstance(taxonomy, Intervals):
        cap = Decimal(HIGHEST_AGE + 1)
        if taxonomy.top is None and (taxonomy.stop is None or taxonomy.stop > cap):
            taxonomy = replace(taxonomy, top=cap)
        return replace(rule, taxonomy=taxonomy, reason=f"{rule.reason}; from {cap} on one group")
    if kind is Rule.PLACE and (places := _states_or_countries(profile)) is not None:
        return ColumnRule(Role.QUASI, places, f"values of the ready taxonomy {places.name}")
    return _by_year(rule, profile) if kind is Rule.DATE else None


def _by_year(rule: ColumnRule, profile: ColumnProfile) -> ColumnRule | None:
    """Returns dates by year; none where they lie so far apart that they tell an age."""
    years = _years(profile)
    if not years or max(years) - min(years) >= OLDEST or not profile.reading.kinds:
        return None
    if profile.numbers is not None:
        listed = Flat(tuple(profile.values), ordered=True)
        by_year = ColumnRule(Role.QUASI, listed, "years")
        return by_year if keeps(Rule.DATE, by_year) else rule
    units = ("year", "decade") if max(years) - min(years) >= 10 else ("year",)
    form = profile.dates[0].written
    assert units[0] == COARSE_UNITS[0]  # noqa: S101  # level 1 is the finest that is allowed
    return ColumnRule(Role.QUASI, Dates(units, form), "dates; of these the year", start=1)


def _years(profile: ColumnProfile) -> list[int]:
    if profile.numbers is not None:
        sizes = [int(size) for size in profile.numbers] if profile.whole else []
        return sizes if all(YEARS[0] <= size <= YEARS[1] for size in sizes) else []
    if not profile.dates:
        return []
    return [day.year for value in profile.values if (day := profile.dates[0].day(value)) is not None]


# Which identifiers may tell people apart: numbers and codes of people, never names, dates or categories.

NUMBERS = frozenset({"person_number", "id_word", "perhaps_id", "person", "record_number"})
"""Kinds of headers, as the lexicon calls them, of numbers of people and of rows."""
NO_KEYS = frozenset(
    {
        *("person_name", "name_word", "contact", "address_word", "contact_person", "biometric", "staff"),
        *("place", "date", "birth", "age", "sex", "time_word"),
    }
)
"""Kinds below which equal values are not the same person."""


def may_be_number_of_people(name: str, column: ColumnEvidence) -> bool:
    """Whether equal values of an identifier may mean the same person.

    Two people share a name, a telephone or a date; words are categories unless the header says otherwise.
    A number of the state is nothing to work with, so it is never proposed.
    """
    kinds, values = lexicon().read(name).kinds, texts(column)
    if kinds & NO_KEYS or words(name) & NATIONAL or (values and forms_of(values)):
        return False
    if not values:
        return True
    evidence = name_evidence(name, values, [1] * len(values))
    if evidence.plausible or 2 * evidence.alike * evidence.several_words > 1:
        return False
    digits = 2 * sum(any(char.isdigit() for char in value) for value in values) > len(values)
    return digits or bool(kinds & NUMBERS or words(name) & PEOPLE)
