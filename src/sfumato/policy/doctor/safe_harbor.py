"""What can be seen of HIPAA's Safe Harbor list from names, roles and taxonomies.

Source: 45 CFR 164.514(b)(2). The list has eighteen kinds of identifiers; free text, pictures and what a
recipient knows cannot be judged from a policy. An empty result says that nothing was seen, no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sfumato.core.microdata import Role
from sfumato.core.problem import short
from sfumato.policy.column_names import AGES, IDENTIFIERS, PLACES, words
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.taxonomies import Dates, Intervals

HIGHEST_AGE = 89
PLACES_BELOW_STATE = frozenset({"street", "address", "city", "town", "county", "district", "precinct"})
DATES = frozenset({"date", "born", "birth", "birthday", "dob", "admitted", "admission", "discharge", "death"})


def safe_harbor(policy: Policy) -> list[Diagnosis]:
    """Returns what the checklist finds, column by column."""
    published: Mapping[str, ColumnRule] = {name: policy.columns[name] for name in policy.published}
    return [warning for name, rule in published.items() for check in CHECKS for warning in check(name, rule)]


def _identifier(name: str, rule: ColumnRule) -> Iterator[Diagnosis]:
    if words(name) & IDENTIFIERS:
        yield _warning(
            name, f"its name suggests an identifier, but it is {rule.role}", "Make it an identifier."
        )


def _place(name: str, rule: ColumnRule) -> Iterator[Diagnosis]:
    del rule
    if words(name) & PLACES:
        yield _warning(
            name,
            "more than the first three digits of a postal code may be published",
            "Shorten the data to three digits; areas of 20,000 people or fewer become 000.",
        )
    elif words(name) & PLACES_BELOW_STATE:
        yield _warning(
            name, "it may name a place smaller than a state", "Leave it out, or publish the state."
        )


def _date(name: str, rule: ColumnRule) -> Iterator[Diagnosis]:
    dates = isinstance(rule.taxonomy, Dates)
    if dates or words(name) & DATES:
        yield _warning(
            name, "dates may be published more exactly than by year", "Shorten the data to the year."
        )


def _age(name: str, rule: ColumnRule) -> Iterator[Diagnosis]:
    if not words(name) & AGES:
        return
    top = rule.taxonomy.top if isinstance(rule.taxonomy, Intervals) else None
    if rule.role is Role.INSENSITIVE or top is None or top > HIGHEST_AGE + 1:
        yield _warning(name, f"ages over {HIGHEST_AGE} may be published", "Add `top: 90` to its intervals.")


def _warning(name: str, what: str, remedy: str) -> Diagnosis:
    return Diagnosis("safe-harbor", Severity.WARNING, f"column {short(name)}", what, 1, remedy)


CHECKS = (_identifier, _place, _date, _age)
