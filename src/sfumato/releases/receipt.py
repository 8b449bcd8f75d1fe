"""Receipts: a release, its entry in the ledger, and where its files are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from sfumato.releases.ledger.erasure import ErasedEntries
from sfumato.releases.ledger.record import REMARKS, ReleaseRecord, notes_of_groups
from sfumato.releases.ledger.records import Entry
from sfumato.system.address import Address
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.system.presentation.cards import (
    Card,
    Printable,
    format_number,
    json_ready,
    not_protected_lines,
    pluralize,
)
from sfumato.table.microdata import BARE

FIGURES_IN_ORDER = ("rows", "suppressed", "classes", "k", "FA", "BA", "loss")
"""The figures that are shown first, in this order."""

FIGURE_WORDS = {
    "FA": "fewest rows that may be somebody's who is in an earlier release too (FA)",
    "BA": "fewest rows that may be somebody's who is not in the first release (BA)",
}
"""What figures mean that compare a release with others."""
BESIDE = tuple(FIGURE_WORDS)
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

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy
    >>> receipt = sf.release(people, policy, ledger="sqlite:///never.db", dry_run=True)
    >>> receipt.published, receipt.record.figures["rows"]
    (False, 4)
    """

    record: ReleaseRecord
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
        lines = [*not_protected_lines(record.not_protected), ()]
        lines += [_verdict_line(verdict) for verdict in record.verdicts]
        notes = [figures_line(record.figures), *beside_lines(record.figures)]
        notes += chain_lines(record.figures)
        if self.identifying_rows is not None:
            notes.append(f"a leak of rows drawn at random: {self.identifying_rows['sentence']}")
        if self.folder is not None:
            notes.append(f"in {self.named or self.folder.name}, entry {record.number} of the ledger")
        return Card(title, lines, [*_remarks(record), *notes])


def with_identifying_rows(receipt: Receipt, by_recipient: Mapping[str, JsonMapping]) -> Receipt:
    """Returns the receipt with how many leaked rows identify its recipient, if that is known."""
    rows = by_recipient.get(receipt.record.recipient or "")
    return receipt if rows is None else replace(receipt, identifying_rows=rows)


def remarks_on(
    weaker: JsonMapping | None, ignore_chains: Sequence[str], imported: bool = False, lacks: int = 0
) -> list[str]:
    """Returns what has to be said of a release that promises less, was not held against another chain, or
    was imported, perhaps without all rows."""
    lack = f", and it lacks {lacks:,} {'row' if lacks == 1 else 'rows'} of its table" if lacks else ""
    remarks = [f"imported, NOT judged: nothing is promised of it{lack}"] if imported else []
    if weaker:
        parts = "; ".join(str(part) for part in weaker.get("parts", ()))
        remarks.append(f"promises LESS than the first of its chain, by override of {weaker['by']}: {parts}")
    if ignore_chains:
        chains = ", ".join(ignore_chains)
        remarks.append(f"NOT held against chain {chains}, which may tell of the same people")
    return remarks


def _remarks(record: ReleaseRecord) -> list[str]:
    lacks = int(record.figures.get("suppressed") or 0) if record.imported else 0
    return remarks_on(record.weaker, record.ignore_chains, record.imported, lacks)


def figures_line(figures: JsonMapping) -> str:
    """Returns the figures of a release, in their order, without what is said of it beside others."""
    own = [name for name in _ordered(figures) if name not in (*BESIDE, *CHAIN_FIGURES)]
    return "  ".join(f"{name} {_figure(figures[name])}" for name in own)


UNMARKED = "without marks"
"""The figure of a release that nobody is named for, where the policy speaks of recipients."""
ROWS_ONLY = "rows only"
"""The figure of a release of rows of which nothing says whose they are."""
CHAIN_FIGURES = (
    ROWS_ONLY,
    "loss of the base",
    "marked groups",
    "marked rows",
    UNMARKED,
    "newcomers",
    "grouping",
    "waiting",
    "left",
    "groups withheld",
    "bare rows",
    "rows not shown",
    "rows changed",
    "rows too late",
    "rows of erased people",
    "same as leavers",
)
"""Figures of a chain of groups, for its owner alone, in the order in which they are told."""


