"""Receipts: a release, its entry in the ledger, and where its files are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.releases.ledger.record import REMARKS, Record
from sfumato.show.card import Card, Printable, figure, several
from sfumato.show.document import json_ready
from sfumato.system.address import Address

FIGURES_IN_ORDER = ("rows", "suppressed", "classes", "k", "FA", "BA", "position", "loss")
"""The figures that are shown first, in this order."""

FIGURE_WORDS = {
    "FA": "fewest rows that may be somebody's who is in an earlier release too (FA)",
    "BA": "fewest rows that may be somebody's who is not in the first release (BA)",
    "position": "fewest people who share a position",
}
"""What figures mean that compare a release with others."""
BESIDE = tuple(FIGURE_WORDS)
ALONE = "alone"
"""The figure of a release that no other of its chain may follow: the search that made it."""
HEADS = {"FA": "earlier people", "BA": "later people"}
"""How the columns of a history are called."""


def figure_words(name: str) -> str:
    """Returns what a figure is called for people."""
    return FIGURE_WORDS.get(name, name)


@dataclass(frozen=True)
class Receipt(Printable):
    """A release, its place in the ledger, and where its files are; a rehearsal has neither.

    `named` is the folder as the caller named it. `identifying_rows` says, of a rehearsal, how many leaked
    rows will identify the recipient.
    """

    record: Record
    folder: Path | Address | None = None
    files: tuple[str, ...] = ()
    named: Path | Address | None = None
    identifying_rows: JsonMapping | None = None

    @property
    def published(self) -> bool:
        return self.record.number > 0

    @property
    def certificate(self) -> Path | Address | None:
        return None if self.folder is None else self.folder / "certificate.json"

    def as_dict(self) -> JsonObject:
        """Returns the receipt as JSON."""
        record = self.record
        return {
            "published": self.published,
            "release": record.release or None,
            "chain": record.chain,
            "sequence": record.sequence or None,
            "entry": record.number or None,
            "head": record.hash or None,
            "recipient": record.recipient,
            "policy": record.policy,
            "folder": None if self.folder is None else str(self.folder),
            "files": list(self.files),
            "figures": json_ready(record.figures),
            **({} if self.identifying_rows is None else {"identifying_rows": dict(self.identifying_rows)}),
            "verdicts": json_ready(record.verdicts),
            **{name: value for name in REMARKS if (value := vars(record)[name])},
        }

    def card(self) -> Card:
        """Returns the receipt in a few lines."""
        record = self.record
        title = (
            f"release {record.sequence} of chain {record.chain}" if self.published else "nothing was released"
        )
        lines = [_verdict_line(verdict) for verdict in record.verdicts]
        notes = [figures_line(record.figures), *alone_lines(record.figures), *beside_lines(record.figures)]
        if self.identifying_rows is not None:
            notes.append(f"a leak of rows drawn at random: {self.identifying_rows['sentence']}")
        if self.folder is not None:
            notes.append(f"in {self.named or self.folder.name}, entry {record.number} of the ledger")
        return Card(title, lines, [*_remarks(record), *notes])


def with_identifying_rows(receipt: Receipt, found: Mapping[str, JsonMapping]) -> Receipt:
    """Returns the receipt with how many leaked rows identify its recipient, if that is known."""
    rows = found.get(receipt.record.recipient or "")
    return receipt if rows is None else replace(receipt, identifying_rows=rows)


def remarks_on(
    weaker: JsonMapping | None, despite: Sequence[str], imported: bool = False, lacks: int = 0
) -> list[str]:
    """Returns what has to be said of a release that promises less, was not held against another chain, or
    was imported, perhaps without all rows."""
    lack = f", and it lacks {lacks:,} {'row' if lacks == 1 else 'rows'} of its table" if lacks else ""
    remarks = [f"imported, NOT judged: nothing is promised of it{lack}"] if imported else []
    if weaker:
        parts = "; ".join(str(part) for part in weaker.get("parts", ()))
        remarks.append(f"promises LESS than the first of its chain, by override of {weaker['by']}: {parts}")
    if despite:
        chains = ", ".join(despite)
        remarks.append(f"NOT held against chain {chains}, which may tell of the same people")
    return remarks


def _remarks(record: Record) -> list[str]:
    lacks = int(record.figures.get("suppressed") or 0) if record.imported else 0
    return remarks_on(record.weaker, record.despite, record.imported, lacks)


def figures_line(figures: JsonMapping) -> str:
    """Returns the figures of a release, in their order, without what is said of it beside others."""
    own = [name for name in _ordered(figures) if name not in (*BESIDE, ALONE)]
    return "  ".join(f"{name} {_figure(figures[name])}" for name in own)


def alone_lines(figures: JsonMapping) -> list[str]:
    """Returns, in words, that no other release may follow in the chain, where it is so.

    >>> alone_lines({"rows": 200, "alone": "best"})
    ['search best may publish a value differently from class to class: no release may follow in this chain']
    """
    if ALONE not in figures:
        return []
    how = f"search {figures[ALONE]} may publish a value differently from class to class"
    return [f"{how}: no release may follow in this chain"]


def beside_lines(figures: JsonMapping) -> list[str]:
    """Returns, in words, what everybody keeps beside the other releases of the chain."""
    return [
        f"beside the other releases: {figure_words(name)} {_figure(figures[name])}"
        for name in BESIDE
        if figures.get(name) is not None
    ]


def _ordered(figures: JsonMapping) -> list[str]:
    """Returns the names of figures in the order they are shown; unknown ones come last."""
    known = FIGURES_IN_ORDER
    return sorted(figures, key=lambda name: (known.index(name) if name in known else len(known), name))


def _verdict_line(verdict: JsonMapping) -> tuple[str, ...]:
    word = {True: "holds", False: "BROKEN", None: "not decidable"}[verdict["holds"]]
    return (
        verdict["promise"],
        word,
        f"{_figure(verdict['measured'])} measured",
        f"{_figure(verdict['limit'])} asked",
    )


def _figure(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_figure, value))
    return figure(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def history_card(
    records: Sequence[Record],
    withdrawn: Mapping[str, JsonMapping] = MappingProxyType({}),
    erased: Mapping[int, int] = MappingProxyType({}),
) -> Card:
    """Returns one line per release: its number, when, for whom, its figures, and what was withdrawn.

    `erased` says how many people were erased from the entry of each number.
    """
    told = {name for record in records for name in BESIDE if record.figures.get(name) is not None}
    beside = [name for name in BESIDE if name in told]
    names = ["rows", "k", *beside, "loss"]
    title = f"{len(records)} releases" if len(records) != 1 else "1 release"
    head = ("chain", "release", "when", "to", *(HEADS.get(name, name) for name in names))
    lines = [
        (
            record.chain,
            str(record.sequence),
            record.at[:10],
            record.recipient or "–",
            *(
                _figure(record.figures[name]) if record.figures.get(name) is not None else "–"
                for name in names
            ),
        )
        for record in records
    ]
    notes = [f"{HEADS.get(name, name)}: {figure_words(name)}" for name in beside]
    notes += [
        f"release {record.sequence} of chain {record.chain} {remark}"
        for record in records
        for remark in _remarks(record)
    ]
    notes += [
        f"release {record.sequence} of chain {record.chain} was WITHDRAWN on {said['at'][:10]}, and still "
        f"counts: {said['reason']}"
        for record in records
        if (said := withdrawn.get(record.release)) is not None
    ]
    notes += [
        f"{several(count, 'person was', 'people were')} erased from release {record.sequence} of chain"
        f" {record.chain}, but for its published counts"
        for record in records
        if (count := erased.get(record.number, 0))
    ]
    return Card(title, [head, *lines] if lines else [], notes)
