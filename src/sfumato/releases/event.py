"""Events: a release in several versions, one for each recipient."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.releases.receipt import Receipt, remarks_on
from sfumato.show.card import Card, Printable, figure
from sfumato.system.address import Address


@dataclass(frozen=True)
class Event(Printable):
    """The receipts of all versions, in the order in which recipients were named.

    `capacity` says how many recipients the policy serves, where that was asked, as in a rehearsal.
    """

    receipts: tuple[Receipt, ...]
    capacity: JsonMapping | None = field(default=None, repr=False)

    @property
    def published(self) -> bool:
        return all(receipt.published for receipt in self.receipts)

    @property
    def folder(self) -> Path | Address | None:
        """Where the versions are."""
        one = self.receipts[0].folder
        return one.parent if one is not None and self.receipts[0].record.place else one

    @property
    def named(self) -> Path | Address | None:
        """The same, as the caller named it."""
        one = self.receipts[0].named
        return one.parent if one is not None and self.receipts[0].record.place else one

    def __getitem__(self, recipient: str) -> Receipt:
        return next(r for r in self.receipts if r.record.recipient == recipient)

    def as_dict(self) -> JsonObject:
        """Returns the event as JSON."""
        first = self.receipts[0].record
        capacity = {} if self.capacity is None else {"capacity": dict(self.capacity)}
        return {
            "published": self.published,
            "event": first.event or None,
            "chain": first.chain,
            "policy": first.policy,
            "folder": None if self.folder is None else str(self.folder),
            **capacity,
            "versions": [receipt.as_dict() for receipt in self.receipts],
        }

    def card(self) -> Card:
        """Returns the event in a few lines."""
        first, last = self.receipts[0].record, self.receipts[-1].record
        title = f"releases {first.sequence}–{last.sequence} of chain {first.chain}"
        if not self.published:
            title = "nothing was released" if self.capacity is None else str(self.capacity["sentence"])
        lines = [_line(receipt) for receipt in self.receipts]
        notes = remarks_on(first.weaker, first.despite)
        if self.folder is not None:
            notes.append(
                f"in {self.named or self.folder.name}, entries {first.number}–{last.number} of the ledger"
            )
        return Card(title, lines, notes)


def _line(receipt: Receipt) -> tuple[str, ...]:
    record = receipt.record
    figures = "  ".join(
        f"{name} {figure(record.figures[name])}" for name in ("rows", "k", "loss") if name in record.figures
    )
    broken = [v["promise"] for v in record.verdicts if v["holds"] is not True]
    held = "every promise holds" if not broken else f"BROKEN: {', '.join(broken)}"
    why = "" if record.override is None else f"by override of {record.override['by']}"
    told = receipt.identifying_rows
    return (record.recipient or "–", held, figures, why, "" if told is None else str(told["sentence"]))
