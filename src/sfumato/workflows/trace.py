"""The verb `trace`: from a leak to the recipients who can have made it."""
# ruff: noqa: PLC0415  # policies are loaded where an original is given, other readers where a leak needs them

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.engine import AnyTable, open_source
from sfumato.engine.source import Source
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.address import is_address
from sfumato.tracing.trace import Trace
from sfumato.tracing.trace import trace as trace_source

if TYPE_CHECKING:
    from sfumato.journey.policy_argument import AnyPolicy

AnyLeak = AnyTable | Mapping[str, object] | Sequence[Mapping[str, object]]
"""A table (also as a JSON file), a record, or a list of records."""


def trace(
    leak: AnyLeak,
    *,
    ledger: Ledger | str,
    key: str | Path | None = None,
    original: AnyTable | None = None,
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
    said which rows exist. `chain` leaves all other chains aside. `key` opens what the ledger keeps, where the
    key is not beside it. Nothing is written.
    """
    show = progress or silent
    if (original is None) != (policy is None):
        raise WrongCall("the original and its policy go together", remedy="Give both, or neither.")
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
        c_max=c_max,
        chain=chain,
        columns=columns,
        progress=show,
    )


def _count_original(original: AnyTable, policy: AnyPolicy, progress: Progress) -> Microdata:
    """The table that releases were made from, as its policy counts it."""
    from sfumato.journey.policy_argument import load_policy
    from sfumato.journey.table_argument import open_original

    rules = load_policy(policy)
    source = open_original(original, policy=rules)
    rules.check_columns(source.columns)
    return source.count(rules.codings, missing=rules.missing, person=rules.person, progress=progress)


def _open_leak(leak: AnyLeak) -> Source:
    """A leak as a source."""
    records = [leak] if isinstance(leak, Mapping) else leak
    if isinstance(records, Sequence) and not isinstance(records, str):
        from sfumato.engine.frames.records import open_records

        if all(isinstance(record, Mapping) for record in records):
            return open_records(records)
    if isinstance(records, str | PathLike) and not is_address(records):
        return _open_leaked_file(records)
    return open_source(records)  # type: ignore[arg-type]  # any other sequence is refused there


def _open_leaked_file(leak: str | PathLike[str]) -> Source:
    from sfumato.engine.frames.records import JSON_ENDINGS, open_json

    path = Path(leak)
    return open_json(path) if path.name.lower().endswith(JSON_ENDINGS) else open_source(leak)
