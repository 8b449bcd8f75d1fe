"""The earlier releases of a chain, as a ledger remembers them or as a caller hands in their imprints."""

# ruff: noqa: PLC0415  # a database is loaded where a ledger is read, the inputs where imprints are files

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.system.errors import RefusedByHistory, UsageError
from sfumato.system.json_object import JsonMapping, read_json
from sfumato.table.release_summary import Imprint

if TYPE_CHECKING:
    from sfumato.inputs import AnyImprint, Warn
    from sfumato.policy.policy import Policy
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.record import ReleaseRecord


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
            from sfumato.inputs import load_imprints

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
