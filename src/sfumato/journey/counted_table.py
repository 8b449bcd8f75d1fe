"""The table of a policy: the columns that it looks at, coded and counted in one pass."""

from __future__ import annotations

from dataclasses import replace

from sfumato.core.derived_promises import joint_columns_of
from sfumato.core.errors import BadData
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.engine.source import Source
from sfumato.journey.policy_argument import check_some_declared
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import Coalition
from sfumato.show.card import several


def count_table(source: Source, policy: Policy, *, progress: Progress = silent) -> Microdata:
    """Returns the counts of a table that has rows; raises `BadPolicy` unless every column is declared."""
    check_some_declared(source.columns, policy)
    policy.check_columns(source.columns)
    table = source.count(policy.codings, missing=policy.missing, person=policy.person, progress=progress)
    if not table.rows + table.dropped:
        raise BadData("the table has no rows", remedy="There is nothing to protect in it.")
    if joints := joint_columns_of(policy.promises):
        table = replace(table, joints=joints)
    return _with_profiles(table, policy) if policy.by_profile else table


def _with_profiles(table: Microdata, policy: Policy) -> Microdata:
    """Returns the table with people's positions to be judged; raises where several tables would be."""
    judged = table.with_profiles()
    rule = policy.recipients
    if judged.profiles and rule is not None and rule.coalition is not Coalition.NONE:
        people = several(table.people_with_several_rows, "person has", "people have")
        raise BadData(
            f"{people} several rows, and what colluding recipients learn of them is not judged.",
            where="recipients.coalition",
            remedy="Bring each person's rows together in one, or leave coalition out.",
        )
    return judged
