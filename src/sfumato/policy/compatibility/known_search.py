"""Compatibility with adversaries who know the search: what their worlds cannot be listed for."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.microdata import Role
from sfumato.core.problem import Problem
from sfumato.policy.compatibility.promise_places import with_places
from sfumato.policy.content import PolicyContent
from sfumato.policy.known_search_rule import KEY

MOST_VALUES_MORE = 100
"""So many values more than promised a search may be asked for."""


def known_search(policy: PolicyContent) -> Iterator[Problem]:
    """Yields why what adversaries learn who know the search cannot be measured, where it is to be."""
    rule = policy.known_search
    if rule is None:
        return
    if not rule.gains:
        yield Problem(
            (KEY,), "it names no attack, so nothing would be measured.", "As in `minimality: 1/10`."
        )
    for name, gain in rule.gains.items():
        if gain > 1:
            yield Problem((KEY, name), "must be a difference of chances, from 0 to 1")
    if rule.minimality is not None and not _sensitive(policy):
        yield Problem(
            (KEY, "minimality"),
            "no column is sensitive, so there is no value to guess.",
            "Leave it out, or ask for downcoding.",
        )
    for holds, what in _beyond_the_table(policy):
        if holds:
            yield Problem(
                (KEY,),
                f"worlds cannot be listed: what is published depends on {what}.",
                f"Leave {KEY} out.",
            )


def stricter_search(policy: PolicyContent) -> Iterator[Problem]:
    """Yields why a search cannot be asked for more than is promised, where it is to be."""
    if not policy.protect.stricter:
        return
    place = ("protect", "stricter")
    if policy.protect.stricter > MOST_VALUES_MORE:
        yield Problem(place, f"must be a number of values from 0 to {MOST_VALUES_MORE}")
    if policy.searched_promises is policy.promises:
        yield Problem(
            place,
            "no promise can be asked for more values, so nothing would change.",
            "Promise l-diversity, confidence-bounding or alpha-k-anonymity, or leave it out.",
        )
    for holds, what in _beyond_the_table(policy):
        if holds:
            yield Problem(
                place, f"what is published depends on {what}, and the search alone is asked for more."
            )


def _sensitive(policy: PolicyContent) -> bool:
    return any(rule.role is Role.SENSITIVE for rule in policy.columns.values())


def _beyond_the_table(policy: PolicyContent) -> tuple[tuple[bool, str], ...]:
    """Returns what a table may depend on beside its own rows and the search, and whether it does."""
    promises = [promise for _, promise in with_places(policy)]
    return (
        (policy.person is not None, "several rows of a person"),
        (any(p.looks_back for p in promises), "earlier releases"),
        (any(p.needs_original for p in promises), "what is kept of the original table"),
        (
            policy.protect.terms.method != "keep"
            and any(p.column_role is Role.QUASI_SENSITIVE for p in promises),
            "terms that are removed",
        ),
    )
