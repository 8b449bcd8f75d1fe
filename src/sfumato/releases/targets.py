"""Targets: where a release is to become visible, a new folder or a place in an object store."""

# ruff: noqa: PLC0415  # the library waits until a store is spoken of

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sfumato.releases import certificate
from sfumato.releases import certificate as manifest
from sfumato.releases.ledger.database import LedgerDatabase
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.ledger.records import Entry
from sfumato.releases.staging import StepHook, make_and_lock, no_hook, remove_empty, reserve, staged_in
from sfumato.system.address import Address, is_address
from sfumato.system.disk import FolderLock, digest_of, remove_folder, to_disk, write_to_disk
from sfumato.system.errors import BadData, BadLedger, LedgerConflict, StoreUnavailable, Unfinished, UsageError
from sfumato.system.json_object import JsonObject, document_bytes, read_json
from sfumato.system.progress import Progress, silent

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import RetryConfig


# Folders as targets: staged beside it, and made visible by one rename.
#
# Versions for several recipients are folders in it: one rename makes all of them visible.

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
            raise UsageError("the target needs a name", remedy="Name a new folder.")
        _check_letters(self.place)
        if os.path.lexists(self.place):
            raise UsageError("the target exists already", where=str(self.named), remedy="Name a new folder.")
        if not self.place.parent.is_dir():
            raise UsageError(
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

    def bring(self, event: str, records: Sequence[ReleaseRecord], *, at: StepHook = no_hook) -> None:  # noqa: ARG002
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
            places = [ReleaseRecord.of(entry).place for entry in entries]
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
        return all(_is_in(self.place, ReleaseRecord.of(entry)) for entry in entries)

    def _check_staged(self, entries: Sequence[Entry]) -> None:
        """Raises unless the staged files are those of the ledger, byte by byte."""
        folder = self.staging(entries[0].release)
        for record in map(ReleaseRecord.of, entries):
            if not _is_in(folder, record):
                raise BadLedger("the staged files are not those that the ledger speaks of", where=folder.name)
            whole = folder / record.place
            if wrong := manifest.manifest_faults(whole, manifest.read_manifest(whole / manifest.MANIFEST)):
                raise BadLedger(f"the staged files were changed: {wrong[0]}", where=folder.name)


def _check_letters(place: Path) -> None:
    """Raises where a path is no text: the ledger and the certificate could not name it."""
    try:
        str(place).encode()
    except UnicodeEncodeError:
        raise UsageError(
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
            raise UsageError(
                f"the {what} is {length} bytes long, and this file system takes {most}",
                where=f"{path.name[:40]}…",
                remedy="Name a shorter target.",
            )


def _reserve_certificate(folder: Path, record: ReleaseRecord) -> None:
    """Takes the space of the certificate now: after the commit a full disk must not be in the way."""
    likely = record.entry(number=1, sequence=1, previous="0" * 64, ledger="0" * 32)
    write_to_disk(
        folder / certificate.CERTIFICATE,
        b" " * (len(document_bytes(certificate.certificate(likely))) + CERTIFICATE_SLACK),
    )


def _is_in(folder: Path, record: ReleaseRecord) -> bool:
    listed = folder / record.place / manifest.MANIFEST
    return listed.is_file() and digest_of(listed) == record.manifest


def _certify(entry: Entry, folder: Path) -> None:
    """Puts the certificate beside the files of a release, and removes everything else."""
    named = [str(file["name"]) for file in manifest.read_manifest(folder / manifest.MANIFEST)["files"]]
    listed = [*named, manifest.MANIFEST, certificate.CERTIFICATE]
    _keep_only(folder, [name.split("/")[0] for name in listed])
    for parts in {name.split("/")[0] for name in named if "/" in name}:
        _keep_only(folder / parts, [name.split("/")[1] for name in named if name.startswith(f"{parts}/")])
        (folder / parts).chmod(0o777 & ~_umask())
    write_to_disk(folder / certificate.CERTIFICATE, document_bytes(certificate.certificate(entry)))
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


# The objects below an address in a store: put once, read back, removed. Nothing here can be renamed.
#
# What the library says of a failure may hold addresses that were signed, so only the kind of it is passed
# on.


REQUEST_BYTES = 8 << 20
"""So many bytes are sent or fetched by one request, for which the library allows half a minute."""

MOST_PARTS = 9_000
"""A store takes a large object in so many parts at most, and a little more."""

RETRIES = 6
RETRY_TIMEOUT = timedelta(seconds=60)
"""How often, and how long, a request is tried again before the store counts as out of reach."""


class Occupied(Exception):
    """Something else is stored under this name already."""


class Store:
    """The objects whose names begin with an address."""

    def __init__(self, address: Address) -> None:
        self.address = address
        try:
            from obstore.store import from_url
        except ImportError:
            raise StoreUnavailable(
                "object stores need a library that is not installed",
                where=address.name,
                remedy="Run `pip install 'sfumato[stores]'`.",
            ) from None
        again: RetryConfig = {"max_retries": RETRIES, "retry_timeout": RETRY_TIMEOUT}
        with self._our_errors():  # options for the client would replace those of the environment: none
            self._objects = from_url(address.bucket, retry_config=again)

    def put(self, name: str, content: bytes) -> None:
        """Puts a new object; raises `Occupied` where another one is there already.

        The same one may be there: an answer that was lost makes the library ask again.
        """
        from obstore.exceptions import AlreadyExistsError, NotSupportedError

        try:
            with self._our_errors(AlreadyExistsError, NotSupportedError):
                self._objects.put(self._key(name), content, mode="create")
        except AlreadyExistsError:
            if self.get(name) != content:
                raise Occupied(name) from None
        except NotSupportedError:
            raise self._overwrites() from None

    def check_create_only(self, name: str, content: bytes) -> None:
        """Raises unless the store keeps this object from being overwritten, which is tried with the same."""
        from obstore.exceptions import AlreadyExistsError

        with suppress(AlreadyExistsError), self._our_errors(AlreadyExistsError):
            self._objects.put(self._key(name), content, mode="create")
            raise self._overwrites()

    def upload(self, name: str, file: Path) -> None:
        """Puts a file: a small one only where nothing is, a large one in parts that are visible together."""
        size = file.stat().st_size
        if size <= REQUEST_BYTES:
            self.put(name, file.read_bytes())
            return
        piece = max(REQUEST_BYTES, -(-size // MOST_PARTS))
        with self._our_errors():
            self._objects.put(self._key(name), file, chunk_size=piece, max_concurrency=4)

    def get(self, name: str) -> bytes | None:
        """Returns a small object; `None` if it is not there."""
        try:
            with self._our_errors(FileNotFoundError):
                return bytes(self._objects.get(self._key(name)).bytes())
        except FileNotFoundError:
            return None

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        """Yields the bytes of an object of this size, a piece at a time."""
        for start in range(0, size, REQUEST_BYTES):
            length = min(REQUEST_BYTES, size - start)
            with self._our_errors():
                piece = bytes(self._objects.get_range(self._key(name), start=start, length=length))
            yield piece

    def digest(self, name: str, size: int) -> str:
        """Returns the SHA-256 of what is in the store, read back."""
        sha256 = hashlib.sha256()
        for piece in self.pieces(name, size):
            sha256.update(piece)
        return sha256.hexdigest()

    def sizes(self) -> dict[str, int]:
        """Returns the sizes of the objects below the address, by name; marks of empty folders are none."""
        before = f"{self.address.path}/"
        with self._our_errors():
            objects = [meta for batch in self._objects.list(self.address.path) for meta in batch]
        return {
            meta["path"].removeprefix(before): meta["size"]
            for meta in objects
            if meta["path"].startswith(before)
        }

    def first_names(self) -> list[str]:
        """Returns the names of some objects below the address; none, if there is none."""
        before = f"{self.address.path}/"
        with self._our_errors():
            first: Sequence[ObjectMeta] = next(iter(self._objects.list(self.address.path)), [])
        return [meta["path"].removeprefix(before) for meta in first if meta["path"].startswith(before)]

    def remove(self, names: Iterable[str]) -> None:
        """Removes objects, one after the other; one that is not there does no harm."""
        for name in names:
            with suppress(FileNotFoundError), self._our_errors(FileNotFoundError):
                self._objects.delete(self._key(name))

    def _key(self, name: str) -> str:
        return (self.address / name).path

    @contextmanager
    def _our_errors(self, *expected: type[Exception]) -> Iterator[None]:
        """Turns whatever else goes wrong into an error of ours."""
        from obstore.exceptions import BaseError

        try:
            yield
        except expected:
            raise
        except (BaseError, OSError, ValueError) as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> StoreUnavailable:
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        where = self.address.name
        if isinstance(error, PermissionDeniedError | UnauthenticatedError):
            remedy = "Reading, listing, writing and removing must be allowed there."
            return StoreUnavailable("the store does not let us", where=where, remedy=remedy)
        if isinstance(error, FileNotFoundError) or "NoSuchBucket" in str(error):
            return StoreUnavailable(
                "the bucket or the object is not there", where=where, remedy="Make it first."
            )
        remedy = "Is the address right, are region, endpoint and keys in the environment?"
        return StoreUnavailable("the store cannot be reached", where=where, remedy=remedy)

    def _overwrites(self) -> StoreUnavailable:
        return StoreUnavailable(
            "the store cannot keep an object from being overwritten",
            where=self.address.name,
            remedy="It must know conditional writes (If-None-Match).",
        )


# Places in an object store as targets: brought under its final names, and made visible by its manifest.
#
# A store has no rename and no lock. Whoever is the first to put the note below the address has the place.
# The
# note holds the manifests, so that whoever finds it can complete the release or remove what was brought; it
# goes last. Without a manifest nothing is a release, whatever else is there.

NOTE_NAME = "_staged.json"
"""Begins with an underscore, so that readers of such folders pass it over."""


@dataclass(frozen=True)
class StagingNote:
    """The event that has the place, and the manifest of every version, by its folder below the address."""

    event: str
    manifests: Mapping[str, str]

    @classmethod
    def read(cls, content: bytes) -> StagingNote:
        try:
            document = read_json(content)
            return cls(str(document["event"]), {str(k): str(v) for k, v in document["manifests"].items()})
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadData("the note of a release under way cannot be read", where=NOTE_NAME) from None

    def as_bytes(self) -> bytes:
        return json.dumps({"sfumato": 1, "event": self.event, "manifests": dict(self.manifests)}).encode()

    def files(self) -> Iterator[tuple[str, JsonObject]]:
        """Yields every file of every version: its name below the address, and its part of the manifest."""
        for place, text in self.manifests.items():
            for file in json.loads(text)["files"]:
                yield _below(place, str(file["name"])), file


@dataclass(frozen=True)
class StoreTarget:
    """An address below which nothing is yet. The table is written and judged in a folder of this machine."""

    place: Address
    aside: Path | None = None
    progress: Progress = silent
    shared = True

    @property
    def named(self) -> Address:
        return self.place

    @cached_property
    def _store(self) -> Store:
        return Store(self.place)

    def check(self) -> None:
        taken = self._store.first_names()
        if NOTE_NAME in taken:
            raise self._under_way()
        if taken:
            raise UsageError("the target exists already", where=self.place.name, remedy="Name a new place.")

    def staging(self, event: str) -> Path:
        return staged_in((self.aside or Path(tempfile.gettempdir())).absolute(), event)

    def reserve(self, event: str) -> FolderLock:
        """Makes and locks the staging folder; the place itself is taken by the note."""
        folder = self.staging(event)
        remove_empty(folder.parent)
        return make_and_lock(folder)

    def bring(self, event: str, records: Sequence[ReleaseRecord], *, at: StepHook = no_hook) -> None:
        """Takes the place, puts the files under their names, and reads them back."""
        folder, store = self.staging(event), self._store
        texts = {r.place: (folder / r.place / manifest.MANIFEST).read_text(encoding="utf-8") for r in records}
        note = StagingNote(event, texts)
        try:
            store.put(NOTE_NAME, note.as_bytes())
        except Occupied:
            raise self._under_way() from None
        store.check_create_only(NOTE_NAME, note.as_bytes())
        at("noted")
        files, brought = dict(note.files()), [NOTE_NAME]
        try:
            self._check_alone([])
            for number, name in enumerate(files):
                self.progress("uploading", number, len(files))
                store.upload(name, folder / name)
                brought.insert(0, name)
                at("uploaded")
        except (Occupied, UsageError):
            store.remove(brought)  # and nothing of anybody else's
            raise self._taken() from None
        self._check_brought(note)
        self._check_alone(files)

    def withdraw(self, event: str) -> None:
        note = self._note()
        if note is not None and note.event == event:
            self._store.remove([*(name for name, _ in note.files()), NOTE_NAME])
        remove_folder(self.staging(event))

    def show(self, entries: Sequence[Entry], *, at: StepHook = no_hook) -> None:
        """Puts certificates, then manifests; what is there already stays as it is."""
        try:
            self._show(entries, at)
        except StoreUnavailable as error:
            raise self._unfinished(error.message) from None

    def complete(self, entries: Sequence[Entry]) -> bool:
        note = self._note()
        if note is not None and note.event == entries[0].release:
            self._check_brought(note)
            self._show(entries, no_hook)
            return True
        remove_folder(self.staging(entries[0].release))
        return self._is_in_place(entries)

    def _show(self, entries: Sequence[Entry], at: StepHook) -> None:
        note = self._note() or StagingNote("", {})
        try:
            if note.event == entries[0].release:
                for entry in entries:
                    proof = document_bytes(certificate.certificate(entry))
                    self._store.put(_below(ReleaseRecord.of(entry).place, certificate.CERTIFICATE), proof)
                at("certified")
                for record in map(ReleaseRecord.of, entries):
                    self._store.put(_below(record.place, manifest.MANIFEST), _manifest_of(record, note))
                at("visible")
                self._store.remove([NOTE_NAME])
            elif not self._is_in_place(entries):  # else another machine was faster
                raise Occupied
        except Occupied:
            raise self._unfinished("something else is in its place") from None
        remove_folder(self.staging(entries[0].release))

    def _is_in_place(self, entries: Sequence[Entry]) -> bool:
        return all(
            _digest(self._store.get(_below(record.place, manifest.MANIFEST))) == record.manifest
            for record in map(ReleaseRecord.of, entries)
        )

    def _note(self) -> StagingNote | None:
        content = self._store.get(NOTE_NAME)
        return None if content is None else StagingNote.read(content)

    def _check_alone(self, named: Mapping[str, object] | Sequence[str]) -> None:
        """Raises if anything is there that was not brought."""
        if set(self._store.sizes()) - {NOTE_NAME, *named}:
            raise self._taken()

    def _check_brought(self, note: StagingNote) -> None:
        """Raises unless the store gives back what was judged, byte by byte."""
        stored = self._store.sizes()
        files = list(note.files())
        for number, (name, file) in enumerate(files):
            self.progress("reading back", number, len(files))
            size = int(file["bytes"])
            if stored.get(name) != size or self._store.digest(name, size) != file["sha256"]:
                raise BadData("the store does not give back what was put there", where=name)

    def _unfinished(self, why: str) -> Unfinished:
        return Unfinished(
            f"the release is in the ledger, but cannot be made visible: {why}",
            where=self.place.name,
            remedy="See to it, then run `sfumato ledger recover`.",
        )

    def _taken(self) -> UsageError:
        return UsageError(
            "the target is taken: something else was put there", where=self.place.name, remedy="Name another."
        )

    def _under_way(self) -> LedgerConflict:
        return LedgerConflict(
            "another release is under way there",
            where=self.place.name,
            remedy="Wait for it; what a crash left is put right by `sfumato ledger recover`.",
        )


def _below(place: str, name: str) -> str:
    return f"{place}/{name}" if place else name


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _manifest_of(record: ReleaseRecord, note: StagingNote) -> bytes:
    """Returns the manifest whose digest the ledger holds; raises where the note has another."""
    content = note.manifests.get(record.place, "").encode()
    if _digest(content) != record.manifest:
        raise BadLedger("the manifest in the store is not the one that the ledger speaks of")
    return content


class Target(Protocol):
    """A place for a release, which is written and judged in a staging folder, brought there, and shown.

    Before the ledger's commit everything can be withdrawn; after it the release can only be completed, from
    what was brought before. Every method may be called again.
    """

    @property
    def place(self) -> Path | Address:
        """What the release becomes."""

    @property
    def named(self) -> Path | Address:
        """The same, as the caller named it."""

    @property
    def shared(self) -> bool:
        """Whether other machines reach it, and can complete what was begun here."""

    def check(self) -> None:
        """Raises for what could not be published later."""

    def staging(self, event: str) -> Path:
        """Returns the folder in which a release is written before it counts."""

    def reserve(self, event: str) -> FolderLock:
        """Makes and locks the staging folder; raises if another release has the place."""

    def bring(self, event: str, records: Sequence[ReleaseRecord], *, at: StepHook = no_hook) -> None:
        """Puts all that is needed after the commit where it will stay; raises if the place is taken."""

    def withdraw(self, event: str) -> None:
        """Removes what was brought, since nothing was committed."""

    def show(self, entries: Sequence[Entry], *, at: StepHook = no_hook) -> None:
        """Makes visible what the ledger holds."""

    def complete(self, entries: Sequence[Entry]) -> bool:
        """Makes visible what the ledger holds; returns whether it was in place or brought before."""


def target_of(
    into: str | Path | Address, *, aside: Path | None = None, progress: Progress = silent
) -> Target:
    """Returns the target at a path or an address. What goes to a store is staged in the folder `aside`."""
    if isinstance(into, Address) or (isinstance(into, str) and is_address(into)):
        return StoreTarget(Address.of(into), aside, progress)
    return FolderTarget(Path(into).absolute(), Path(into))


def check_first(into: str | Path | Address, ledger: str) -> None:
    """Raises for a target that cannot be used, before a ledger is made for it.

    A ledger that is there may have to recover something first, perhaps in this very place.
    """
    if not LedgerDatabase(ledger).exists:
        target_of(into).check()
