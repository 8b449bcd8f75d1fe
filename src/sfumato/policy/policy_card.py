"""A policy on a card: what is promised in plain words, and what each column is."""

from __future__ import annotations

from sfumato.core.microdata import Role
from sfumato.policy.content import ColumnRule, PolicyContent
from sfumato.show.card import Card, several

ROLES = {
    Role.IDENTIFIER: "identifies somebody",
    Role.QUASI: "others may know it",
    Role.FREE: "known or secret, value by value",
    Role.SENSITIVE: "secret",
    Role.QUASI_SENSITIVE: "terms that may tell a secret",
    Role.INSENSITIVE: "harmless",
}
"""What a role says of a column, for people."""


def policy_card(policy: PolicyContent) -> Card:
    """Returns the policy in a few lines; of its hierarchies only the kind, since they may hold values."""
    stated = [promise for promise in policy.promises if not promise.derived]
    lines: list[tuple[str, ...]] = [(str(promise), promise.in_words()) for promise in stated]
    columns = [(name, ROLES[rule.role], _published(rule)) for name, rule in policy.columns.items()]
    search = f"searched by {policy.protect.search}, at most {float(policy.protect.suppress):.1%} of the rows"
    notes = [f"{search} suppressed", f"digest {policy.digest}"]
    if policy.preset is not None:
        notes.insert(0, f"keeps the rules of {policy.preset} for columns")
    if policy.confirm:
        notes.insert(0, f"waiting for confirmation: {', '.join(policy.confirm)}")
    counts = f"{several(len(stated), 'promise')}, {several(len(policy.columns), 'column')}"
    return Card(f"policy: {counts}", [*lines, (), *columns], notes)


def _published(rule: ColumnRule) -> str:
    if rule.role is Role.IDENTIFIER:
        return "not published"
    if not rule.role.is_key:
        return f"published {rule.rewritten or 'as it is'}"
    kinds = [] if rule.taxonomy is None else [key for key in rule.taxonomy.spec if key in KINDS]
    said = f"made less exact by {KINDS[kinds[0]]}" if kinds else "published as it is, or as *"
    return f"{said}; {rule.rewritten}" if rule.rewritten else said


KINDS = {
    "intervals": "intervals",
    "prefix": "leading characters",
    "mask": "masked characters",
    "date": "parts of the calendar",
    "tree": "a hierarchy",
    "rows": "a hierarchy",
    "file": "a hierarchy from a file",
    "ready": "a ready hierarchy",
    "arx": "a hierarchy",
}
"""What taxonomies do, by their keys in a policy."""
