"""The verb `trace`: from a leak to the recipients who are charged with it."""

# ruff: noqa: PLC0415  # readers of other formats are loaded where a leak needs them

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path

from sfumato.recipients.charging import ERROR
from sfumato.recipients.trace import Trace
from sfumato.recipients.trace_patterns import trace_patterns
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.disk import is_address
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.release_summary import Imprint
from sfumato.table.source import AnyTable, Source, open_source

AnyLeak = AnyTable | Mapping[str, object] | Sequence[Mapping[str, object]]
"""A table (also as a JSON file), a record, or a list of records."""


def trace(
    leak: AnyLeak,
    *,
    ledger: Ledger | str,
    key: str | Path | None = None,
    chain: str | None = None,
    columns: Mapping[str, str] | None = None,
    error: Fraction | float | str = ERROR,
    progress: Progress | None = None,
) -> Trace:
    """Find out whose copy leaked: an innocent recipient is charged in at most a stated share of traces.

    A leak may be a part of what was handed out, in any order, with columns gone or renamed, generalized
    further, mixed from several versions, with rows of others.

    Args:
        leak: a table (a dataframe, the path of a CSV, Parquet or JSON file), a record (a mapping of column
            names to cells) or a list of records.
        ledger: the ledger, or its URL.
        key: the file of the key that opens what the ledger keeps, where it is not beside the ledger.
        chain: the only chain to look at; all of them by default.
        columns: the names of the leak's columns to ours, where these cannot be seen from the cells.
        error: the share of traces in which an innocent may be charged.
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy
    >>> with TemporaryDirectory() as home:
    ...     ledger = f"sqlite:///{home}/ledger.db"
    ...     receipt = sf.release(people, policy, ledger=ledger, into=f"{home}/first", to="north")
    ...     found = sf.trace([{"age": "[20, 25)", "disease": "cold"}], ledger=ledger)
    >>> found.ours, found.charged
    (True, ())
    """
    show, share = progress or silent, _share(error)
    source = _open_leak(leak)
    opened = Ledger(ledger, key=key, readonly=True) if isinstance(ledger, str) else ledger

    def imprint_of(release: str) -> Imprint | None:
        memory = opened.memory(release)
        return Imprint.from_json(memory) if memory else None

    records = opened.history(memory=False)
    return trace_patterns(
        source, records, memory=imprint_of, error=share, chain=chain, columns=columns, progress=show
    )


def _share(error: Fraction | float | str) -> Fraction:
    try:
        share = Fraction(error)
    except (ValueError, ZeroDivisionError, OverflowError):
        share = Fraction(0)
    if not 0 < share < 1:
        raise UsageError("the error is a share of traces, above 0 and below 1", remedy="1/1000 is usual.")
    return share


def _open_leak(leak: AnyLeak) -> Source:
    """A leak as a source."""
    records = [leak] if isinstance(leak, Mapping) else leak
    if isinstance(records, Sequence) and not isinstance(records, str):
        from sfumato.table.frames import open_records

        if all(isinstance(record, Mapping) for record in records):
            return open_records(records)
    if isinstance(records, str | PathLike) and not is_address(records):
        return _open_leaked_file(records)
    return open_source(records)  # type: ignore[arg-type]  # any other sequence is refused there


def _open_leaked_file(leak: str | PathLike[str]) -> Source:
    from sfumato.table.frames import JSON_ENDINGS, open_json

    path = Path(leak)
    return open_json(path) if path.name.lower().endswith(JSON_ENDINGS) else open_source(leak)
