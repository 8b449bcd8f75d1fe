"""Places in an object store as targets: brought under its final names, and made visible by its manifest.

A store has no rename and no lock. Whoever is the first to put the note below the address has the place. The
note holds the manifests, so that whoever finds it can complete the release or remove what was brought; it
goes last. Without a manifest nothing is a release, whatever else is there.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sfumato.core.errors import BadData, BadLedger, LedgerConflict, OutOfReach, Unfinished, WrongCall
from sfumato.core.json_object import JsonObject, read_json
from sfumato.core.progress import Progress, silent
from sfumato.releases import certificate, manifest
from sfumato.releases.ledger.entry import Entry
from sfumato.releases.ledger.record import Record
from sfumato.releases.staging import make_and_lock, remove_empty, staged_in
from sfumato.releases.steps import StepHook, no_hook
from sfumato.releases.targets.store import Occupied, Store
from sfumato.system.address import Address
from sfumato.system.disk import FolderLock, remove_folder

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
            raise WrongCall("the target exists already", where=self.place.name, remedy="Name a new place.")

    def staging(self, event: str) -> Path:
        return staged_in((self.aside or Path(tempfile.gettempdir())).absolute(), event)

    def reserve(self, event: str) -> FolderLock:
        """Makes and locks the staging folder; the place itself is taken by the note."""
        folder = self.staging(event)
        remove_empty(folder.parent)
        return make_and_lock(folder)

    def bring(self, event: str, records: Sequence[Record], *, at: StepHook = no_hook) -> None:
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
        except (Occupied, WrongCall):
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
        except OutOfReach as error:
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
                    proof = certificate.as_bytes(certificate.certificate(entry))
                    self._store.put(_below(Record.of(entry).place, certificate.CERTIFICATE), proof)
                at("certified")
                for record in map(Record.of, entries):
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
            for record in map(Record.of, entries)
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

    def _taken(self) -> WrongCall:
        return WrongCall(
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


def _manifest_of(record: Record, note: StagingNote) -> bytes:
    """Returns the manifest whose digest the ledger holds; raises where the note has another."""
    content = note.manifests.get(record.place, "").encode()
    if _digest(content) != record.manifest:
        raise BadLedger("the manifest in the store is not the one that the ledger speaks of")
    return content
