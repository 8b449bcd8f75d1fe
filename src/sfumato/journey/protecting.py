"""Planning: what each column has to become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.declare.policy import Policy
from sfumato.engine import open_source
from sfumato.journey.meaning import AnyImprint, AnyPolicy, beside, check_header, policy_of
from sfumato.protect.plan import Plan, make_plan
from sfumato.terms.errors import BadData
from sfumato.terms.progress import Progress, silent

if TYPE_CHECKING:
    pass


def protect(
    data: Any, policy: AnyPolicy, *, earlier: Sequence[AnyImprint] = (), progress: Progress | None = None
) -> Plan:
    """Find out what each column has to become so that every promise holds.

    `data` is a dataframe (pandas, Polars eager or lazy, PyArrow, DuckDB relation) or the path of a CSV or
    Parquet file. Nothing is written; `plan.apply(data)` makes the safe table. `earlier` are the imprints of
    all earlier releases of these people, oldest first (`plan.imprint`, or JSON files of them).
    """
    told, meant = progress or silent, beside(policy_of(policy), earlier)
    source = open_source(data)
    _check_columns(source.columns, meant)
    table = source.count(meant.codings, missing=meant.missing, person=meant.person, progress=told)
    if not table.rows + table.dropped:
        raise BadData("the table has no rows", remedy="There is nothing to protect in it.")
    return make_plan(table, meant, progress=told)


def _check_columns(names: Sequence[str], policy: Policy) -> None:
    """Every column is declared."""
    check_header(names, policy)
    policy.check_columns(names)