def chain_lines(figures: JsonMapping) -> list[str]:
    """Returns, in words, who came and who left, and what is shown of further rows, in a chain of groups.

    >>> chain_lines({"newcomers": 20, "grouping": "blind", "waiting": 1})
    ['20 people are new, in groups that no sensitive value had a say in', '1 person waits for more newcomers']
    """
    if "newcomers" not in figures:
        return []
    counts = {name: int(figures.get(name, 0)) for name in CHAIN_FIGURES if name != "grouping"}
    marks = (
        [
            f"{counts['marked rows']:,} rows, in {pluralize(counts['marked groups'], 'group')}, carry a mark;"
            f" without marks the loss would be {_figure(figures['loss of the base'])}"
        ]
        if "marked groups" in figures
        else []
    )
    if counts[UNMARKED]:
        marks.append("no recipient is named: whoever has this table has one without marks")
    how = {
        "blind": ", in groups that no sensitive value had a say in",
        "informed": ", in groups for which sensitive values were looked at",
    }.get(str(figures.get("grouping")), "")
    new, left, bare = counts["newcomers"], counts["left"], counts["bare rows"]
    who = ("row is", "rows are") if counts[ROWS_ONLY] else ("person is", "people are")
    lines = [f"{pluralize(new, *who)} new{how}" if new else "nobody is new"]
    lines += marks
    if waiting := counts["waiting"]:
        who = ("row waits", "rows wait") if counts[ROWS_ONLY] else ("person waits", "people wait")
        lines.append(f"{pluralize(waiting, *who)} for more newcomers")
    if withheld := counts["groups withheld"]:
        lines.append(f"{pluralize(withheld, 'group is', 'groups are')} shown no more, with everybody in them")
    if left and "groups withheld" not in figures:
        stay = "is not in this table and stays" if left == 1 else "are not in this table and stay"
        lines.append(
            f"{pluralize(left, 'person', 'people')} of earlier releases {stay} in it:"
            " `sfumato erase` or `leavers: withheld` takes their groups out"
        )
    if same := counts["same as leavers"]:
        lines.append(
            f"{pluralize(same, 'newcomer has', 'newcomers have')} the quasi-identifiers of somebody who left:"
            " look whether people got new ids, since they would be in the table twice"
        )
    if bare:
        lines.append(
            f"{pluralize(bare, 'further row', 'further rows')} of people who are in it already"
            f" {'is' if bare == 1 else 'are'} bare ({BARE}): without any column that is published unchanged"
        )
    if missing := counts["rows not shown"]:
        lines.append(
            f"{pluralize(missing, 'further row is', 'further rows are')} not shown: no group covers"
            f" {'it' if missing == 1 else 'them'}"
        )
    if bare + missing:
        lines.append(
            f"values of {pluralize(bare + missing, 'further row')} are not shown, and not missing at random"
        )
    if changed := counts["rows changed"]:
        lines.append(f"{pluralize(changed, 'row', 'rows')} changed, and stay as they were published")
    if out := counts["rows of erased people"]:
        lines.append(
            f"{pluralize(out, 'row is', 'rows are')} of people who were erased, and"
            f" {'stays' if out == 1 else 'stay'} out"
        )
    if late := counts["rows too late"]:
        lines.append(
            f"{pluralize(late, 'row came', 'rows came')} too late to batches that were published, and"
            f" {'is' if late == 1 else 'are'} not shown"
        )
    return lines


def beside_lines(figures: JsonMapping) -> list[str]:
    """Returns, in words, what everybody keeps beside the other releases of the chain."""
    return [
        f"beside the other releases: {figure_words(name)} {_figure(figures[name])}"
        for name in BESIDE
        if figures.get(name) is not None
    ]


def _ordered(figures: JsonMapping) -> list[str]:
    """Returns the names of figures in the order they are shown; unknown ones come last."""
    order = FIGURES_IN_ORDER
    return sorted(figures, key=lambda name: (order.index(name) if name in order else len(order), name))


def _verdict_line(verdict: JsonMapping) -> tuple[str, ...]:
    word = {True: "holds", False: "BROKEN", None: "not decidable"}[verdict["holds"]]
    measured, limit = _figure(verdict["measured"]), _figure(verdict["limit"])
    return verdict["promise"], word, f"{measured} measured", f"{limit} asked"


def _figure(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_figure, value))
    return (
        format_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
    )


