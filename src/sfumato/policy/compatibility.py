"""Compatibility of a policy's parts: the table role x promise x search, with the reason for every no.

Checks are data (the abilities of the searches) or small functions (`CHECKS`). A promise adds its
own: `roles` (what its columns may be), `column_role` (a role that belongs to it), `searches` (which can keep
it) and `objections(policy)`, sentences about whatever else it cannot go with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sfumato import promises
from sfumato.core.microdata import Missing, Role
from sfumato.core.policy_view import ColumnOptions
from sfumato.core.problem import Problem, did_you_mean, short
from sfumato.policy import safe_harbor
from sfumato.policy.compatibility import controls
from sfumato.policy.compatibility.promise_places import with_places
from sfumato.policy.compatibility.search_fit import search_problems
from sfumato.policy.compatibility.several_tables import beside_earlier, for_colluders, for_recipients
from sfumato.policy.compatibility.term_sets import (
    joint_knowledge,
    one_knowledge,
    set_columns,
)
from sfumato.policy.content import Knows, PolicyContent
from sfumato.policy.set_columns import forms_of
from sfumato.policy.taxonomies.spelled_leaves import LISTING, lists_values

MOST_PRICE = 1000
"""A suppressed row counts as at most so many fully generalized ones."""


def roles() -> tuple[Role, ...]:
    """Returns the roles that this version knows what to do with."""
    return tuple(role for role in Role if not role.needs_promise or promises.owner_of(role))


def options_of(role: Role) -> type[ColumnOptions] | None:
    """Returns the options of columns of this role, beyond the taxonomy; `None` if there are none."""
    return promises.column_options(role)


def objections(policy: PolicyContent) -> list[Problem]:
    """Returns every reason why this policy cannot be followed, each with its place."""
    return [problem for check in CHECKS for problem in check(policy)]


def _some_promise(policy: PolicyContent) -> Iterator[Problem]:
    if not policy.promises.members:
        yield Problem(("promises",), "no promise is made, so nothing would be protected")


def _some_key(policy: PolicyContent) -> Iterator[Problem]:
    if policy.promises.members and not any(rule.role.is_key for rule in policy.columns.values()):
        yield Problem(
            ("columns",),
            "no column is a quasi-identifier, so there are no classes to make a promise about.",
            "Give the columns that others may know the role quasi.",
        )


def _protected_columns(policy: PolicyContent) -> Iterator[Problem]:
    for place, promise in with_places(policy):
        fit = promise.roles
        for name in () if promise.derived else promise.sensitive:
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


def _unordered_taxonomies(policy: PolicyContent) -> Iterator[Problem]:
    for place, promise in with_places(policy):
        for name in promise.ordered_columns:
            rule = policy.columns.get(name)
            if rule is not None and rule.taxonomy is not None and not rule.taxonomy.ordered:
                yield Problem(
                    (*place, "distance"),
                    f"the taxonomy of {short(name)} has no order to measure a distance in.",
                    "Add `ordered: true` to it, or use the distance equal or hierarchical.",
                )


def _unused_taxonomies(policy: PolicyContent) -> Iterator[Problem]:
    for name, rule in policy.columns.items():
        if rule.start and (rule.role is not Role.QUASI or rule.taxonomy is None):
            yield Problem(
                ("columns", name, "start"),
                "only a quasi-identifier with a taxonomy begins at a level.",
                "Drop it, or give the column both.",
            )
        if rule.taxonomy is not None and rule.role in (Role.IDENTIFIER, Role.INSENSITIVE):
            fate = "never published" if rule.role is Role.IDENTIFIER else "published unchanged"
            yield Problem(
                ("columns", name, "taxonomy"),
                f"a column that is {rule.role} is {fate}; its taxonomy would not be used.",
                "Drop the taxonomy, or make the column quasi.",
            )


def _rounded_columns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns that are to be rounded and are not published as numbers, or tell who is who."""
    telling = {
        column
        for promise in policy.promises
        for column in (promise.batch_column, promise.parameters().get("person"))
    }
    for name in policy.digits:
        place, role = ("columns", name, "digits"), policy.columns[name].role
        if role.is_key:
            yield Problem(
                place,
                f"a column that is {role} is generalized by its taxonomy, not rounded.",
                "Drop it, and give the column the taxonomy intervals.",
            )
        elif role not in (Role.SENSITIVE, Role.INSENSITIVE):
            yield Problem(
                place,
                f"only numbers that are published as they are can be rounded, and the column is {role}.",
                "Drop it; it is for columns that are sensitive or insensitive.",
            )
        elif name in telling:
            yield Problem(
                place,
                "a promise tells people or releases apart by this column: rounded, it would take several for"
                " one.",
                "Drop it.",
            )


