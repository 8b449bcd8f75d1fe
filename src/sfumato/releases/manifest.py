"""Manifests: the files that make up a release, so that a reader can tell a whole one from a cut one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sfumato.core.errors import BadData
from sfumato.core.json_object import JsonObject, read_json
from sfumato.judge.tables.file_form import FileForm
from sfumato.judge.tables.relation import header, rows
from sfumato.system.disk import digest_of, read_document

MANIFEST = "manifest.json"
VERSION = 1
DOCUMENTS = (".json", ".html")
"""Files that hold no rows: a dictionary, the list of a table's parts."""


def describe(files: Sequence[Path], *, release: str, form: Mapping[str, str] | None = None) -> JsonObject:
    """Returns the manifest of some files, from their bytes.

    `form` names the encoding and the delimiter of CSV files, where these are not UTF-8 and commas.
    """
    listed = [_describe(part, below=file, form=form or {}) for file in files for part in files_of(file)]
    return {"sfumato": VERSION, "release": release, "files": listed}


def files_of(path: Path) -> list[Path]:
    """Returns a file, or the files of a folder of parts."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _describe(file: Path, *, below: Path, form: Mapping[str, str]) -> JsonObject:
    described = {
        "name": file.name if file == below else f"{below.name}/{file.name}",
        "format": file.suffix.lstrip("."),
        "bytes": file.stat().st_size,
        "sha256": digest_of(file),
    }
    if file.suffix in DOCUMENTS:
        return described
    told = FileForm.of(form)
    counted = {"rows": rows(file, form=told), "columns": list(header(file, form=told))}
    return {**described, **(form if file.suffix == ".csv" else {}), **counted}


def as_bytes(manifest: JsonObject) -> bytes:
    """Returns the bytes of the manifest file."""
    return (json.dumps(manifest, ensure_ascii=False, indent=2) + "\n").encode()


def read(path: Path) -> JsonObject:
    """Reads a manifest file; raises where it is none."""
    try:
        found = read_json(read_document(path))
    except FileNotFoundError:
        raise BadData("there is no manifest: this is no published release", where=path.name) from None
    except (OSError, ValueError):
        raise BadData("the manifest cannot be read", where=path.name) from None
    if not isinstance(found, dict) or not isinstance(found.get("files"), list):
        raise BadData("this is no manifest", where=path.name)
    return found


def faults(folder: Path, manifest: JsonObject) -> list[str]:
    """Returns what is wrong with the files beside a manifest; nothing if all are there, byte by byte."""
    wrong = []
    for file in manifest["files"]:
        name = str(file.get("name", ""))
        path = folder / name
        if not is_inside(name):
            wrong.append("the manifest names a file outside its folder")
        elif not path.is_file():
            wrong.append(f"{name} is missing")
        elif path.stat().st_size != file.get("bytes"):
            wrong.append(f"{name} has another size than when it was published")
        elif digest_of(path) != file.get("sha256"):
            wrong.append(f"{name} was changed")
    return wrong + _unnamed_files(folder, [str(file.get("name", "")) for file in manifest["files"]])


def strange_files(folder: Path, manifest: JsonObject, known: Collection[str]) -> list[str]:
    """Returns a fault per file or folder beside a manifest that it does not name, apart from `known` ones.

    Whoever finds such a file beside a certificate may take it for one that was judged.
    """
    named = {str(file.get("name", "")).partition("/")[0] for file in manifest["files"]}
    strange = sorted(path.name for path in folder.iterdir() if path.name not in named | set(known))
    return [f"{name} was not published with it" for name in strange]


def is_inside(name: str) -> bool:
    """Whether a name stays in its folder: a file, or a file in a folder of parts."""
    steps = name.split("/")
    return len(steps) <= 2 and all(step and step != ".." and Path(step).name == step for step in steps)


def _unnamed_files(folder: Path, named: Sequence[str]) -> list[str]:
    """Returns a fault per folder of parts that holds a file the manifest does not name."""
    parts = sorted({name.split("/")[0] for name in named if "/" in name and is_inside(name)})
    return [
        f"{part} holds a file that was not published"
        for part in parts
        if (folder / part).is_dir()
        and any(f"{part}/{path.name}" not in named for path in (folder / part).iterdir())
    ]
