"""The earlier releases of a chain, as a ledger remembers them."""
# ruff: noqa: PLC0415  # a database is loaded when a ledger is named

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.errors import RefusedByHistory, WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.json_object import JsonMapping, read_json
from sfumato.journey.policy_argument import AnyImprint, load_imprints

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.record import Record


def read_history(ledger: Ledger | str, chain: str) -> tuple[Record, ...]:
    """Returns the releases of a chain, oldest first; the ledger has to be there and is only read."""
    from sfumato.releases.ledger.ledger import Ledger

    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger, readonly=True)
    return opened.history(chain)


def imprints_of(history: Sequence[Record]) -> tuple[Imprint, ...]:
    """Returns what is remembered of each release; raises `RefusedByHistory` if nothing is of one."""
    return tuple(map(Imprint.from_dict, imprint_documents(history)))


def imprint_documents(history: Sequence[Record]) -> list[JsonMapping]:
    """Returns the same as the documents that the ledger keeps: plain data, for the second judge."""
    for record in history:
        if not record.memory:
            raise RefusedByHistory(
                f"release {record.sequence} of chain {record.chain} left no imprint, so nothing can be"
                " published beside it",
                remedy="It was made without the promise continuous: start a new chain, about other people.",
            )
    return [imprint_document(record) for record in history]


def imprint_document(record: Record) -> JsonMapping:
    """Returns the imprint of one release as plain data; an empty document where it is damaged."""
    try:
        found = read_json(record.memory)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def earlier_imprints(
    earlier: Sequence[AnyImprint], against: Ledger | str | None, chain: str
) -> tuple[Imprint, ...]:
    """Returns the imprints that are given, or those of a chain in the ledger `against`; not both."""
    if against is None:
        return load_imprints(earlier)
    if earlier:
        raise WrongCall("earlier releases are given twice", remedy="Give their imprints, or name the ledger.")
    return imprints_of(read_history(against, chain))
