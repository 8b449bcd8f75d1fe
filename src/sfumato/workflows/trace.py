"""The verb `trace`: from a leak to the recipients who are charged with it."""

# ruff: noqa: PLC0415  # readers of other formats are loaded where a leak needs them

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from os import PathLike
from pathlib import Path

from sfumato.recipients.charging import ERROR
from sfumato.recipients.trace import Trace
from sfumato.recipients.trace_marks import MarkedRecipients, trace_marks
from sfumato.recipients.trace_patterns import trace_patterns
from sfumato.releases.base_file import BaseStore
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord, notes_of_groups
from sfumato.system.address import is_address
from sfumato.system.disk import replace_file
from sfumato.system.errors import BadData, BadInput, UsageError
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
    reported: Sequence[AnyLeak] = (),
    progress: Progress | None = None,
) -> Trace:
    """Find out whose copy leaked: an innocent recipient is charged in at most a stated share of traces.

    A leak may be a part of what was handed out, in any order, with columns gone or renamed, generalized
    further, mixed from several versions, with rows of others. A file beside the ledger counts traces;
    nothing else is written.

    Args:
        leak: a table (a dataframe, the path of a CSV, Parquet or JSON file), a record (a mapping of column
            names to cells) or a list of records.
        ledger: the ledger, or its URL.
        key: the file of the key that opens what the ledger keeps, where it is not beside the ledger.
        chain: the only chain to look at; all of them by default.
        columns: the names of the leak's columns to ours, where these cannot be seen from the cells.
        error: the share of traces in which an innocent may be charged.
        reported: earlier leaks about which somebody but you was told who was charged: groups that they show
            are no evidence any more.
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
    source, earlier = _open_leak(leak), [_open_leak(other) for other in reported]
    opened = Ledger(ledger, key=key, readonly=True) if isinstance(ledger, str) else ledger

    def imprint_of(release: str) -> Imprint | None:
        memory = opened.memory(release)
        return Imprint.from_json(memory) if memory else None

    records = opened.history(memory=False)
    chains = _chains_of_groups(opened, records, chain)
    cuts = [record for record in records if record.chain not in chains]
    found, unread = None, None
    for name, memory in chains.items():
        try:
            base = BaseStore.of(opened).open(memory)
            known = MarkedRecipients.of(base, _received(records, name))
            told = trace_marks(
                source,
                base,
                known,
                reported=earlier,
                error=share,
                chain=name,
                columns=columns,
                progress=show,
            )
        except BadData as not_its_columns:
            unread = not_its_columns
            continue
        if found is None or told.rows["ours"] > found.rows["ours"]:
            found = told
    if cuts and (found is None or 2 * found.rows["ours"] < found.rows["all"]):
        found = trace_patterns(
            source, cuts, memory=imprint_of, error=share, chain=chain, columns=columns, progress=show
        )
    if found is None:
        raise unread or BadInput(
            "the ledger holds no patterns: it is empty", remedy="Release a table to recipients first."
        )
    return replace(found, traces=_counted(opened, found))


def _chains_of_groups(
    ledger: Ledger, records: Sequence[ReleaseRecord], chain: str | None
) -> dict[str, bytes]:
    """Returns the chains of groups, each with what its last release left."""
    last = {record.chain: record.release for record in records if chain in (None, record.chain)}
    memories = {name: ledger.memory(release) for name, release in last.items()}
    return {name: memory for name, memory in memories.items() if notes_of_groups(memory) is not None}


def _received(records: Sequence[ReleaseRecord], chain: str) -> dict[str, int]:
    """Returns everybody who received a release of a chain, and the number of the last one that they did."""
    received, number = {}, dict[str, int]()
    for record in records:
        if record.chain == chain:
            event = number.setdefault(record.event or record.release, len(number) + 1)
            if record.recipient is not None:
                received[record.recipient] = event
    return received


def _counted(ledger: Ledger, found: Trace) -> int | None:
    """Notes beside the ledger that a leak was traced, and returns how many traces were made; `None` if it
    cannot. The same leak that is read in another way is another trace."""
    path = ledger.database.path or ledger.key_path
    if path is None:
        return None
    file = path.with_name(f"{path.name}.traces")
    try:
        digests = file.read_text(encoding="ascii").split() if file.exists() else []
        if found.reading not in digests:
            digests.append(found.reading)
            replace_file(file, "\n".join([*digests, ""]).encode("ascii"), mode=0o600)
    except (OSError, UnicodeDecodeError):
        return None
    return len(digests)


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
