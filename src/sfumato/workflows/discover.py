"""The verb `discover`: which columns single people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sfumato.discovery.discovery import Discovery, scan
from sfumato.discovery.quasi_identifiers.coded import Reading
from sfumato.discovery.quasi_identifiers.minimum import SearchMethod
from sfumato.inputs import AnyMemory, check_header, open_table
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.source import AnyTable, CanSample, Source
from sfumato.workflows.protect_file import declared_form


def discover(
    data: AnyTable,
    *,
    k: int,
    mode: str | None = None,
    fraction: Fraction | float | str | None = None,
    count: int | None = None,
    max_size: int | None = None,
    max_results: int | None = None,
    deadline: float | None = None,
    method: str = "exact",
    budget: int | None = None,
    orders: int = 50,
    seed: int = 0,
    epsilon: float = 1e-6,
    delta: float = 0.01,
    record_risk: int | None = None,
    without: Sequence[str] = (),
    sample: int | None = None,
    header: bool = False,
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> Discovery:
    """Find the columns that single people out: minimal sets, the smallest of them, and direct identifiers.

    A record is exposed if fewer than `k` share its values. Say how many exposed records it takes, by
    exactly one of `mode` ("any", "all", "distinct"), `fraction` (of all records) and `count`. The search
    ends at sets of `max_size` columns, at `max_results` sets, after `deadline` seconds, or after a `budget`
    of counted steps (the usual one depends on the size of the table alone), and says what is proved until
    then. `method` is "exact", "greedy" (one set, with a bound on how far it is from the smallest),
    "descend" (the best of `orders` random orders, by `seed`) or "sample" (keys of a sample of rows, by
    `epsilon`, `delta` and `seed`, then measured on all rows). `record_risk` asks also which records stand
    out by so many columns or fewer; columns in `without` are not searched. `memory` is how much may be
    used, such as "4GB". Of a Spark table that is too long for that, a `sample` of about so many rows is
    looked at: who hides in it hides in the table too, but who stands out in it need not. The first line of
    a CSV file that may be a row is refused, unless `header` says that it names the columns.
    """
    source = open_table(data, memory)
    check_header(source, header=header)
    form = declared_form(data, source)
    discovery = scan(
        source if sample is None else _sampled(source, sample),
        Reading.of(k=k, mode=mode, fraction=fraction, count=count),
        method=SearchMethod(
            name=method,
            max_size=max_size,
            max_results=max_results,
            deadline=deadline,
            budget=budget,
            orders=orders,
            seed=seed,
            epsilon=epsilon,
            delta=delta,
        ),
        risk_size=record_risk,
        without=without,
        progress=progress or silent,
    )
    return replace(discovery, source=form)


def _sampled(source: Source, rows: int) -> Source:
    if not isinstance(source, CanSample):
        raise UsageError("samples are for Spark tables", remedy="Leave the sample out: all rows are read.")
    return source.sampled(rows)
