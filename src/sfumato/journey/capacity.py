"""The verb `capacity`: how many recipients a policy serves with a version each."""

from __future__ import annotations

from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable
from sfumato.journey.counted_table import count_table
from sfumato.journey.policy_argument import AnyPolicy, load_policy
from sfumato.journey.recipient_versions import RecipientVersions, with_recipients
from sfumato.journey.table_argument import open_original
from sfumato.protection.recipients.capacity import Capacity


def capacity(data: AnyTable, policy: AnyPolicy, *, progress: Progress | None = None) -> Capacity:
    """How many recipients a policy serves with a version each, at its quality and at a little less."""
    show, rules = progress or silent, with_recipients(load_policy(policy))
    table = count_table(open_original(data, policy=rules), rules, progress=show)
    return RecipientVersions(table, rules, (), chain="", progress=show).capacity()
