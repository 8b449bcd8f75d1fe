"""What goes together: the table role x promise x search, with the reason for every no.

Rows of the table are data (`SEARCHES`, `TOLD_BY`) or small functions (`ROWS`). A promise adds its own:
`roles` (what its `of` may be, default sensitive), `searches` (which can keep it, default all) and
`objections(policy)`, sentences about whatever else it cannot go with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.declare import promises
from sfumato.declare.problems import Place, Problem, did_you_mean, short
from sfumato.declare.term_rule import set_objections
from sfumato.terms.microdata import Missing, Role
from sfumato.terms.promise import ClassPromise, TablePromise

if TYPE_CHECKING:
    from sfumato.declare.policy import Policy, ProtectRule

Promise = ClassPromise | TablePromise

LOSSES: Mapping[str, str] = {
    "loss": "mean share of the values that a published value stands for",
    "geometric": "the same, as a geometric mean over the columns",
    "entropy": "bits lost, by how common each value is",
    "precision": "mean level over height",
    "discernibility": "sum of squared class sizes",
    "discernibility-star": "the same, suppressed rows not punished",
    "class-size": "average class size over k",
    "height": "sum of levels",
}


@dataclass(frozen=True)
class Ability:
    """What a search can do, and why it cannot do the rest."""

    losses: tuple[str, ...]
    suppresses: bool = True
    relaxes: bool = False
    any_promise: bool = True
    whole_table: bool = False
    why_not: str = ""


SEARCHES: Mapping[str, Ability] = {
    "top-down": Ability(
        losses=("loss", "discernibility"),
        any_promise=False,
        whole_table=True,
        why_not="top-down ranks single steps, which only loss and discernibility can price",
    ),
    "lattice": Ability(losses=tuple(LOSSES)),
    "mondrian": Ability(
        losses=("loss", "discernibility"),
        suppresses=False,
        relaxes=True,
        why_not="Mondrian recodes each class by itself, so a column has no level to measure",
    ),
}

TOLD_BY: Mapping[Role, str] = {Role.FREE: "freeform", Role.QUASI_SENSITIVE: "quasi-sensitive"}
"""Roles that mean nothing without their promise."""

FORESEEN = ("freeform", "quasi-sensitive", "continuous")
"""Promises that the policy's form reserves a name for."""


def roles() -> tuple[Role, ...]:
    """The roles that this version knows what to do with."""
    return tuple(role for role in Role if TOLD_BY.get(role) is None or TOLD_BY[role] in promises.known())


def unavailable(promise: str) -> bool:
    """Whether a promise is foreseen but not part of this version."""
    return promise in FORESEEN and promise not in promises.known()


def refusals(policy: Policy) -> list[str]:
    """Every reason why this policy cannot be followed, in words."""
    return [problem.located({}) for problem in objections(policy)]


def objections(policy: Policy) -> list[Problem]:
    """The same with places, for messages that name the line."""
    return [problem for row in ROWS for problem in row(policy)]


def _some_promise(policy: Policy) -> Iterator[Problem]:
    if not policy.promises.members:
        yield Problem(("promises",), "no promise is made, so nothing would be protected")


def _some_key(policy: Policy) -> Iterator[Problem]:
    if policy.promises.members and not any(rule.role.is_key for rule in policy.columns.values()):
        yield Problem(
            ("columns",),
            "no column is a quasi-identifier, so there are no classes to make a promise about.",
            "Give the columns that others may know the role quasi.",
        )


def _protected_columns(policy: Policy) -> Iterator[Problem]:
    for place, promise in _placed(policy):
        fit: tuple[Role, ...] = getattr(promise, "roles", (Role.SENSITIVE,))
        for name in promise.sensitive:
            rule = policy.rule_of(name)
            if rule is None:
                near = did_you_mean(name, list(policy.columns))
                yield Problem((*place, "of"), f"there is no column {short(name)}.", near)
            elif rule.role not in fit:
                yield Problem((*place, "of"), _UNFIT[rule.role].format(name=short(name)), _fitting(fit))


_UNFIT: Mapping[Role, str] = {
    Role.IDENTIFIER: "{name} is an identifier and never published, so nothing can be promised of it.",
    Role.QUASI: "{name} is a quasi-identifier: others know it and it is generalized; it is no secret.",
    Role.FREE: "{name} is free: part of the class key and generalized; it has a promise of its own.",
    Role.SENSITIVE: "{name} is sensitive.",
    Role.QUASI_SENSITIVE: "{name} is quasi-sensitive.",
    Role.INSENSITIVE: "{name} is insensitive: published unchanged and counted nowhere.",
}


def _fitting(fit: tuple[Role, ...]) -> str:
    return f"The column of this promise must be {' or '.join(fit)}."


def _order(policy: Policy) -> Iterator[Problem]:
    for place, promise in _placed(policy):
        if getattr(promise, "distance", None) != "ordered":
            continue
        for name in promise.sensitive:
            rule = policy.columns.get(name)
            if rule is not None and rule.taxonomy is not None and not rule.taxonomy.ordered:
                yield Problem(
                    (*place, "distance"),
                    f"the taxonomy of {short(name)} has no order to measure a distance in.",
                    "Add `ordered: true` to it, or use the distance equal or hierarchical.",
                )


