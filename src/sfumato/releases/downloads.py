"""Downloads: a release in a store, copied by its manifest to a private folder of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sfumato.releases import certificate
from sfumato.releases import certificate as manifest
from sfumato.releases.targets import NOTE_NAME, Store
from sfumato.system.address import Address, is_address
from sfumato.system.disk import private_folder
from sfumato.system.errors import BadData
from sfumato.system.json_object import JsonObject

Given = TypeVar("Given")

OURS = (manifest.MANIFEST, certificate.CERTIFICATE, NOTE_NAME)
"""What is beside the files of a release and named by no manifest."""


@contextmanager
def local_copy(source: Given, *, spill: Path | None = None, whole: bool = True) -> Iterator[Given | Path]:
    """Yields what was given; in place of an address in a store, the path of a copy, gone afterwards.

    The address is that of a release, of its table, or of its certificate. Files that the manifest does not
    name are no part of it. Where the copy is not `whole`, that is for the caller to find out.
    """
    if not is_address(source):
        yield source
        return
    address = Address.of(source)
    with private_folder(spill) as private:
        release, name = _release_of(address) if whole else (address.parent, address.name)
        folder = private / "release"
        folder.mkdir()
        listed = _fetch(Store(release), folder, strangers=not whole)
        if whole and (wrong := manifest.manifest_faults(folder, listed)):
            raise BadData(f"the release in the store is not whole: {wrong[0]}", where=release.name)
        if not whole and not (folder / name).exists():
            raise certificate.missing(str(address))
        yield folder / (name or _table_of(listed, release))


def certificate_at(place: str) -> JsonObject:
    """Returns the certificate at a path or an address; fetches no more of the release."""
    if not is_address(place):
        return certificate.read_certificate(Path(place))
    address = Address.of(place)
    content = Store(address.parent).get(address.name)
    if content is None:
        raise certificate.missing(str(address))
    return certificate.parse(content, address.name)


def _release_of(address: Address) -> tuple[Address, str]:
    """Returns the release that an address belongs to, and the name below it; none for the release itself."""
    if Store(address).get(manifest.MANIFEST) is not None:
        return address, ""
    if address.parent.path and Store(address.parent).get(manifest.MANIFEST) is not None:
        return address.parent, address.name
    raise BadData("there is no manifest: this is no published release", where=address.name)


def _table_of(listed: JsonObject, release: Address) -> str:
    tables = {str(file["name"]).partition("/")[0] for file in listed["files"] if "rows" in file}
    if len(tables) != 1:
        raise BadData("the release is not one table", where=release.name, remedy="Name one of its files.")
    return tables.pop()


def _fetch(store: Store, folder: Path, *, strangers: bool) -> JsonObject:
    """Copies what the manifest names, and returns the manifest.

    What has another size, or should not be there, becomes an empty file: only its name is wanted. With
    `strangers` so does whatever else is beside them.
    """
    stored = store.sizes()
    for name in (manifest.MANIFEST, certificate.CERTIFICATE):
        content = store.get(name)
        if content is not None:
            (folder / name).write_bytes(content)
    if not (folder / manifest.MANIFEST).exists():
        return {"files": []}
    listed = manifest.read_manifest(folder / manifest.MANIFEST)
    sizes = {str(file.get("name", "")): file.get("bytes") for file in listed["files"]}
    parts = {name.partition("/")[0] for name in sizes if "/" in name}
    for name, size in stored.items():
        top = name.partition("/")[0]
        if strangers and top not in OURS and manifest.is_inside(top) and top not in {*sizes, *parts}:
            (folder / top).touch()
            continue
        if not manifest.is_inside(name) or not (name in sizes or top in parts):
            continue
        (folder / name).parent.mkdir(exist_ok=True)
        with (folder / name).open("wb") as file:
            for piece in store.pieces(name, size) if sizes.get(name) == size else ():
                file.write(piece)
    return listed
