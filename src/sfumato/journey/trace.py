"""Tracing a leak to the recipients of what the ledger knows."""
# ruff: noqa: PLC0415  # databases wait until something is traced

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadLedger, WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.engine import open_source
from sfumato.engine.source import Source
from sfumato.journey.arguments import AnyPolicy, policy_of
from sfumato.system.address import is_address
from sfumato.tracing.trace import Trace
from sfumato.tracing.trace import trace as trace_source

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger


def trace(
    leak: Any,
    *,
    ledger: Ledger | str,
    original: Any = None,
    policy: AnyPolicy | None = None,
    c_max: int = 3,
    chain: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Find out who can have made a leak: all minimal coalitions of up to `c_max` recipients of the ledger.

    `leak` is a table (a dataframe, the path of a CSV, Parquet or JSON file), a record (a mapping of column
    names to cells) or a list of records. It may be a part of what was handed out, in any order, with columns
    gone or renamed (`columns` says which is which, where it cannot be seen: their names to ours), generalized
    further, mixed from several versions, with rows of others. With `original` and its `policy` it is also
    said which rows exist. `chain` leaves all other chains aside. Nothing is written.
    """
    told = progress or silent
    if (original is None) != (policy is None):
        raise WrongCall("the original and its policy go together", remedy="Give both, or neither.")
    known = None if policy is None else _counted(original, policy, told)
    source = _open(leak)
    from sfumato.releases.ledger.ledger import Ledger

    opened = Ledger(ledger, readonly=True) if isinstance(ledger, str) else ledger

    def memory(release: str) -> Imprint | None:
        entry = opened.entry(release)
        if entry is None or not entry.memory_is_whole:
            raise BadLedger("an entry is missing or was changed", remedy="Run `sfumato ledger verify`.")
        return Imprint.from_json(entry.memory) if entry.memory else None

    return trace_source(
        source,
        opened.history(memory=False),
        memory=memory,
        original=known,
        c_max=c_max,
        chain=chain,
        columns=columns,
        progress=told,
    )


def _counted(original: Any, policy: AnyPolicy, progress: Progress) -> Microdata:
    meant = policy_of(policy)
    source = open_source(original)
    meant.check_columns(source.columns)
    return source.count(meant.codings, missing=meant.missing, person=meant.person, progress=progress)


def _open(leak: Any) -> Source:
    """A leak as a source; of a text file that is not in UTF-8 the usual Western encoding is tried."""
    from sfumato.engine.frames.records import JSON_ENDINGS, open_json, open_records

    if isinstance(leak, Mapping):
        return open_records([leak])
    if isinstance(leak, Sequence) and not isinstance(leak, str) and all(isinstance(r, Mapping) for r in leak):
        return open_records(leak)
    if isinstance(leak, str | PathLike) and not is_address(leak):
        from sfumato.engine.csv.reader import CsvOptions
        from sfumato.engine.csv.utf8 import is_unicode
        from sfumato.engine.files.readers import CSV_ENDINGS

        path = Path(leak)
        if path.name.lower().endswith(JSON_ENDINGS):
            return open_json(path)
        if path.name.lower().endswith(CSV_ENDINGS) and path.is_file() and not is_unicode(path):
            return open_source(path, csv=CsvOptions(encoding="cp1252"))
    return open_source(leak)
