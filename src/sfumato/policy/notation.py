"""The notation of taxonomies: how a policy of each version writes intervals, and where its trees end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.policy import versions
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies import Intervals, NestedTree


def in_notation(columns: Mapping[str, ColumnRule], version: int) -> Mapping[str, ColumnRule]:
    """Returns the columns, their taxonomies as policies of this version write them.

    From version 2 on every interval of numbers is `[40, 45)`, where the first version writes whole ones
    `40-44`; and the single group at the top of a tree is its root, above which the first version puts `*`.
    """
    if version == versions.FIRST:
        return columns
    return {name: _latest(rule) for name, rule in columns.items()}


def _latest(rule: ColumnRule) -> ColumnRule:
    if isinstance(rule.taxonomy, NestedTree):
        tree = rule.taxonomy.with_own_root()
        return rule if tree == rule.taxonomy else replace(rule, taxonomy=tree)
    if not isinstance(rule.taxonomy, Intervals) or rule.taxonomy.half_open:
        return rule
    return replace(rule, taxonomy=replace(rule.taxonomy, half_open=True))
