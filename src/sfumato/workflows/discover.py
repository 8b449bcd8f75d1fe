"""The verb `discover`: which columns single people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sfumato.discovery.discovery import Discovery, scan
from sfumato.discovery.quasi_identifiers.coded import Reading
from sfumato.discovery.quasi_identifiers.minimum import SearchMethod
from sfumato.inputs import AnyMemory, check_header, declared_form, open_table
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.source import AnyTable, CanSample, Source


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

    A record is exposed if fewer than `k` share its values. Exactly one of `mode`, `fraction` and `count` says
    how many exposed records it takes. A search that ends early says what is proved until then.

    Args:
        data: the table, as for `protect`.
        k: the fewest records that must share their values.
        mode: "any" for one exposed record, "all" for every record, or "distinct" for columns that tell all
            distinct rows apart, whatever `k` is.
        fraction: the share of all records that must be exposed.
        count: the number of records that must be exposed.
        max_size: the most columns in a set.
        max_results: the most sets.
        deadline: the seconds after which the search ends.
        method: "exact", "greedy" (one set, with a bound on how far it is from the smallest), "descend" (the
            best of random orders) or "sample" (keys of a sample of rows, then measured on all rows).
        budget: the counted steps after which the search ends; by default they depend on the size of the table
            alone.
        orders: the number of random orders of "descend"; 0 leaves columns out as they stand, the last first,
            and tells each step.
        seed: chooses the orders or the sample.
        epsilon: the share of pairs of records that a set of "sample" may leave alike.
        delta: the chance that it leaves more of them alike.
        record_risk: also ask which records stand out by so many columns or fewer.
        without: columns that are not searched.
        sample: of a Spark table, about so many rows are looked at. Who hides in a sample hides in the table
            too, but who stands out in it need not.
        header: the first line of a CSV file names the columns. Without this, a first line that may be a row
            is refused.
        memory: how much memory may be used, such as "4GB".
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"zip": ["1", "1", "2", "2"], "sex": ["f", "m", "f", "m"], "alive": [True] * 4})
    >>> sf.discover(people, k=2, mode="any").minimal
    [('zip', 'sex')]
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
