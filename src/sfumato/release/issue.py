"""Issuing a release: written aside, judged from its bytes, entered in the ledger, then made visible.

The commit of the ledger is the publish event. Before it everything can be thrown away; after it recovery can
only go forward. Whatever happens in between, a release is in the ledger and complete, or in neither.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.release import manifest, staging
from sfumato.release.disk import digest_of, store, to_disk, wipe
from sfumato.release.ledger.entry import Entry
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.ledger.record import Check, Record
from sfumato.release.receipt import Receipt
from sfumato.release.recovery import recover
from sfumato.release.steps import Step, nothing, uninterrupted
from sfumato.terms.document import verdict_document
from sfumato.terms.errors import BadData, SfumatoError, Unfinished
from sfumato.terms.verdict import Verdict

PRIVATE = "private"
"""Below the staging folder: what the judge needs and nobody else may see."""


@dataclass(frozen=True)
class Prepared:
    """A release before it is written: what the ledger will remember, and how to write and judge it.

    `write(path)` writes the published table; `judge(path, private)` reads it again and raises if it is
    unsafe, with `private` a folder for what must not outlive it.
    """

    policy: str
    write: Callable[[Path], object]
    judge: Callable[[Path, Path], tuple[Verdict, ...]]
    verdicts: tuple[Verdict, ...] = ()
    taxonomies: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[str, Sequence[int]] | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    memory: bytes = b""
    versions: Mapping[str, str] = field(default_factory=dict)


Prepare = Callable[[Sequence[Record]], Prepared]
"""Plans a release, given the earlier ones of its chain."""


def rehearse(
    history: Sequence[Record],
    prepare: Prepare,
    *,
    chain: str,
    recipient: str | None = None,
    checks: Sequence[Check] = (),
) -> Receipt:
    """Everything but writing: what a release would come to now."""
    prepared = prepare(history)
    record = _record(prepared, "", chain, recipient, at="")
    record = _compared(history, replace(record, verdicts=_documents(prepared.verdicts)), checks)
    return Receipt.of(record)


def issue(
    ledger: Ledger,
    prepare: Prepare,
    *,
    into: str | Path,
    name: str = "data.csv",
    chain: str,
    recipient: str | None = None,
    checks: Sequence[Check] = (),
    at: Step = nothing,
) -> Receipt:
    """Release a table to a new folder."""
    target = staging.check_folder(into)
    recover(ledger)
    staging.sweep(target.parent)
    history = ledger.history(chain)
    at("begun")
    prepared = prepare(history)
    at("planned")
    release = uuid.uuid4().hex
    claim = staging.occupy(target, release)
    folder = staging.folder_of(target, release)
    try:
        try:
            at("occupied")
            ledger.stage(release, host=staging.host(ledger), folder=folder, target=target)
            at("staged")
            record = _record(prepared, release, chain, recipient, at=ledger.clock().isoformat())
            record, listed = _stage(prepared, record, folder / name, at)
            record = _compared(history, record, checks)
            at("compared")
            _settle_on_disk(folder, record, listed)
            at("ready")
        except BaseException:
            _give_up(ledger, release, folder)
            raise
        after = history[-1].hash if history else ""
        with uninterrupted():
            entry = _commit(ledger, record, after, folder, at)
            at("committed")
            staging.finish(entry, target, at=at)
            with contextlib.suppress(SfumatoError):  # recovery will
                ledger.unstage(release)
            at("done")
    finally:
        claim.release()
    return Receipt.of(replace(Record.of(entry), files=tuple(target / file for file in _names(listed))))


def _record(prepared: Prepared, release: str, chain: str, recipient: str | None, *, at: str) -> Record:
    return Record(
        release,
        chain,
        prepared.policy,
        at=at,
        recipient=recipient,
        versions=prepared.versions,
        taxonomies=prepared.taxonomies,
        cuts=prepared.cuts,
        figures=prepared.figures,
        memory=prepared.memory,
    )


def _stage(prepared: Prepared, record: Record, file: Path, at: Step) -> tuple[Record, dict[str, Any]]:
    """Write the table, and have its bytes judged; what was judged is what the manifest names."""
    private = file.parent / PRIVATE
    private.mkdir(mode=0o700)
    prepared.write(file)
    at("written")
    listed = manifest.describe([file], release=record.release)
    verdicts = prepared.judge(file, private)
    wipe(private)
    if wrong := manifest.faults(file.parent, listed):
        raise BadData(f"a file changed while it was judged: {wrong[0]}", where=file.name)
    at("judged")
    return replace(record, verdicts=_documents(verdicts), files=(file,)), listed


def _compared(history: Sequence[Record], record: Record, checks: Sequence[Check]) -> Record:
    """The release next to all earlier ones of its chain; checks raise, or add figures."""
    figures = dict(record.figures)
    for check in checks:
        figures.update(check(history, record) or {})
    return replace(record, figures=figures)


def _settle_on_disk(folder: Path, record: Record, listed: dict[str, Any]) -> None:
    """Everything that is needed after the commit is on disk before it."""
    content = manifest.as_bytes(listed)
    store(folder / manifest.MANIFEST, content)
    staging.make_room(folder, record)
    for file in record.files:
        to_disk(file)
    to_disk(folder)
    to_disk(folder.parent)


def _commit(ledger: Ledger, record: Record, after: str, folder: Path, at: Step) -> Entry:
    """Enter the release; where that fails, find out what the ledger says before anything is thrown away."""
    whole = replace(record, manifest=digest_of(folder / manifest.MANIFEST))
    try:
        return ledger.commit(whole, after=after, before_commit=lambda: at("entered"))
    except Unfinished:
        raise
    except BaseException:
        try:
            entry = ledger.settle(record.release)
        except SfumatoError:
            raise Unfinished(
                "whether the release counts is not known yet: the ledger cannot be asked",
                remedy="Run `sfumato ledger recover` when it can.",
            ) from None
        if entry is not None:
            return entry
        _give_up(ledger, record.release, folder)
        raise


def _give_up(ledger: Ledger, release: str, folder: Path) -> None:
    """Nothing was committed: leave nothing behind. What cannot be removed now, recovery removes."""
    with contextlib.suppress(OSError):
        wipe(folder)
    with contextlib.suppress(SfumatoError):
        ledger.unstage(release)


def _documents(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    return [verdict_document(verdict) for verdict in verdicts]


def _names(listed: dict[str, Any]) -> list[str]:
    return [str(file["name"]) for file in listed["files"]]