def _idle_taxonomies(policy: Policy) -> Iterator[Problem]:
    for name, rule in policy.columns.items():
        if rule.taxonomy is not None and rule.role in (Role.IDENTIFIER, Role.INSENSITIVE):
            fate = "never published" if rule.role is Role.IDENTIFIER else "published unchanged"
            yield Problem(
                ("columns", name, "taxonomy"),
                f"a column that is {rule.role} is {fate}; its taxonomy would not be used.",
                "Drop the taxonomy, or make the column quasi.",
            )


def _search(policy: Policy) -> Iterator[Problem]:
    return of_search(policy.protect, policy.missing)


def of_search(protect: ProtectRule, missing: Missing) -> Iterator[Problem]:
    """What the search itself cannot do, whatever the columns and promises are."""
    ability = SEARCHES.get(protect.search)
    if ability is None:
        hint = did_you_mean(protect.search, list(SEARCHES))
        yield Problem(("protect", "search"), f"the searches are {', '.join(SEARCHES)}.", hint)
        return
    if protect.loss not in LOSSES:
        hint = did_you_mean(protect.loss, list(LOSSES))
        yield Problem(("protect", "loss"), f"the losses are {', '.join(LOSSES)}.", hint)
    elif protect.loss not in ability.losses:
        remedy = f"Use {' or '.join(ability.losses)}, or search: lattice."
        yield Problem(("protect", "loss"), f"{protect.loss} does not work: {ability.why_not}.", remedy)
    if protect.relaxed and not ability.relaxes:
        yield Problem(("protect", "relaxed"), f"only Mondrian can be relaxed, not {protect.search}")
    if protect.suppress > 0 and not ability.suppresses and missing is not Missing.SUPPRESS:
        yield Problem(
            ("protect", "suppress"),
            f"{protect.search} has nothing to suppress: it never makes a class that breaks a promise.",
            "Leave suppress out.",
        )


def _searchable(policy: Policy) -> Iterator[Problem]:
    search = policy.protect.search
    ability = SEARCHES.get(search)
    if ability is None:
        return
    for place, promise in _placed(policy):
        whole = isinstance(promise, TablePromise)
        able = tuple(name for name, a in SEARCHES.items() if a.whole_table or not whole)
        fit: tuple[str, ...] = getattr(promise, "searches", able)
        if search not in fit:
            reason = "it is about the recoded table as a whole" if whole else "it says so itself"
            yield Problem(place, f"{search} cannot keep it: {reason}.", f"Use search: {' or '.join(fit)}.")
        elif not promise.monotone and not ability.any_promise:
            yield Problem(
                place,
                f"{search} cannot keep it: it is not monotone, so a step that breaks it may be followed by"
                " one that mends it.",
                f"Use search: {' or '.join(n for n, a in SEARCHES.items() if a.any_promise)}.",
            )


def _limits(policy: Policy) -> Iterator[Problem]:
    protect = policy.protect
    if not 0 <= protect.suppress <= 1:
        yield Problem(("protect", "suppress"), "must be a share from 0 to 1 (0% to 100%)")
    if policy.missing is Missing.SUPPRESS and protect.suppress == 0:
        yield Problem(
            ("missing",),
            "rows with empty cells are to be suppressed, but nothing may be suppressed.",
            "Set protect.suppress, or use missing: own-value.",
        )
    for name, weight in protect.weights.items():
        place: Place = ("protect", "weights", name)
        rule = policy.columns.get(name)
        if rule is None:
            yield Problem(place, "there is no such column.", did_you_mean(name, list(policy.columns)))
        elif not rule.role.is_key:
            yield Problem(place, f"only key columns have a weight; this one is {rule.role}")
        if weight <= 0:
            yield Problem(place, "a weight must be greater than 0")


def _person(policy: Policy) -> Iterator[Problem]:
    if policy.person is None:
        return
    rule = policy.columns.get(policy.person)
    if rule is None:
        hint = did_you_mean(policy.person, list(policy.columns))
        yield Problem(("person",), f"there is no column {short(policy.person)}.", hint)
    elif rule.role is not Role.IDENTIFIER:
        yield Problem(
            ("person",),
            f"the column that tells people apart must not be published, but it is {rule.role}.",
            "Give it the role identifier.",
        )


def _present_roles(policy: Policy) -> Iterator[Problem]:
    known = roles()
    for name, rule in policy.columns.items():
        if rule.role not in known:
            yield Problem(("columns", name, "role"), f"{rule.role} is not available in this version")


def _own_rows(policy: Policy) -> Iterator[Problem]:
    for place, promise in _placed(policy):
        said: Callable[[Policy], list[str]] | None = getattr(promise, "objections", None)
        for sentence in said(policy) if said else ():
            yield Problem(place, sentence)


def _placed(policy: Policy) -> Iterator[tuple[Place, Promise]]:
    for i, promise in enumerate(policy.promises):
        yield ("promises", i, promise.name), promise


ROWS: list[Callable[[Policy], Iterator[Problem]]] = [
    _present_roles,
    _some_promise,
    _some_key,
    _protected_columns,
    _order,
    _idle_taxonomies,
    _search,
    _searchable,
    _limits,
    _person,
    set_objections,
    _own_rows,
]
