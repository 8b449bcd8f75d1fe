"""Edits of the policy: each makes a policy from the one that is there, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from typing import Concatenate, ParamSpec

from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy, edited_text
from sfumato.policy.presets import preset
from sfumato.policy.taxonomies.files import NestedTree
from sfumato.studio.page import command, policy_within
from sfumato.studio.state import PolicyFile
from sfumato.system.errors import BadPolicy, UsageError, short
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import pluralize
from sfumato.table.microdata import Role

PLAIN_ROLES = (Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
"""Roles that a column may be given without saying more about it."""
USUAL_THREAT = Fraction(1, 2)
FREEFORM = "freeform"
TERM_MARK = ";"
"""Stands between terms in a form."""
WHOLE_TABLE: JsonObject = {"search": "best", "suppress": 0}
"""How a table is searched for that is judged as a whole."""


@dataclass(frozen=True)
class PolicyEdit:
    """A policy that was changed: what was done, and how Python and the command line say it."""

    policy: Policy
    did: str
    python: str = ""
    cli: str = ""


Edit = Callable[[Policy], PolicyEdit]
P = ParamSpec("P")


def edit(change: Callable[Concatenate[Policy, P], PolicyEdit]) -> Callable[P, Edit]:
    """Returns a function that takes what a change needs, and gives the change to be done to a policy."""

    @wraps(change)
    def with_parameters(*args: P.args, **kwargs: P.kwargs) -> Edit:
        return lambda policy: change(policy, *args, **kwargs)

    return with_parameters


def apply_edit(file: PolicyFile, version: str, change: Edit) -> None:
    """Changes the policy file, if it still has this version; comments stay where nothing changed."""
    text = file.expect(version)
    if text is None:
        raise UsageError("there is no policy yet", remedy="Let one be proposed on the page Discover.")
    before = policy_within(text, file.path)
    result = change(before)
    changed = edited_text(text, before, result.policy, name=file.path.name)
    file.write(changed, version=version, did=result.did, python=result.python, cli=result.cli)


def with_words(policy: Policy, change: Callable[[JsonObject], None]) -> Policy:
    """Returns the policy after a change of its words, checked like any other."""
    words = deepcopy(policy.to_dict())
    change(words)
    return Policy.from_dict(words, policy.folder)


@edit
def roles_changed(
    policy: Policy, chosen: Sequence[tuple[str, str]], proposed: Callable[[str], JsonObject | None]
) -> PolicyEdit:
    """Gives columns other roles; one that becomes a key without a taxonomy gets the proposed one."""
    new = {name: Role(role) for name, role in chosen if role in set(PLAIN_ROLES)}
    changed = {n: r for n, r in new.items() if n in policy.columns and policy.columns[n].role is not r}
    if not changed:
        raise UsageError("no role was changed")
    by_role = {role: [n for n, r in changed.items() if r is role] for role in PLAIN_ROLES}
    named = {role.value: names for role, names in by_role.items() if names}
    bare = [n for n in by_role[Role.QUASI] if policy.columns[n].taxonomy is None]
    edited = policy.with_(
        identifier=by_role[Role.IDENTIFIER],
        quasi=by_role[Role.QUASI],
        sensitive=by_role[Role.SENSITIVE],
        insensitive=by_role[Role.INSENSITIVE],
    )
    for name in bare:
        if (spec := proposed(name)) is not None:
            edited = with_words(edited, _taxonomy_setter(name, spec))
    summary = ", ".join(f"{short(name)} is {role}" for name, role in changed.items())
    words = ", ".join(f"{role}={names!r}" for role, names in named.items())
    return PolicyEdit(edited, f"roles: {summary}", f"policy = policy.with_({words})")


@edit
def columns_confirmed(policy: Policy, names: Sequence[str], file: str) -> PolicyEdit:
    """Says that these columns may be published unchanged."""
    if not names:
        raise UsageError("no column is chosen", remedy="Choose those that may be published unchanged.")
    words = ", ".join(repr(name) for name in names)
    return PolicyEdit(
        policy.confirm_columns(*names),
        f"confirmed: {', '.join(map(short, names))}",
        f"policy = policy.confirm_columns({words})",
        command("sfumato", "policy", "confirm", file, *names),
    )


@edit
def preset_taken(policy: Policy, name: str) -> PolicyEdit:
    """Promises the k of a preset."""
    k = preset(name).k
    if not preset(name).checks_columns:
        return PolicyEdit(policy.with_(k=k), f"preset {name}: k = {k}", f"policy = policy.with_(k={k})")
    python = f"policy = sf.Policy.from_dict({{**policy.with_(k={k}).to_dict(), 'preset': {name!r}}})"
    return PolicyEdit(replace(policy.with_(k=k), preset=name), f"preset {name}: k = {k}", python)


@edit
def promise_changed(policy: Policy, position: int, parameters: JsonObject | None) -> PolicyEdit:
    """Changes the parameters of a promise, or takes it out where there are none."""
    stated = policy.promises.stated
    if not 0 <= position < len(stated):
        raise UsageError("there is no such promise", remedy="Open the page again.")
    name = stated[position].name

    def change(words: JsonObject) -> None:
        if parameters is None:
            del words["promises"][position]
        else:
            words["promises"][position][name].update(parameters)

    edited = with_words(policy, change)
    done = "taken out" if parameters is None else "changed"
    return PolicyEdit(edited, f"promise {name} {done}", _words_in_python("promises", edited.to_dict()))


@edit
def promise_added(policy: Policy, name: str, parameters: JsonObject) -> PolicyEdit:
    """Promises more."""
    edited = with_words(policy, lambda words: words["promises"].append({name: parameters}))
    return PolicyEdit(edited, f"promise {name} added", _words_in_python("promises", edited.to_dict()))


@edit
def taxonomy_changed(policy: Policy, name: str, spec: JsonObject | None) -> PolicyEdit:
    """Gives a column another taxonomy, or none: then its cells are published as they are, or as `*`."""
    _rule(policy, name)
    edited = with_words(policy, _taxonomy_setter(name, spec))
    return PolicyEdit(edited, f"hierarchy of {short(name)}", _column_in_python(name, edited))


@edit
def tree_changed(
    policy: Policy, name: str, done: str, change: Callable[[NestedTree], NestedTree]
) -> PolicyEdit:
    """Changes the written tree of a column; marks of secret nodes whose label is gone, go too."""
    tree = tree_of(policy, name)
    changed = change(tree)

    def write(words: JsonObject) -> None:
        column = words["columns"][name]
        column["taxonomy"] = dict(changed.spec)
        if "sensitive" in column:
            labels = _labels(changed)
            column["sensitive"] = [label for label in column["sensitive"] if label in labels]

    edited = with_words(policy, write)
    return PolicyEdit(edited, f"hierarchy of {short(name)}: {done}", _column_in_python(name, edited))


@edit
def marked_secret(policy: Policy, name: str, labels: Sequence[str], *, secret: bool) -> PolicyEdit:
    """Marks values or groups of a column as secret, or takes the marks away.

    The column is then known or secret value by value: its role is `free`, which belongs to the promise
    `freeform`; that is promised where it is not.
    """
    rule = _rule(policy, name)
    if not labels:
        raise UsageError("no value is chosen", remedy="Choose values or groups of the tree.")
    start = policy if rule.role is Role.FREE else _without_promises_about(policy, name)

    def change(words: JsonObject) -> None:
        column = words["columns"][name]
        column["role"] = Role.FREE.value
        marks = [label for label in column.get("sensitive", ()) if label not in labels]
        column["sensitive"] = [*marks, *labels] if secret else marks
        if not any(FREEFORM in promise for promise in words["promises"]):
            words["promises"].append({FREEFORM: {"threat": str(USUAL_THREAT)}})

    def whole_table(words: JsonObject) -> None:
        change(words)
        words["protect"] = {**words["protect"], **WHOLE_TABLE}

    done = f"{pluralize(len(labels), 'node')} of {short(name)} {'secret' if secret else 'not secret'}"
    try:
        edited = with_words(start, change)
    except BadPolicy:
        edited = with_words(start, whole_table)
        done += "; searched by best without suppression, which freeform needs"
    return PolicyEdit(edited, done, _column_in_python(name, edited))


@edit
def knowledge_changed(policy: Policy, column: str, rows: Sequence[tuple[str, str]]) -> PolicyEdit:
    """Writes what outsiders know of a column's terms into the policy: labels, each with its terms.

    It stands in the policy from then on, where undo finds it; a file that it came from stays as it is.
    """
    table: dict[str, list[list[str]]] = {}
    for label, terms in rows:
        if label.strip():
            named = [term.strip() for term in terms.split(TERM_MARK) if term.strip()]
            table.setdefault(label.strip(), []).append(named)

    def change(words: JsonObject) -> None:
        limits = [p for entry in words["promises"] for p in entry.values() if "knowledge" in p]
        concerned = [p for p in limits if p.get("of") == column]
        if not concerned:
            raise UsageError(f"no promise is about terms of {short(column)}", remedy="Open the page again.")
        for promise in concerned:
            promise["knowledge"] = {
                label: many[0] if len(many) == 1 else many for label, many in table.items()
            }

    edited = with_words(policy, change)
    did = f"knowledge of {short(column)}: {pluralize(len(table), 'label')}"
    return PolicyEdit(edited, did, _words_in_python("promises", edited.to_dict()))


@edit
def people_counted(policy: Policy, person: str) -> PolicyEdit:
    """Says which column tells people apart; none, where every row is a person."""

    def change(words: JsonObject) -> None:
        words.pop("person", None)
        if person:
            words["person"] = person

    edited = policy if policy.person == (person or None) else with_words(policy, change)
    summary = f"people are told apart by {short(person)}" if person else "every row is a person"
    return PolicyEdit(edited, summary, _words_in_python("person", edited.to_dict()))


@edit
def missing_meant(policy: Policy, word: str) -> PolicyEdit:
    """Says what an empty cell means."""
    edited = with_words(policy, lambda words: words.update(missing=word))
    return PolicyEdit(edited, f"empty cells: {edited.missing}", _words_in_python("missing", edited.to_dict()))


@edit
def both(policy: Policy, first: Edit, second: Edit) -> PolicyEdit:
    """Does one edit after another, as one step."""
    before = first(policy)
    then = second(before.policy)
    return PolicyEdit(then.policy, f"{before.did}; {then.did}", f"{before.python}\n{then.python}")


@edit
def column_declared(policy: Policy, name: str, role: str) -> PolicyEdit:
    """Declares a column that the policy does not have."""
    edited = with_words(policy, lambda words: words["columns"].update({name: {"role": role}}))
    return PolicyEdit(edited, f"column {short(name)} declared", _column_in_python(name, edited))


@edit
def column_removed(policy: Policy, name: str) -> PolicyEdit:
    """Takes a column that the data does not have out of the policy."""
    _rule(policy, name)
    start = _without_promises_about(policy, name)

    def change(words: JsonObject) -> None:
        del words["columns"][name]
        words.get("confirm", {}).pop(name, None)
        if not words.get("confirm", True):
            del words["confirm"]

    return PolicyEdit(with_words(start, change), f"column {short(name)} taken out")


def tree_of(policy: Policy, name: str) -> NestedTree:
    """Returns the written tree of a column; raises `UsageError` where its taxonomy is none."""
    tree = _rule(policy, name).taxonomy
    if not isinstance(tree, NestedTree):
        raise UsageError("the hierarchy of this column is no written tree", remedy="Make it one first.")
    return tree


def _rule(policy: Policy, name: str) -> ColumnRule:
    if name not in policy.columns:
        raise UsageError(f"there is no column {short(name)}", remedy="Open the page again.")
    return policy.columns[name]


def _without_promises_about(policy: Policy, name: str) -> Policy:
    promises = [{p.name: p.parameters()} for p in policy.promises.stated if name not in p.sensitive]
    return with_words(policy, lambda words: words.update(promises=promises))


def _taxonomy_setter(name: str, spec: JsonObject | None) -> Callable[[JsonObject], None]:
    def change(words: JsonObject) -> None:
        column = words["columns"][name]
        column.pop("start", None)
        if spec is None:
            column.pop("taxonomy", None)
        else:
            column["taxonomy"] = spec

    return change


def _labels(tree: NestedTree) -> set[object]:
    return set(tree.build([]).labels)


def _column_in_python(name: str, policy: Policy) -> str:
    words = policy.to_dict()["columns"]
    column = words[name] if isinstance(words, dict) else {}
    return f'words["columns"][{name!r}] = {column!r}\npolicy = sf.Policy.from_dict(words, folder=".")'


def _words_in_python(key: str, words: JsonObject) -> str:
    return f'words[{key!r}] = {words.get(key)!r}\npolicy = sf.Policy.from_dict(words, folder=".")'
