"""Presets: thresholds that others have published, with their source and date.

A preset is a starting point with a source, not a statement that a release is lawful or compliant.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files

from sfumato.policy.columns import AGES, IDENTIFIERS, PLACES, word_set, words
from sfumato.policy.content import ColumnRule, PolicyContent
from sfumato.policy.header_lexicon import lexicon
from sfumato.policy.taxonomies.dates import Dates
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.ready.catalogue import ReadyTaxonomy
from sfumato.policy.taxonomies.texts import LISTING, lists_values
from sfumato.system.errors import BadTaxonomy, Problem, UsageError, did_you_mean
from sfumato.table.microdata import Role


@dataclass(frozen=True)
class Preset:
    """A named threshold. `dated` is the date of the source, `meaning` what it says in plain words.

    `provenance` says how the number is known.
    """

    name: str
    k: int
    meaning: str
    source: str
    dated: str
    provenance: str
    checks_columns: bool = False

    @property
    def promises(self) -> list[dict[str, dict[str, object]]]:
        """The promises, as a policy writes them."""
        return [{"k-anonymity": {"k": self.k}}]


_TABLE = tomllib.loads(files("sfumato.policy").joinpath("presets.toml").read_text("utf-8"))
PRESETS: Mapping[str, Preset] = {name: Preset(name, **entry) for name, entry in _TABLE.items()}


def preset(name: str) -> Preset:
    """Returns the preset with this name; raises where there is none.

    >>> preset("ema").k
    12
    """
    if name not in PRESETS:
        hint = did_you_mean(name, list(PRESETS), otherwise=f"There is {', '.join(PRESETS)}.")
        raise UsageError("there is no preset of this name.", remedy=hint)
    return PRESETS[name]


# The rules of HIPAA's Safe Harbor that can be held against headers, roles and taxonomies.
#
# Source: 45 CFR 164.514(b)(2), whose list has eighteen kinds of identifiers. A policy that bears the name
# of
# the preset is refused where a column is published that its header says is of one of them; what cells say
# is
# asked where there are data (`safe_harbor_cells`). What a recipient knows is for a person to judge.

SAFE_HARBOR = "hipaa-safe-harbor"
HIGHEST_AGE = 89
YEARS = (1000, 3000)
"""Whole numbers in between are years."""
COARSE_UNITS = ("year", "decade")
STATES = ("us-states", "countries")
"""Ready taxonomies of places that are no smaller than a state."""


NAMING = word_set("""
    person_name person_number record_number contact account biometric contact_person id_word perhaps_id staff
""")
"""Kinds of headers, as the lexicon calls them, of what names a person or is a number of one."""
NUMBERS = word_set("""
    beneficiary npi dea mbi hicn serial certificate mac imei udi uri url biometric retina voiceprint beeper
    employer company firm workplace arbeitgeber firma employeur empresa azienda school schule école escuela
    scuola university
