"""The verb `trace`: from a leak to the recipients who can have made it."""

# ruff: noqa: PLC0415  # policies are loaded where an original is given, other readers where a leak needs them

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.recipients.trace import Trace
from sfumato.recipients.trace import trace as trace_source
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.disk import is_address
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import Imprint
from sfumato.table.source import AnyTable, Source, open_source

if TYPE_CHECKING:
    from sfumato.inputs import AnyPolicy


AnyLeak = AnyTable | Mapping[str, object] | Sequence[Mapping[str, object]]
"""A table (also as a JSON file), a record, or a list of records."""


def trace(
    leak: AnyLeak,
    *,
    ledger: Ledger | str,
    key: str | Path | None = None,
    original: AnyTable | None = None,
    policy: AnyPolicy | None = None,
    max_coalition_size: int = 3,
    chain: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Find out who can have made a leak: all minimal coalitions of recipients of the ledger.

    A leak may be a part of what was handed out, in any order, with columns gone or renamed, generalized
    further, mixed from several versions, with rows of others. Nothing is written.

    Args:
        leak: a table (a dataframe, the path of a CSV, Parquet or JSON file), a record (a mapping of column
            names to cells) or a list of records.
        ledger: the ledger, or its URL.
        key: the file of the key that opens what the ledger keeps, where it is not beside the ledger.
        original: the original table, which tells which of the rows exist; it needs its policy.
        policy: the policy of the original.
        max_coalition_size: how many recipients may have worked together.
        chain: the only chain to look at; all of them by default.
        columns: the names of the leak's columns to ours, where these cannot be seen from the cells.
        progress: receives the phase, how much is done, and out of how much.

    >>> import polars as pl, sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy
    >>> with TemporaryDirectory() as home:
    ...     ledger = f"sqlite:///{home}/ledger.db"
    ...     receipt = sf.release(people, policy, ledger=ledger, into=f"{home}/first", to="north")
    ...     sf.trace([{"age": "[20, 25)", "disease": "cold"}], ledger=ledger).certain
    ('north',)
    """
    show = progress or silent
    if (original is None) != (policy is None):
        raise UsageError("the original and its policy go together", remedy="Give both, or neither.")
    counted = None
    if original is not None and policy is not None:
        counted = _count_original(original, policy, show)
    source = _open_leak(leak)
    opened = Ledger(ledger, key=key, readonly=True) if isinstance(ledger, str) else ledger

    def imprint_of(release: str) -> Imprint | None:
        memory = opened.memory(release)
        return Imprint.from_json(memory) if memory else None

    return trace_source(
        source,
        opened.history(memory=False),
        memory=imprint_of,
        original=counted,
        max_coalition_size=max_coalition_size,
        chain=chain,
        columns=columns,
        progress=show,
    )


def _count_original(original: AnyTable, policy: AnyPolicy, progress: Progress) -> Microdata:
    """The table that releases were made from, as its policy counts it."""
    from sfumato.inputs import load_policy, open_original

    rules = load_policy(policy)
    source = open_original(original, policy=rules)
    rules.check_columns(source.columns)
    return source.count(rules.codings, missing=rules.missing, person=rules.person, progress=progress)


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
