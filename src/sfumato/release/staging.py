"""Staging: a hidden folder beside the target, held by the process that fills it.

Versions for several recipients are folders in it: one rename makes all of them visible.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from sfumato.release import certificate, manifest
from sfumato.release.disk import Claim, digest_of, store, to_disk, wipe
from sfumato.release.ledger.entry import Entry
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.ledger.record import Record
from sfumato.release.steps import Step, nothing
from sfumato.terms.errors import BadLedger, LedgerConflict, Unfinished, WrongCall

ROOM = 4096
"""Bytes that a certificate may be longer than expected."""


def check_folder(into: str | Path) -> Path:
    """The folder that a release is to become; refuses early what could not be published later."""
    target = Path(into).absolute()
    if os.path.lexists(target):
        raise WrongCall("the target exists already", where=target.name, remedy="Name a new folder.")
    if not target.parent.is_dir():
        raise WrongCall("the folder of the target does not exist", remedy="Make it first.")
    return target


def host(ledger: Ledger) -> str:
    """Which machine a staged folder is on; a SQLite ledger is on the same one."""
    return "" if ledger.database.path is not None else socket.gethostname()


def folder_of(target: Path, release: str) -> Path:
    """Where a release is written before it counts."""
    return target.with_name(f".staged-{release}")


def occupy(target: Path, release: str) -> Claim:
    """Make the folder and hold it."""
    folder = folder_of(target, release)
    folder.mkdir(mode=0o700)
    claim = Claim.take(folder)
    if claim is None:
        raise LedgerConflict("the staging folder was taken away", remedy="Try again.")
    return claim


def sweep(parent: Path) -> None:
    """Remove empty staging folders that a crash left behind before anything was noted."""
    for folder in parent.glob(".staged-*"):
        claim = Claim.take(folder)
        if claim is None:
            continue
        try:
            folder.rmdir()
        except OSError:
            pass  # not empty: a ledger knows what it is
        finally:
            claim.release()


def make_room(folder: Path, record: Record) -> None:
    """Take the space of the certificate now: after the commit a full disk must not be in the way."""
    likely = record.entry(number=1, sequence=1, previous="0" * 64, ledger="0" * 32)
    store(
        folder / certificate.CERTIFICATE,
        b" " * (len(certificate.as_bytes(certificate.certificate(likely))) + ROOM),
    )


def finish(entries: Sequence[Entry], target: Path, *, at: Step = nothing) -> None:
    """Make visible what the ledger holds: certificates, then one rename. Can be done again."""
    folder = folder_of(target, entries[0].release)
    try:
        places = [Record.of(entry).place for entry in entries]
        if any(places):
            _keep_only(folder, places)
        for entry, place in zip(entries, places, strict=True):
            _certify(entry, folder / place)
        folder.chmod(0o777 & ~_umask())
        to_disk(folder)
        at("certified")
        folder.rename(target)
        to_disk(target.parent)
        at("visible")
    except OSError as error:
        raise Unfinished(
            f"the release is in the ledger, but its folder cannot be put in place ({error.strerror})",
            where=target.name,
            remedy="Make way for it, then run `sfumato ledger recover`.",
        ) from None


def is_in_place(entries: Sequence[Entry], target: Path) -> bool:
    """Whether the target is this release, or holds all versions of it."""
    return all(_is_in(target, Record.of(entry)) for entry in entries)


def check_staged(entries: Sequence[Entry], folder: Path) -> None:
    """Raise unless the staged files are those of the ledger, byte by byte."""
    for record in map(Record.of, entries):
        if not _is_in(folder, record):
            raise BadLedger("the staged files are not those that the ledger speaks of", where=folder.name)
        whole = folder / record.place
        if wrong := manifest.faults(whole, manifest.read(whole / manifest.MANIFEST)):
            raise BadLedger(f"the staged files were changed: {wrong[0]}", where=folder.name)


def _is_in(folder: Path, record: Record) -> bool:
    listed = folder / record.place / manifest.MANIFEST
    return listed.is_file() and digest_of(listed) == record.manifest


def _certify(entry: Entry, folder: Path) -> None:
    """Put the certificate beside the files of a release, and nothing else."""
    named = [str(file["name"]) for file in manifest.read(folder / manifest.MANIFEST)["files"]]
    listed = [*named, manifest.MANIFEST, certificate.CERTIFICATE]
    _keep_only(folder, [name.split("/")[0] for name in listed])
    for parts in {name.split("/")[0] for name in named if "/" in name}:
        _keep_only(folder / parts, [name.split("/")[1] for name in named if name.startswith(f"{parts}/")])
        (folder / parts).chmod(0o777 & ~_umask())
    store(folder / certificate.CERTIFICATE, certificate.as_bytes(certificate.certificate(entry)))
    for name in listed:
        (folder / name).chmod(0o666 & ~_umask())
    folder.chmod(0o777 & ~_umask())
    to_disk(folder)


def _keep_only(folder: Path, named: Sequence[str]) -> None:
    """Remove everything else from a folder."""
    for path in folder.iterdir():
        if path.name in named:
            continue
        if path.is_dir() and not path.is_symlink():
            wipe(path)
        else:
            path.unlink()


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found