def history_card(
    records: Sequence[ReleaseRecord],
    withdrawn: Mapping[str, JsonMapping] = MappingProxyType({}),
    erased: Mapping[int, int] = MappingProxyType({}),
) -> Card:
    """Returns one line per release: its number, when, for whom, its figures, and what was withdrawn.

    `erased` says how many people were erased from the entry of each number.
    """
    present = {name for record in records for name in BESIDE if record.figures.get(name) is not None}
    beside = [name for name in BESIDE if name in present]
    names = ["rows", "k", *beside, "loss"]
    title = f"{len(records)} releases" if len(records) != 1 else "1 release"
    head = ("chain", "release", "when", "to", *(HEADS.get(name, name) for name in names))
    lines = [
        (
            record.chain,
            str(record.sequence),
            record.at[:10],
            record.recipient or "–",
            *(_figure(value) if (value := record.figures.get(name)) is not None else "–" for name in names),
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
        f"release {record.sequence} of chain {record.chain} was WITHDRAWN on {notice['at'][:10]}, and still "
        f"counts: {notice['reason']}"
        for record in records
        if (notice := withdrawn.get(record.release)) is not None
    ]
    notes += [
        f"{pluralize(count, 'person was', 'people were')} erased from release {record.sequence} of chain"
        f" {record.chain}, but for its published counts"
        for record in records
        if (count := erased.get(record.number, 0))
    ]
    return Card(title, [head, *lines] if lines else [], notes)


# Events: a release in several versions, one for each recipient.


@dataclass(frozen=True)
class Event(Printable):
    """The receipts of all versions, in the order in which recipients were named.

    `capacity` says how many recipients the policy serves, where that was asked, as in a rehearsal.

    >>> import sfumato as sf
    >>> people, words = sf.demo.hospital(300), sf.demo.policy().with_(k=2).to_dict()
    >>> policy = {**words, "recipients": {"tolerance": "20%"}}
    >>> event = sf.release(people, policy, ledger="sqlite:///never.db", to=["north", "south"], dry_run=True)
    >>> len(event.receipts), event.published
    (2, False)
    """

    receipts: tuple[Receipt, ...]
    capacity: JsonMapping | None = field(default=None, repr=False)

    @property
    def published(self) -> bool:
        return all(receipt.published for receipt in self.receipts)

    @property
    def folder(self) -> Path | Address | None:
        """Where the versions are."""
        return self._whole(self.receipts[0].folder)

    @property
    def named(self) -> Path | Address | None:
        """The same, as the caller named it."""
        return self._whole(self.receipts[0].named)

    def _whole(self, folder: Path | Address | None) -> Path | Address | None:
        return folder.parent if folder is not None and self.receipts[0].record.place else folder

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
        notes = [*remarks_on(first.weaker, first.ignore_chains), *chain_lines(first.figures)]
        notes += () if self.capacity is None else self.capacity.get("notes", ())
        if self.folder is not None:
            notes.append(
                f"in {self.named or self.folder.name}, entries {first.number}–{last.number} of the ledger"
            )
        return Card(title, lines, notes)


def _line(receipt: Receipt) -> tuple[str, ...]:
    record = receipt.record
    figures = "  ".join(
        f"{name} {format_number(record.figures[name])}"
        for name in ("rows", "k", "loss")
        if name in record.figures
    )
    broken = [v["promise"] for v in record.verdicts if v["holds"] is not True]
    result = "every promise holds" if not broken else f"BROKEN: {', '.join(broken)}"
    identifying = receipt.identifying_rows
    return (
        record.recipient or "–",
        result,
        figures,
        "" if identifying is None else str(identifying["sentence"]),
    )


# What an erasure did, and what the owner of the table has to delete: nothing of it names anybody.

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
        """Returns the report of an erasure.

        Args:
            entry: the entry of the ledger that says so.
            erased: what was taken out of other entries.
            rows: the numbers of the rows of the table to delete, where the table was given.
            postgresql: the ledger is a PostgreSQL database, whose files keep what was deleted for a while.
        """
        counts: dict[str, int] = {}
        for entry_record in erased.records:
            counts[entry_record.chain] = counts.get(entry_record.chain, 0) + 1
        remains = [_table_sentence(rows), *_copies(erased), *([DATABASE_COPIES] if postgresql else [])]
        return cls(entry.number, erased.request.people, tuple(sorted(counts.items())), tuple(remains))

    def beside_unsettled(self, releases: int) -> Erasure:
        """Returns the same, where releases were under way: what they staged may hold people.

        Args:
            releases: how many they are.
        """
        if not releases:
            return self
        under_way = (
            f"{pluralize(releases, 'release is', 'releases are')} under way or blocked, and may hold them in"
        )
        return replace(
            self, remains=(*self.remains, f"{under_way} staged files: run `sfumato ledger recover`")
        )

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
        title = f"{pluralize(self.people, 'person is', 'people are')} erased from what the ledger keeps"
        lines = [
            (
                f"chain {chain}",
                f"{pluralize(count, 'entry', 'entries')}: marks deleted, published counts stay",
            )
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
    sentences = [
        f"released tables hold their row, recoded, in the hands of {whom or 'nobody'}: ask for deletion, and"
        " count on copies",
        "delete backups of the ledger from before: whoever restores one brings the marks back",
        _next_release(erased),
    ]
    others = sorted(erased.uncounted - {erased.request.chain})
    sentences += [
        f"chain {chain} tells by batches which rows it released: run this with its table, too"
        for chain in others
    ]
    sentences += [
        f"chain {chain} is one of groups that tells nobody apart: if they are in it, `sfumato ledger retire"
        f" {chain}` deletes its base, and ends it"
        for chain in erased.request.closed_to
    ]
    return sentences


def _next_release(erased: ErasedEntries) -> str:
    """Says what the next release makes of it."""
    groups = sum(base.groups for base in erased.request.bases)
    unknown = "nothing is kept by which they would be known again, if they came back"
    if erased.request.bases and not erased.request.forget:
        unknown = "a keyed mark keeps them out if they come back: tell them, or say --forget"
    if all(notes_of_groups(entry.memory) is not None for entry in erased.records):
        shown = f"the next release shows {pluralize(groups, 'group')} less, with everybody in them; "
        return f"{shown if groups else ''}{unknown}"
    return (
        "the next release counts them as having left, and is refused where that leaves somebody too few"
        f" candidates; {unknown}"
    )


DATABASE_COPIES = (
    "the log, replicas and backups of the database server hold what was there until they are removed"
)
"""What is left to delete of a ledger in PostgreSQL."""
