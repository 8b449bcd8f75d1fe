"""Staging: a hidden folder beside the target, held by the process that fills it."""

from __future__ import annotations

import os
import socket
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


def finish(entry: Entry, target: Path, *, at: Step = nothing) -> None:
    """Make a release visible that the ledger holds: certificate, then one rename. Can be done again."""
    folder = folder_of(target, entry.release)
    try:
        listed = _keep_only_listed(folder)
        store(folder / certificate.CERTIFICATE, certificate.as_bytes(certificate.certificate(entry)))
        for name in listed:
            (folder / name).chmod(0o666 & ~_umask())
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


def is_in_place(entry: Entry, target: Path) -> bool:
    """Whether the target is this release."""
    listed = target / manifest.MANIFEST
    return listed.is_file() and digest_of(listed) == Record.of(entry).manifest


def check_staged(entry: Entry, folder: Path) -> None:
    """Raise unless the staged files are those of the ledger, byte by byte."""
    listed = folder / manifest.MANIFEST
    if not listed.is_file() or digest_of(listed) != Record.of(entry).manifest:
        raise BadLedger("the staged files are not those that the ledger speaks of", where=folder.name)
    if wrong := manifest.faults(folder, manifest.read(listed)):
        raise BadLedger(f"the staged files were changed: {wrong[0]}", where=folder.name)


def _keep_only_listed(folder: Path) -> list[str]:
    """The files of the release; anything else in the folder is removed."""
    named = [str(file["name"]) for file in manifest.read(folder / manifest.MANIFEST)["files"]]
    keep = [*named, manifest.MANIFEST, certificate.CERTIFICATE]
    for path in folder.iterdir():
        if path.name in keep:
            continue
        if path.is_dir() and not path.is_symlink():
            wipe(path)
        else:
            path.unlink()
    return keep


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found
