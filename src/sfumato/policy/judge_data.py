"""The policy as plain data: all that the second judge is told of it."""

from __future__ import annotations

from typing import Any

from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.taxonomies import HierarchyFile, ReadyTaxonomy


def judge_data(policy: Policy) -> dict[str, Any]:
    """Returns texts, numbers, truths, fractions and bytes, and lists, tuples and mappings of them.

    `columns`    name → `role`, `taxonomy` (as a policy writes it, with the `notation` of its intervals, and
                 `root: own` where its single group is the root; or `None`), `options` (what else is said of
                 a column of its role), `start` and `at_most` (the finest and the coarsest level that is
                 published; `None`: up to the root), `ranges` (whether an ordered column is published in
                 ranges only), `spelling` (`folded` or `exact`), `digits` (how many a number has at most
                 behind the point; `None`: any), and for a hierarchy file or a ready list its `content` and
                 `digest`; a ready taxonomy also has `kind`, `mark`, `shape` and `ordered`
    `promises`   what each promise tells its judge (`Promise.judge_data`)
    `person`     the column that tells people apart, or `None`
    `by_profile` whether people are judged by what all their rows show
    `together`   groups of key columns that are published at the same level
    `missing`    what an empty cell of a key column means
    `formulas`   whether a CSV file may hold cells that a spreadsheet would run: `refuse` or `keep`
    """
    return {
        "columns": {
            name: _column(rule) | {"ranges": policy.publishes_ranges and rule.role.is_key}
            for name, rule in policy.columns.items()
        },
        "promises": [promise.judge_data() for promise in policy.promises],
        "person": policy.person,
        "by_profile": policy.by_profile,
        "together": [list(group) for group in policy.protect.together],
        "missing": policy.missing.value,
        "formulas": policy.formulas.value,
    }


def _column(rule: ColumnRule) -> dict[str, Any]:
    taxonomy = rule.taxonomy
    found: dict[str, Any] = {
        "role": rule.role.value,
        "taxonomy": None if taxonomy is None else dict(taxonomy.spec),
        "options": {} if rule.options is None else rule.options.words(),
        "spelling": rule.spelling.value if not rule.role.is_key or rule.one_spelling else "exact",
        "digits": rule.digits,
        "start": rule.finest,
        "at_most": rule.controls.ceiling,
    }
    if isinstance(taxonomy, ReadyTaxonomy):
        found["taxonomy"] |= taxonomy.words_for_judge
    if isinstance(taxonomy, HierarchyFile | ReadyTaxonomy):
        found |= {"content": taxonomy.content, "digest": taxonomy.digest}
    return found
