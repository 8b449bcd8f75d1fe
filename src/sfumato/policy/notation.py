"""The notation of intervals: how a policy of each version writes those that it publishes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.policy import versions
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies import Intervals


def in_notation(columns: Mapping[str, ColumnRule], version: int) -> Mapping[str, ColumnRule]:
    """Returns the columns, their intervals written as policies of this version write them.

    From version 2 on every interval of numbers is `[40, 45)`; the first version writes whole ones `40-44`.
    """
    if version == versions.FIRST:
        return columns
    return {name: _half_open(rule) for name, rule in columns.items()}


def _half_open(rule: ColumnRule) -> ColumnRule:
    if not isinstance(rule.taxonomy, Intervals) or rule.taxonomy.half_open:
        return rule
    return replace(rule, taxonomy=replace(rule.taxonomy, half_open=True))
