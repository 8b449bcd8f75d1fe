"""What an erasure did, and what the owner of the table has to delete: nothing of it names anybody."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.core.json_object import JsonObject
from sfumato.releases.ledger.entry import Entry
from sfumato.releases.ledger.erasure import ErasedEntries
from sfumato.show.card import Card, Printable, several

MOST_ROWS_NAMED = 20
"""So many rows of a table are named by their numbers."""


@dataclass(frozen=True)
class Erasure(Printable):
    """People who were erased from what a ledger keeps: where the ledger says so, and what is left to do."""

    number: int
    people: int
    releases: tuple[tuple[str, int], ...]
    remains: tuple[str, ...]

    @classmethod
    def of(
        cls, entry: Entry, erased: ErasedEntries, *, rows: Sequence[int] | None, postgresql: bool
    ) -> Erasure:
        """Returns the report of an erasure; `rows` are those of the table to delete, where it was given."""
        counts: dict[str, int] = {}
        for one in erased.records:
            counts[one.chain] = counts.get(one.chain, 0) + 1
        remains = [_table_sentence(rows), *_copies(erased), *_database(postgresql)]
        return cls(entry.number, erased.request.people, tuple(sorted(counts.items())), tuple(remains))

    def beside_unsettled(self, releases: int) -> Erasure:
        """Returns the same, where so many releases were under way: what they staged may hold people."""
        if not releases:
            return self
        told = f"{several(releases, 'release is', 'releases are')} under way or blocked, and may hold them in"
        return replace(self, remains=(*self.remains, f"{told} staged files: run `sfumato ledger recover`"))

    def as_dict(self) -> JsonObject:
        """Returns the report as JSON."""
        return {
            "entry": self.number,
            "people": self.people,
            "releases": [{"chain": chain, "entries": count} for chain, count in self.releases],
            "remains": list(self.remains),
        }

    def card(self) -> Card:
        """Returns what was erased, and what is left to delete."""
        title = f"{several(self.people, 'person is', 'people are')} erased from what the ledger keeps"
        lines = [
            (f"chain {chain}", f"{several(count, 'entry', 'entries')}: marks deleted, published counts stay")
            for chain, count in self.releases
        ]
        left = [f"left to you: {sentence}" for sentence in self.remains]
        return Card(title, lines, (*left, f"entry {self.number} of the ledger says so, and names nobody"))


def _table_sentence(rows: Sequence[int] | None) -> str:
    if rows is None:
        return "delete their rows from the table, and from copies of it"
    named = ", ".join(map(str, rows[:MOST_ROWS_NAMED])) + (", …" if len(rows) > MOST_ROWS_NAMED else "")
    which = f"{'row' if len(rows) == 1 else 'rows'} {named} of the table (counted without its header)"
    return f"delete {which}, and of copies of it" if rows else "nothing in the table: it has no row of theirs"


def _copies(erased: ErasedEntries) -> list[str]:
    """Says what others hold, what was left uncounted, and what a next release makes of it."""
    holders = {json.loads(entry.body)["recipient"] for entry in erased.records}
    named = ", ".join(sorted(name for name in holders if name is not None))
    whom = "anybody" if None in holders else named
    told = [
        f"released tables hold their row, recoded, in the hands of {whom or 'nobody'}: ask for deletion, and"
        " count on copies",
        "delete backups of the ledger from before: whoever restores one brings the marks back",
        "the next release counts them as having left, and is refused where that leaves somebody too few"
        " candidates; nothing is kept by which they would be known again, if they came back",
    ]
    others = sorted(erased.uncounted - {erased.request.chain})
    told += [
        f"chain {chain} tells by batches which rows it released: run this with its table, too"
        for chain in others
    ]
    return told


def _database(postgresql: bool) -> list[str]:
    if not postgresql:
        return []
    return ["the log, replicas and backups of the database server hold what was there until they are removed"]
