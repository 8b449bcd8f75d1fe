"""Changed policies: another k, another role of a column, another search, and everything else as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

from sfumato.core.errors import BadPolicy, WrongCall
from sfumato.core.exact_numbers import fraction
from sfumato.core.microdata import Role
from sfumato.core.problem import did_you_mean, short
from sfumato.core.promise import Promise, Promises
from sfumato.policy.content import NO_PRICE, ColumnRule, PolicyContent, ProtectRule
from sfumato.promises import make

Names = str | Sequence[str]
"""The name of a column, or several of them."""
CONTROLS = ("at_most", "fixed", "never_suppress")
"""The controls that a column has in its own rule."""


@dataclass(frozen=True)
class RoleNames:
    """The columns that a caller gives a role to."""

    identifier: Names = ()
    quasi: Names = ()
    sensitive: Names = ()
    insensitive: Names = ()

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each named column; raises `WrongCall` where one is named twice."""
        given = {
            Role.IDENTIFIER: self.identifier,
            Role.QUASI: self.quasi,
            Role.SENSITIVE: self.sensitive,
            Role.INSENSITIVE: self.insensitive,
        }
        roles: dict[str, Role] = {}
        for role, names in given.items():
            for name in [names] if isinstance(names, str) else names:
                if roles.setdefault(name, role) is not role:
                    raise WrongCall(f"column {short(name)} is named as {roles[name]} and as {role}")
        return roles


def changed_columns(policy: PolicyContent, names: RoleNames) -> dict[str, ColumnRule]:
    """Returns the columns with other roles; a taxonomy stays, for whoever makes the column a key again."""
    columns = dict(policy.columns)
    for name, role in names.roles.items():
        if name not in columns:
            raise BadPolicy(
                f"there is no column {short(name)}", where="columns", remedy=did_you_mean(name, list(columns))
            )
        if columns[name].role is not role:
            columns[name] = ColumnRule(role, columns[name].taxonomy)
    return columns


def controlled_columns(
    columns: Mapping[str, ColumnRule], controls: Mapping[str, object]
) -> dict[str, ColumnRule]:
    """Returns the columns with other controls: for each of `CONTROLS`, what every named column gets."""
    changed = dict(columns)
    for key, given in controls.items():
        if not isinstance(given, Mapping):
            raise WrongCall(f"{key} takes names of columns and what each gets", remedy=f"{key}={{'age': …}}")
        for name, value in given.items():
            if name not in changed:
                raise BadPolicy(
                    f"there is no column {short(name)}",
                    where="columns",
                    remedy=did_you_mean(name, list(changed)),
                )
            rule = changed[name]
            made = replace(rule.controls, **{key: _control(key, value)})  # type: ignore[arg-type]  # read by its key
            changed[name] = replace(rule, controls=made)
    return changed


def _control(key: str, value: object) -> int | tuple[str, ...] | None:
    if key == "never_suppress":
        return (value,) if isinstance(value, str) else tuple(map(str, cast("Sequence[object]", value)))
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise WrongCall(f"{key} is a level", remedy="Give a whole number: 0 is the column as it is.")
    return value


def changed_promises(
    policy: PolicyContent, columns: Mapping[str, ColumnRule], numbers: Mapping[str, object]
) -> Promises:
    """Returns the promises with other numbers (`k`, `l`, `t`), without those about columns that left.

    Where no promise has a number that is asked for, it is promised: k-anonymity, or l-diversity or
    t-closeness of each sensitive column.
    """
    kept = [
        promise
        for promise in policy.promises
        if not promise.derived and all(_stays(policy, columns, name) for name in promise.sensitive)
    ]
    for key, value in numbers.items():
        if any(key in promise.parameters() for promise in kept):
            kept = [_with_number(promise, key, value, policy) for promise in kept]
        else:
            kept += _new_promises(key, value, columns)
    return Promises(tuple(kept))


def _stays(policy: PolicyContent, columns: Mapping[str, ColumnRule], name: str) -> bool:
    return name not in policy.columns or columns[name].role is policy.columns[name].role


def _with_number(promise: Promise, key: str, value: object, policy: PolicyContent) -> Promise:
    parameters = promise.parameters()
    return make(promise.name, {**parameters, key: value}, policy.folder) if key in parameters else promise


def _new_promises(key: str, value: object, columns: Mapping[str, ColumnRule]) -> list[Promise]:
    if key == "k":
        return [make("k-anonymity", {"k": value})]
    secret = [name for name, rule in columns.items() if rule.role is Role.SENSITIVE]
    if not secret:
        raise WrongCall(f"{key} is about sensitive columns, and there is none", remedy="Name one.")
    name = {"l": "l-diversity", "t": "t-closeness"}[key]
    return [make(name, {"of": column, key: value}) for column in secret]


def changed_protect(rule: ProtectRule, changes: Mapping[str, object]) -> ProtectRule:
    """Returns another way to search; raises `WrongCall` for a word that is none of `protect`."""
    known = [field.name for field in fields(ProtectRule)]
    for name in changes:
        if name not in known:
            words = ", ".join([*CONTROLS, *known])
            hint = did_you_mean(name, known, otherwise=f"There are k, l, t, roles and {words}.")
            raise WrongCall(f"a policy has no {short(name)} to change", remedy=hint)
    read: dict[str, object] = {}
    for name, value in changes.items():
        exact = name in ("suppress", "price") and value not in (None, NO_PRICE)
        read[name] = fraction(value, key=name) if exact else None if value == NO_PRICE else value
        if name == "weights" and isinstance(value, Mapping):
            read[name] = {column: fraction(weight, key=column) for column, weight in value.items()}
    return replace(rule, **read)  # type: ignore[arg-type]  # names were compared, values are checked with the policy
