"""The work of the page Release: rehearsals, releases and reports, and what the ledger tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import BadData, SfumatoError
from sfumato.core.json_object import read_json
from sfumato.core.progress import Progress, one_step
from sfumato.journey.release import release
from sfumato.journey.report import report
from sfumato.policy.policy import Policy
from sfumato.releases.certificate import CERTIFICATE
from sfumato.releases.event import Event
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.withdrawal import withdrawals
from sfumato.releases.override import Override
from sfumato.releases.receipt import Receipt, beside_lines, remarks_on
from sfumato.reports.report import Audience
from sfumato.show.card import figure
from sfumato.studio.question import Question
from sfumato.system.disk import LARGEST_NOTE, read_document

MOST_FOLDERS = 200
"""So many folders are looked at for releases."""
DEEPEST = 2
"""Versions for several recipients are so many folders deep."""


@dataclass(frozen=True)
class ReleaseOrder:
    """What is to be released: to whom, in which chain, to which folder, by which overrides."""

    to: tuple[str, ...]
    chain: str
    into: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class VersionView:
    """One version of a release: for whom, what was promised and measured, how it can be told apart."""

    recipient: str
    verdicts: tuple[tuple[str, bool | None, str, str], ...]
    figures: tuple[tuple[str, str], ...]
    beside: tuple[str, ...]
    remarks: tuple[str, ...]
    identifies: str


@dataclass(frozen=True)
class ReleaseView:
    """A release, or the rehearsal of one; `capacity` says how many recipients could be served."""

    published: bool
    folder: str
    versions: tuple[VersionView, ...]
    capacity: str


@dataclass(frozen=True)
class ReleasedFolder:
    """A folder of the opened one that holds a release, and the files in it."""

    path: str
    release: str
    files: tuple[str, ...]


def rehearse(question: Question, order: ReleaseOrder, *, progress: Progress) -> ReleaseView:
    """Returns what would be released, without writing anything."""
    made = release(
        question.data,
        question.policy(),
        ledger=question.ledger,
        to=order.to or None,
        chain=order.chain,
        overrides=_override_files(question, order),
        dry_run=True,
        progress=progress,
    )
    return _view(made, "")


def publish(question: Question, order: ReleaseOrder, *, progress: Progress) -> ReleaseView:
    """Releases: the table in a new folder and in the ledger, both or neither."""
    made = release(
        question.data,
        question.policy(),
        ledger=question.ledger,
        into=question.policy_path.with_name(order.into),
        to=order.to or None,
        chain=order.chain,
        overrides=_override_files(question, order),
        progress=progress,
    )
    return _view(made, order.into)


def write_report(question: Question, folder: str, audience: Audience, *, progress: Progress) -> str:
    """Writes the report on a release beside its folder; returns the name of its file."""
    root = question.policy_path.parent
    original = question.data if audience == "internal" else None
    made = report(root / folder, question.policy(), original=original, audience=audience, progress=progress)
    name = f"report-{folder.replace('/', '-')}-{audience}.html"
    with one_step(progress, "writing"):
        made.save(root / name, overwrite=True)
    return name


def history_of(ledger: str) -> tuple[tuple[Record, str], ...]:
    """Returns the releases of a ledger, oldest first, each with why it was withdrawn, if it was."""
    opened = Ledger(ledger, readonly=True)
    try:
        withdrawn = withdrawals(opened)
        return tuple(
            (record, str(withdrawn[record.release]["reason"]) if record.release in withdrawn else "")
            for record in opened.history(memory=False)
        )
    finally:
        opened.close()


def releases_in(folder: Path) -> tuple[ReleasedFolder, ...]:
    """Returns the releases that lie in a folder, by their certificates; at most so many."""
    found = []
    for certificate in _certificates(folder):
        inside = certificate.parent
        try:
            entry = read_json(read_document(certificate, most=LARGEST_NOTE))["entry"]
            name = str(entry["release"])
        except (OSError, ValueError, KeyError, TypeError, SfumatoError):
            continue  # somebody else's file of that name
        files = sorted(file.name for file in inside.iterdir() if file.is_file() and not file.is_symlink())
        found.append(ReleasedFolder(inside.relative_to(folder).as_posix(), name, tuple(files)))
    return tuple(found)


def _certificates(folder: Path) -> list[Path]:
    found, level = [], [folder]
    for _ in range(DEEPEST):
        level = [
            inside
            for above in level
            for inside in sorted(above.iterdir())
            if inside.is_dir() and not inside.is_symlink() and not inside.name.startswith(".")
        ][:MOST_FOLDERS]
        found += [inside / CERTIFICATE for inside in level if (inside / CERTIFICATE).is_file()]
    return found


def overrides_in(folder: Path, policy: Policy) -> tuple[tuple[str, Override, str], ...]:
    """Returns the signed overrides that lie in a folder, each with what keeps it from being used, if so.

    Whether a signature is genuine and its author another person than the releasing one, `release` checks.
    """
    listed = () if policy.recipients is None else policy.recipients.overriders
    found = []
    for file in sorted(folder.glob("*.json"))[:MOST_FOLDERS]:
        try:
            override = Override.read(file)
        except (BadData, SfumatoError):
            continue
        reason = ""
        if override.policy != policy.digest:
            reason = "it is for another state of the policy"
        elif override.public_key not in listed:
            reason = "the policy does not list its author under recipients.overriders"
        found.append((file.name, override, reason))
    return tuple(found)


def _override_files(question: Question, order: ReleaseOrder) -> list[Path]:
    return [question.policy_path.with_name(name) for name in order.overrides]


def _view(made: Receipt | Event, folder: str) -> ReleaseView:
    receipts: Sequence[Receipt] = made.receipts if isinstance(made, Event) else (made,)
    capacity = made.capacity if isinstance(made, Event) else None
    return ReleaseView(
        made.published,
        folder,
        tuple(_version(receipt) for receipt in receipts),
        "" if capacity is None else str(capacity["sentence"]),
    )


def _version(receipt: Receipt) -> VersionView:
    record, told = receipt.record, receipt.identifying_rows
    shown = ("rows", "suppressed", "classes", "k", "loss")
    return VersionView(
        record.recipient or "",
        tuple((v["promise"], v["holds"], str(v["measured"]), str(v["limit"])) for v in record.verdicts),
        tuple((name, figure(record.figures[name])) for name in shown if name in record.figures),
        tuple(beside_lines(record.figures)),
        tuple(remarks_on(record.weaker, record.despite, record.imported)),
        "" if told is None else str(told["sentence"]),
    )
