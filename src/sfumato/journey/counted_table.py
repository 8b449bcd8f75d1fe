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
    _refuse_colluders(table, policy)
    return table.with_profiles() if policy.by_profile else table


def _refuse_colluders(table: Microdata, policy: Policy) -> None:
    """Raises where somebody has several rows and recipients may put their versions together."""
    rule = policy.recipients
    if rule is None or rule.coalition is Coalition.NONE or not (many := table.people_with_several_rows):
        return
    people = several(many, "person has", "people have")
    raise BadData(
        f"{people} several rows, and what colluding recipients learn of them is not judged.",
        where="recipients.coalition",
        remedy="Bring each person's rows together in one, or leave coalition out.",
    )
