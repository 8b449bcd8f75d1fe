"""Compatibility of controls: weights, levels, columns that move together, rows that are never suppressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sfumato.core.microdata import Missing, Role
from sfumato.core.problem import Place, Problem, did_you_mean, short
from sfumato.policy.content import PolicyContent

ABOUT: Mapping[str, str] = {
    "weight": "a weight",
    "at-most": "a coarsest level",
    "fixed": "a fixed level",
    "never-suppress": "rows that are never suppressed",
}


def weights(policy: PolicyContent) -> Iterator[Problem]:
    """Yields weights of columns that have none to have, or two, and a loss in which nothing counts."""
    for name in policy.protect.weights:
        place: Place = ("protect", "weights", name)
        rule = policy.columns.get(name)
        if rule is None:
            yield Problem(place, "there is no such column.", did_you_mean(name, list(policy.columns)))
        elif not rule.role.is_key:
            yield Problem(place, f"only key columns have a weight; this one is {rule.role}")
        elif rule.controls.weight is not None:
            yield Problem(place, "the column itself says its weight, too.", "Say it once.")
    given = policy.weights
    keys = [name for name, rule in policy.columns.items() if rule.role.is_key]
    for name, weight in given.items():
        if weight < 0:
            place = ("protect", "weights", name) if name in policy.protect.weights else ("columns", name)
            yield Problem(place, "a weight must not be negative")
    if keys and all(given.get(name, 1) == 0 for name in keys):
        yield Problem(
            ("columns", keys[0], "weight"),
            "every key column has the weight 0, so that no table is better than another.",
            "Leave out the weight of a column that matters.",
        )


def of_keys(policy: PolicyContent) -> Iterator[Problem]:
    """Yields controls of columns that are published as they are, or not at all."""
    for name, rule in policy.columns.items():
        for key in rule.controls.words:
            if not rule.role.is_key:
                yield Problem(
                    ("columns", name, key), f"only key columns have {ABOUT[key]}; this one is {rule.role}"
                )
            elif key == "fixed" and rule.role is not Role.QUASI:
                yield Problem(
                    ("columns", name, key),
                    f"only a quasi-identifier has {ABOUT[key]}; this one is {rule.role}.",
                    "Use at-most.",
                )


def levels(policy: PolicyContent) -> Iterator[Problem]:
    """Yields levels of one column that contradict each other."""
    for name, rule in policy.columns.items():
        controls = rule.controls
        if controls.fixed is not None:
            for key, said in (("at-most", controls.at_most is not None), ("start", rule.start > 0)):
                if said:
                    yield Problem(
                        ("columns", name, key),
                        f"the column is fixed at level {controls.fixed}, which says it all.",
                        f"Drop fixed or {key}.",
                    )
        elif controls.at_most is not None and controls.at_most < rule.start:
            yield Problem(
                ("columns", name, "at-most"),
                f"the column starts at level {rule.start}, so it is never as fine as level"
                f" {controls.at_most}.",
                f"Use a level from {rule.start} on, or an earlier start.",
            )


def never_suppressed(policy: PolicyContent) -> Iterator[Problem]:
    """Yields rows that are never suppressed, where rows with empty cells are."""
    for name, rule in policy.columns.items():
        if rule.controls.never_suppress and policy.missing is Missing.SUPPRESS:
            yield Problem(
                ("columns", name, "never-suppress"),
                "rows with an empty key cell are suppressed, whatever else they hold (missing: suppress).",
                "Use missing: own-value.",
            )


def for_recipients(policy: PolicyContent) -> Iterator[Problem]:
    """Yields rows that are never suppressed, where everybody gets a version of their own."""
    for name, rule in policy.columns.items():
        if rule.controls.never_suppress and policy.recipients is not None and policy.protect.suppress > 0:
            yield Problem(
                ("columns", name, "never-suppress"),
                "versions for recipients are chosen by how many rows they suppress, not by which.",
                "Leave protect.suppress out, so that no row is suppressed, or never-suppress.",
            )


def together(policy: PolicyContent) -> Iterator[Problem]:
    """Yields groups of columns that cannot move together."""
    seen: set[str] = set()
    for i, group in enumerate(policy.protect.together):
        place: Place = ("protect", "together", i)
        if len(group) < 2:
            yield Problem(place, "a group has at least two columns")
        for name in group:
            rule = policy.columns.get(name)
            if rule is None:
                near = did_you_mean(name, list(policy.columns))
                yield Problem(place, f"there is no column {short(name)}.", near)
            elif not rule.role.is_key:
                yield Problem(place, f"only key columns have levels; {short(name)} is {rule.role}")
            if name in seen:
                yield Problem(place, f"{short(name)} is in two groups, or twice in one.", "Join the groups.")
            seen.add(name)
        yield from _no_common_level(policy, place, group)


def _no_common_level(policy: PolicyContent, place: Place, group: tuple[str, ...]) -> Iterator[Problem]:
    rules = [policy.columns[name] for name in group if name in policy.columns]
    least = max((rule.finest for rule in rules), default=0)
    most = min((c for rule in rules if (c := rule.controls.ceiling) is not None), default=least)
    if most < least:
        yield Problem(
            place,
            f"one of the columns is never finer than level {least}, another never coarser than level {most}.",
            "Change start, at-most or fixed of one of them.",
        )


CHECKS: list[Callable[[PolicyContent], Iterator[Problem]]] = [
    weights,
    of_keys,
    levels,
    never_suppressed,
    for_recipients,
    together,
]