def _folded_keys(policy: PolicyContent) -> Iterator[Problem]:
    """Yields key columns whose spellings cannot be published as one."""
    for name, rule in policy.columns.items():
        if not rule.one_spelling:
            continue
        place = ("columns", name, "spelling")
        if rule.taxonomy is not None and not isinstance(rule.taxonomy, LISTING):
            yield Problem(
                place,
                "only values that stand for themselves have spellings (flat, tree, rows, file); this taxonomy"
                " reads its values in its own way.",
                "Drop it.",
            )
        elif policy.promises.looks_back and not lists_values(rule.taxonomy):
            yield Problem(
                place,
                "the published spelling is one of those that occur, and may be another in the next release.",
                "List the values, as in `taxonomy: {flat: [north, south]}`.",
            )


def _limits(policy: PolicyContent) -> Iterator[Problem]:
    protect = policy.protect
    if not 0 <= protect.suppress <= 1:
        yield Problem(("protect", "suppress"), "must be a share from 0 to 1 (0% to 100%)")
    if protect.price is not None and not 1 <= protect.price <= MOST_PRICE:
        yield Problem(
            ("protect", "price"),
            f"must be a number from 1 to {MOST_PRICE}: a row that is gone tells no more than one of which"
            " every column is fully generalized.",
            "As in `price: 3`.",
        )
    if policy.missing is Missing.SUPPRESS and protect.suppress == 0:
        yield Problem(
            ("missing",),
            "rows with empty cells are to be suppressed, but nothing may be suppressed.",
            "Set protect.suppress, or use missing: own-value.",
        )


def _named_patterns(policy: PolicyContent) -> Iterator[Problem]:
    """Yields patterns of recipients that do not name exactly the key columns."""
    named = () if policy.recipients is None else policy.recipients.patterns
    keys = {name for name, rule in policy.columns.items() if rule.role.is_key}
    for recipient, levels in named:
        place = ("recipients", "patterns", recipient)
        for column in dict(levels):
            if column not in keys:
                yield Problem(
                    (*place, column),
                    f"{short(column)} is no key column.",
                    did_you_mean(column, sorted(keys)) or "Patterns have the levels of quasi-identifiers.",
                )
        if lacking := sorted(keys - set(dict(levels))):
            yield Problem(
                place,
                f"a pattern names the level of every key column; lacking: {', '.join(map(short, lacking))}.",
                "0 leaves a column as it is.",
            )


def _person(policy: PolicyContent) -> Iterator[Problem]:
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


def _knows(policy: PolicyContent) -> Iterator[Problem]:
    """Yields what cannot be promised, or not be searched for, by what others know of a person."""
    if policy.person is None:
        return
    if policy.knows is Knows.ROW:
        for place, promise in with_places(policy):
            if not promise.by_size and not promise.looks_back:
                yield Problem(
                    place,
                    "it does not bind who knows two rows of a person and looks at what both leave.",
                    "Say knows: profile under person, or promise k-anonymity alone.",
                )
    if not policy.by_profile:
        return
    if policy.missing is Missing.SUPPRESS:
        yield Problem(
            ("missing",),
            "rows with empty cells would be left out one by one, but people are published with all their rows"
            " or not at all.",
            "Use missing: own-value or refuse.",
        )
    for place, promise in with_places(policy):
        if not promise.cone and not promise.by_size and not promise.looks_back:
            yield Problem(
                place,
                f"{promise.name} does not say that what keeps it may be added up (`cone`), so it cannot be"
                " judged by what all rows of a person show.",
                "Drop `person` and give everybody one row, or promise something else.",
            )


def _unknown_roles(policy: PolicyContent) -> Iterator[Problem]:
    known = roles()
    for name, rule in policy.columns.items():
        if rule.role not in known:
            yield Problem(("columns", name, "role"), f"{rule.role} is not available in this version")


def _roles_without_promise(policy: PolicyContent) -> Iterator[Problem]:
    """Yields columns whose role belongs to a promise, where no such promise is about the column."""
    covered = {(promise.column_role, column) for promise in policy.promises for column in promise.reads}
    sets = {part: name for name, form in forms_of(policy).items() for part in form.parts}
    for name, rule in policy.columns.items():
        needed = promises.owner_of(rule.role)
        if needed is None or (rule.role, sets.get(name, name)) in covered:
            continue
        yield Problem(
            ("columns", name, "role"),
            f"{rule.role} means nothing without the promise {needed} that speaks of this column.",
            f"Promise {needed}, say of the column what it needs, or make the column quasi.",
        )


def _objections_of_promises(policy: PolicyContent) -> Iterator[Problem]:
    for place, promise in with_places(policy):
        for sentence in promise.objections(policy):
            yield Problem(place, sentence)


CHECKS: list[Callable[[PolicyContent], Iterator[Problem]]] = [
    _unknown_roles,
    _roles_without_promise,
    _some_promise,
    _some_key,
    _protected_columns,
    _unordered_taxonomies,
    _unused_taxonomies,
    _rounded_columns,
    _folded_keys,
    search_problems,
    _limits,
    *controls.CHECKS,
    _named_patterns,
    _person,
    _knows,
    set_columns,
    one_knowledge,
    joint_knowledge,
    for_recipients,
    for_colluders,
    beside_earlier,
    safe_harbor.objections,
    _objections_of_promises,
]