""")
"""Words of identifying numbers, and of firms and schools, whose names are those of employers or places."""
NUMBER_ENDS = word_set("number no nr num id ids")
BELOW_STATE = word_set("street address city town county district precinct parish ward hospital")
POSTAL = PLACES | word_set("zip3 zip4 zip5 zip9 pincode cp cap postcodes zipcodes")
DATES = word_set("date born birthday admitted admission discharge discharged death month week day")
BIRTH_FIGURES = word_set("weight order parity plurality plural birthweight bwt")
"""What is told of a birth and is no date or place of it."""
CODES = word_set("code codes kode codice código")
_YEAR = re.compile(r"(1[0-9]|2[0-9])[0-9]{2}(-(1[0-9]|2[0-9])[0-9]{2})?")
_ZIP3 = re.compile(r"[0-9]{3}\**")
_NUMBER = re.compile(r"[0-9]+")
_OPEN = re.compile(r"\D*90\D*|\D*89\D*")


class Rule(StrEnum):
    """What Safe Harbor asks of a column."""

    IDENTIFIER = "it names a person, or is a number of one"
    BIRTH = "a birth tells an age above 89, by its year too"
    AGE = "ages above 89 are one group"
    POSTAL = "of a postal code three digits at most, and 000 where these are of 20,000 people or fewer"
    PLACE = "no place is smaller than a state"
    DATE = "of dates the year at most"


REMEDIES: Mapping[Rule, str] = {
    Rule.IDENTIFIER: "Give it the role identifier.",
    Rule.BIRTH: "Give it the role identifier, and publish the age with `top: 90`.",
    Rule.AGE: "Give it the role identifier, or `taxonomy: {intervals: [5, 10], from: 0, top: 90}`.",
    Rule.POSTAL: "Give it the role identifier, or shorten the data and list the areas of more than 20,000"
    ' people: `taxonomy: {flat: ["000", "021"]}`.',
    Rule.PLACE: "Give it the role identifier, or publish states: `taxonomy: {ready: us-states}`.",
    Rule.DATE: "Give it the role identifier, or quasi with `taxonomy: {date: [year]}` and `start: 1`.",
}


def rule_of(header: str) -> Rule | None:
    """Returns what Safe Harbor asks of a column with this header; `None` where the header asks for nothing.

    >>> rule_of("dob").name, rule_of("county").name, rule_of("zip_code").name, rule_of("admit_month").name
    ('BIRTH', 'PLACE', 'POSTAL', 'DATE')
    >>> rule_of("race") is None
    True
    """
    read, tokens = lexicon().read(header), words(header)
    is_category = "category_word" in read.kinds and not tokens & CODES
    is_time = read.role is not Role.INSENSITIVE and "time_word" in read.kinds
    is_date = "date" in read.kinds or is_time or (read.role is None and bool(tokens & DATES))
    tests = (
        (Rule.POSTAL, bool(tokens & POSTAL) or header.lower().startswith(("zip", "postal"))),
        (Rule.IDENTIFIER, not is_category and _names_somebody(header)),
        (Rule.BIRTH, "birth" in read.kinds and not tokens & BIRTH_FIGURES),
        (Rule.AGE, "age" in read.kinds or bool(tokens & AGES)),
        (Rule.PLACE, not is_category and ("place" in read.kinds or bool(tokens & BELOW_STATE))),
        (Rule.DATE, not is_category and is_date),
    )
    return next((rule for rule, holds in tests if holds), None)


def _names_somebody(header: str) -> bool:
    read, tokens = lexicon().read(header), words(header)
    last = re.split(r"[^a-z0-9]+", header.lower().rstrip("#. "))[-1]
    named = read.role is Role.IDENTIFIER or bool(read.kinds & NAMING) or bool(tokens & NUMBERS)
    named |= "person" in read.kinds and bool(tokens & CODES)
    return named or last in NUMBER_ENDS or (read.role is None and bool(tokens & IDENTIFIERS))


def keeps(rule: Rule, column: ColumnRule) -> bool:
    """Whether what a policy publishes of a column is what Safe Harbor allows."""
    if column.role is Role.IDENTIFIER:
        return True
    return column.role.is_key and rule in _ALLOWED and _ALLOWED[rule](column)


def broken_rules(policy: PolicyContent) -> Iterator[Problem]:
    """Yields every rule of Safe Harbor that a policy breaks, by what headers say."""
    for name, column in policy.columns.items():
        rule = rule_of(name)
        if rule is not None and not keeps(rule, column):
            yield problem(name, rule)


def problem(name: str, rule: Rule, why: str = "") -> Problem:
    """Returns the breach of a rule by a column, with what to do; `why` says what of its cells breaks it."""
    return Problem(("columns", name), f"Safe Harbor: {rule}{why and f' ({why})'}.", REMEDIES[rule])


def objections(policy: PolicyContent) -> Iterator[Problem]:
    """Yields the broken rules of a policy that bears the name of the preset."""
    if policy.preset == SAFE_HARBOR:
        yield from broken_rules(policy)


def _leaves(column: ColumnRule) -> list[str]:
    """Returns the finest values that a taxonomy with a list of values publishes; none for another one."""
    if not isinstance(column.taxonomy, LISTING) or not lists_values(column.taxonomy):
        return []
    try:
        tree = column.tree_of([]).from_level(column.finest)
    except BadTaxonomy:
        return []
    return [label for label in tree.leaf_labels if label is not None]


def _all_are(column: ColumnRule, check: Callable[[str], bool]) -> bool:
    leaves = _leaves(column)
    return bool(leaves) and all(map(check, leaves))


def _age(column: ColumnRule) -> bool:
    taxonomy = column.taxonomy
    if not isinstance(taxonomy, Intervals):
        return _all_are(column, _is_age_group)
    if taxonomy.top is not None:
        return taxonomy.top <= HIGHEST_AGE + 1
    return taxonomy.stop is not None and taxonomy.stop <= HIGHEST_AGE + 1


def _is_age_group(label: str) -> bool:
    return bool(_OPEN.fullmatch(label)) or all(int(n) <= HIGHEST_AGE for n in _NUMBER.findall(label))


def _place(column: ColumnRule) -> bool:
    if isinstance(column.taxonomy, ReadyTaxonomy):
        return column.taxonomy.name in STATES
    lists = [ReadyTaxonomy(name) for name in STATES]
    return _all_are(column, lambda label: any(places.knows(label) for places in lists))


def _date(column: ColumnRule) -> bool:
    taxonomy = column.taxonomy
    if isinstance(taxonomy, Dates):
        return 0 < column.finest <= len(taxonomy.units) and taxonomy.units[column.finest - 1] in COARSE_UNITS
    if isinstance(taxonomy, Intervals):
        low = taxonomy.start if taxonomy.bottom is None else taxonomy.bottom
        high = taxonomy.stop if taxonomy.top is None else taxonomy.top
        if taxonomy.decimal or low is None or high is None:
            return False
        return YEARS[0] <= low and high <= YEARS[1]
    return _all_are(column, lambda label: _YEAR.fullmatch(label) is not None)


_ALLOWED: Mapping[Rule, Callable[[ColumnRule], bool]] = {
    Rule.AGE: _age,
    Rule.POSTAL: lambda column: _all_are(column, lambda label: _ZIP3.fullmatch(label) is not None),
    Rule.PLACE: _place,
    Rule.DATE: _date,
}
