"""Folders as targets: staged beside it, and made visible by one rename.

Versions for several recipients are folders in it: one rename makes all of them visible.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import BadLedger, Unfinished, WrongCall
from sfumato.releases import certificate, manifest
from sfumato.releases.ledger.entry import Entry
from sfumato.releases.ledger.record import Record
from sfumato.releases.staging import reserve, staged_in
from sfumato.releases.steps import StepHook, no_hook
from sfumato.system.disk import FolderLock, digest_of, remove_folder, to_disk, write_to_disk

CERTIFICATE_SLACK = 4096
"""A certificate may be so many bytes longer than expected."""


@dataclass(frozen=True)
class FolderTarget:
    """A folder that is not there yet, on a file system that can rename.

    `staged` is the folder that becomes it, where that was made for another name.
    """

    place: Path
    given: Path | None = None
    staged: Path | None = None
    shared = False

    @property
    def named(self) -> Path:
        return self.given or self.place

    def check(self) -> None:
        if not self.place.name or self.place.name == "..":
            raise WrongCall("the target needs a name", remedy="Name a new folder.")
        _check_letters(self.place)
        if os.path.lexists(self.place):
            raise WrongCall("the target exists already", where=str(self.named), remedy="Name a new folder.")
        if not self.place.parent.is_dir():
            raise WrongCall(
                "the folder of the target does not exist",
                where=str(self.named.parent),
                remedy="Make it first, or name a target in one that is there.",
            )
        _check_length(self.place)

    def staging(self, event: str) -> Path:
        """Returns the folder beside the target."""
        return self.staged or staged_in(self.place.parent, event, becomes=self.place.name)

    def reserve(self, event: str) -> FolderLock:
        return reserve(self.staging(event), becomes=self.place.name)

    def bring(self, event: str, records: Sequence[Record], *, at: StepHook = no_hook) -> None:  # noqa: ARG002
        """Flushes to disk everything that is needed after the commit."""
        for record in records:
            folder = record.files[0].parent
            _reserve_certificate(folder, record)
            for file in (*record.files, *record.described):
                for part in {*manifest.files_of(file), file}:
                    to_disk(part)
            to_disk(folder)
        self._check_names(event)
        self.check()
        to_disk(self.staging(event))
        to_disk(self.place.parent)

    def _check_names(self, event: str) -> None:
        """Raises where a file of the release could not be reached under its final name."""
        folder = self.staging(event)
        for path in folder.rglob("*"):
            _check_length(self.place / path.relative_to(folder))

    def withdraw(self, event: str) -> None:
        remove_folder(self.staging(event))

    def show(self, entries: Sequence[Entry], *, at: StepHook = no_hook) -> None:
        """Writes the certificates, then renames the folder."""
        folder = self.staging(entries[0].release)
        try:
            places = [Record.of(entry).place for entry in entries]
            if any(places):
                _keep_only(folder, places)
            for entry, place in zip(entries, places, strict=True):
                _certify(entry, folder / place)
            folder.chmod(0o777 & ~_umask())
            to_disk(folder)
            at("certified")
            folder.rename(self.place)
            to_disk(self.place.parent)
            at("visible")
        except OSError as error:
            raise Unfinished(
                f"the release is in the ledger, but its folder cannot be put in place ({error.strerror})",
                where=self.place.name,
                remedy="Make way for it, then run `sfumato ledger recover`; or give it another name: "
                f"`sfumato ledger recover --release {entries[0].release} --into FOLDER`.",
            ) from None

    def complete(self, entries: Sequence[Entry]) -> bool:
        if self.staging(entries[0].release).is_dir():
            self._check_staged(entries)
            self.show(entries)
            return True
        return all(_is_in(self.place, Record.of(entry)) for entry in entries)

    def _check_staged(self, entries: Sequence[Entry]) -> None:
        """Raises unless the staged files are those of the ledger, byte by byte."""
        folder = self.staging(entries[0].release)
        for record in map(Record.of, entries):
            if not _is_in(folder, record):
                raise BadLedger("the staged files are not those that the ledger speaks of", where=folder.name)
            whole = folder / record.place
            if wrong := manifest.faults(whole, manifest.read(whole / manifest.MANIFEST)):
                raise BadLedger(f"the staged files were changed: {wrong[0]}", where=folder.name)


def _check_letters(place: Path) -> None:
    """Raises where a path is no text: the ledger and the certificate could not name it."""
    try:
        str(place).encode()
    except UnicodeEncodeError:
        raise WrongCall(
            "the name of the target, or of a folder that leads to it, is not written in UTF-8",
            remedy="Name a folder in UTF-8.",
        ) from None


def _check_length(path: Path) -> None:
    """Raises for a name or a path that is longer than the file system takes."""
    home = next(folder for folder in path.parents if folder.is_dir())
    for what, most, length in (
        ("name", os.pathconf(home, "PC_NAME_MAX"), len(os.fsencode(path.name))),
        ("path", os.pathconf(home, "PC_PATH_MAX") - 1, len(os.fsencode(path))),
    ):
        if length > most:
            raise WrongCall(
                f"the {what} is {length} bytes long, and this file system takes {most}",
                where=f"{path.name[:40]}…",
                remedy="Name a shorter target.",
            )


def _reserve_certificate(folder: Path, record: Record) -> None:
    """Takes the space of the certificate now: after the commit a full disk must not be in the way."""
    likely = record.entry(number=1, sequence=1, previous="0" * 64, ledger="0" * 32)
    write_to_disk(
        folder / certificate.CERTIFICATE,
        b" " * (len(certificate.as_bytes(certificate.certificate(likely))) + CERTIFICATE_SLACK),
    )


def _is_in(folder: Path, record: Record) -> bool:
    listed = folder / record.place / manifest.MANIFEST
    return listed.is_file() and digest_of(listed) == record.manifest


def _certify(entry: Entry, folder: Path) -> None:
    """Puts the certificate beside the files of a release, and removes everything else."""
    named = [str(file["name"]) for file in manifest.read(folder / manifest.MANIFEST)["files"]]
    listed = [*named, manifest.MANIFEST, certificate.CERTIFICATE]
    _keep_only(folder, [name.split("/")[0] for name in listed])
    for parts in {name.split("/")[0] for name in named if "/" in name}:
        _keep_only(folder / parts, [name.split("/")[1] for name in named if name.startswith(f"{parts}/")])
        (folder / parts).chmod(0o777 & ~_umask())
    write_to_disk(folder / certificate.CERTIFICATE, certificate.as_bytes(certificate.certificate(entry)))
    for name in listed:
        (folder / name).chmod(0o666 & ~_umask())
    folder.chmod(0o777 & ~_umask())
    to_disk(folder)


def _keep_only(folder: Path, named: Sequence[str]) -> None:
    """Removes everything from a folder but what is named."""
    for path in folder.iterdir():
        if path.name in named:
            continue
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink()


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
