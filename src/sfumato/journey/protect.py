"""Planning: what each column has to become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.engine import open_source
from sfumato.journey.arguments import (
    AnyImprint,
    AnyMemory,
    AnyPolicy,
    beside,
    check_header,
    limit_of,
    policy_of,
    within,
)
from sfumato.journey.chain import remembered_in
from sfumato.policy.policy import Policy
from sfumato.protection.memory_need import check_need
from sfumato.protection.plan import Plan, make_plan

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


def protect(
    data: Any,
    policy: AnyPolicy,
    *,
    earlier: Sequence[AnyImprint] = (),
    against: Ledger | str | None = None,
    chain: str = "main",
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Plan:
    """Find out what each column has to become so that every promise holds.

    `data` is a dataframe (pandas, Polars eager or lazy, PyArrow, DuckDB relation) or the path of a CSV or
    Parquet file. Nothing is written; `plan.apply(data)` makes the safe table. `earlier` are the imprints of
    all earlier releases of these people, oldest first (`plan.imprint`, or JSON files of them); `against`, a
    ledger, has those of a chain. `memory` is how much may be used, such as "4GB"; what would take more is
    refused, with how much it takes.
    """
    known = earlier_ones(earlier, against, chain)
    told, meant = progress or silent, beside(policy_of(policy), known)
    source = open_source(within(data, memory))
    table = counted(source, meant, progress=told)
    check_need(table, meant, limit_of(source))
    return make_plan(table, meant, progress=told)


def counted(data: Any, policy: Policy, *, progress: Progress = silent) -> Microdata:
    """The columns that the policy looks at, coded and counted; there is at least one row."""
    source = open_source(data)
    _check_columns(source.columns, policy)
    table = source.count(policy.codings, missing=policy.missing, person=policy.person, progress=progress)
    if not table.rows + table.dropped:
        raise BadData("the table has no rows", remedy="There is nothing to protect in it.")
    return table


def earlier_ones(
    earlier: Sequence[AnyImprint], against: Ledger | str | None, chain: str
) -> Sequence[AnyImprint]:
    """The earlier releases that were given, or those that a ledger remembers."""
    if against is None:
        return earlier
    if earlier:
        raise WrongCall("earlier releases are given twice", remedy="Give their imprints, or name the ledger.")
    return remembered_in(against, chain)


def _check_columns(names: Sequence[str], policy: Policy) -> None:
    """Every column is declared."""
    check_header(names, policy)
    policy.check_columns(names)
