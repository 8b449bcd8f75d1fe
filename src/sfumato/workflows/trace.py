"""The verb `trace`: from a leak to the recipients who can have made it."""

# ruff: noqa: PLC0415  # policies are loaded where an original is given, other readers where a leak needs them

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.inputs import AnyImprint, load_imprints
from sfumato.recipients.trace import Trace
from sfumato.recipients.trace import trace as trace_source
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.disk import is_address
from sfumato.system.errors import RefusedByHistory, UsageError
from sfumato.system.json_object import JsonMapping, read_json
from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import Imprint
from sfumato.table.source import AnyTable, Source, open_source

if TYPE_CHECKING:
    from sfumato.inputs import AnyPolicy, Warn
    from sfumato.policy.policy import Policy
    from sfumato.releases.ledger.record import ReleaseRecord


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


# The earlier releases of a chain, as a ledger remembers them.


def read_history(ledger: Ledger | str, chain: str) -> tuple[ReleaseRecord, ...]:
    """Returns the releases of a chain, oldest first; the ledger has to be there and is only read."""
    from sfumato.releases.ledger.ledger import Ledger

    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger, readonly=True)
    return opened.history(chain)


class RememberedReleases:
    """What a ledger remembers of releases, read once: as documents, for the second judge, and as imprints."""

    def __init__(self) -> None:
        self._documents: dict[str, tuple[ReleaseRecord, JsonMapping]] = {}
        self._imprints: dict[str, tuple[ReleaseRecord, Imprint]] = {}

    def documents(self, history: Sequence[ReleaseRecord]) -> list[JsonMapping]:
        """Returns what `imprint_documents` does; raises as it does."""
        _refuse_forgotten(history)
        for record in history:
            if self._documents.get(record.release, (None,))[0] is not record:
                self._documents[record.release] = record, imprint_document(record)
        return [self._documents[record.release][1] for record in history]

    def imprints(self, history: Sequence[ReleaseRecord]) -> tuple[Imprint, ...]:
        """Returns what `imprints_of` does; raises as it does."""
        for record, document in zip(history, self.documents(history), strict=True):
            if self._imprints.get(record.release, (None,))[0] is not record:
                self._imprints[record.release] = record, Imprint.from_dict(document)
        return tuple(self._imprints[record.release][1] for record in history)


def imprints_of(history: Sequence[ReleaseRecord]) -> tuple[Imprint, ...]:
    """Returns what is remembered of each release; raises `RefusedByHistory` if nothing is of one."""
    return tuple(map(Imprint.from_dict, imprint_documents(history)))


def imprint_documents(history: Sequence[ReleaseRecord]) -> list[JsonMapping]:
    """Returns the same as the documents that the ledger keeps: plain data, for the second judge."""
    _refuse_forgotten(history)
    return [imprint_document(record) for record in history]


def _refuse_forgotten(history: Sequence[ReleaseRecord]) -> None:
    for record in history:
        if record.is_of_groups:
            raise RefusedByHistory(
                f"chain {record.chain} is one of groups, and its releases leave no imprint",
                remedy="Audit its files together, oldest first: `sfumato audit 1.csv 2.csv -p policy.yaml`.",
            )
        if not record.memory:
            raise RefusedByHistory(
                f"release {record.sequence} of chain {record.chain} left no imprint, so nothing can be"
                " published beside it",
                remedy="It was made without the promise continuous: start a new chain, about other people.",
            )


def imprint_document(record: ReleaseRecord) -> JsonMapping:
    """Returns the imprint of one release as plain data; an empty document where it is damaged."""
    try:
        document = read_json(record.memory)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


@dataclass(frozen=True)
class EarlierReleases:
    """What was published before: `imprints`, oldest first, and the `records` of the ledger that has them."""

    chain: str
    imprints: tuple[Imprint, ...]
    records: tuple[ReleaseRecord, ...] = ()

    @classmethod
    def of(cls, earlier: Sequence[AnyImprint], against: Ledger | str | None, chain: str) -> EarlierReleases:
        """Returns the releases whose imprints are given, or those of a chain in a ledger; not both."""
        if against is None:
            return cls(chain, load_imprints(earlier))
        if earlier:
            raise UsageError(
                "earlier releases are given twice", remedy="Give their imprints, or name the ledger."
            )
        records = read_history(against, chain)
        return cls(chain, imprints_of(records), records)

    def warn_of_baseline(self, policy: Policy, warn: Warn | None) -> None:
        """Reports where `release` would refuse the policy, since it promises less than the chain's first."""
        if warn is None or not self.records:
            return
        from sfumato.workflows.baseline_policy import baseline_warning

        if (warning := baseline_warning(policy, self.records, self.chain)) is not None:
            warn(warning)
