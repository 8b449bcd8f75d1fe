"""Lookalikes: names of chains and recipients that are one to people, and would be two to the ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, select

from sfumato.core.errors import RefusedByHistory
from sfumato.releases.ledger.entries import NO_CHAIN
from sfumato.releases.ledger.entry import RELEASE
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.tables import ENTRIES
from sfumato.releases.names import look_of, same_name

NAMED = re.compile(r'"recipient":("(?:[^"\\]|\\.)*")')
"""How an entry names who received it, in the canonical form that is sealed."""


def check_names(connection: Connection, records: Sequence[Record]) -> None:
    """Raises `RefusedByHistory` where a name is new and differs from a known one in case or width alone.

    Whoever was to hold `registry` to a floor, or to what it has already, would not hold `Registry` to it.
    """
    chains = select(ENTRIES.c.chain).where(ENTRIES.c.chain != NO_CHAIN).distinct()
    _check("chain", {same_name(record.chain) for record in records}, connection.execute(chains).scalars())
    recipients = {same_name(record.recipient) for record in records if record.recipient is not None}
    if recipients:
        _check("recipient", recipients, _known_recipients(connection))


def _known_recipients(connection: Connection) -> Iterator[str]:
    bodies = connection.execute(select(ENTRIES.c.body).where(ENTRIES.c.kind == RELEASE)).scalars()
    written = {text for body in bodies for text in NAMED.findall(body)}
    return (json.loads(text) for text in written)


def _check(what: str, given: set[str], written: Iterator[str]) -> None:
    known = {same_name(str(name)) for name in written}
    looks = {look_of(name): name for name in known}
    for name in sorted(given - known):
        if (other := looks.get(look_of(name))) is not None:
            raise RefusedByHistory(
                f"the ledger has a {what} {other}, and {name} differs from it in case or width alone: people"
                " take both for one, and nothing would be held against the other",
                remedy=f"Write {other}, or choose a name that differs in more than that.",
            )
