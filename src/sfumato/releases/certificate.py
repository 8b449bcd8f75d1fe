"""Certificates: proof of what was published and promised, for whoever has the files and the public key."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.releases.ledger.keys import DatedKey, canonical
from sfumato.releases.ledger.record import REMARKS
from sfumato.releases.ledger.records import WITHDRAWAL, Entry, seal_fault
from sfumato.releases.receipt import remarks_on
from sfumato.system.disk import LARGEST_NOTE, digest_of, read_document
from sfumato.system.errors import BadData
from sfumato.system.json_object import JsonMapping, JsonObject, read_json
from sfumato.system.presentation.cards import Card
from sfumato.verify.tables import FileForm, header, rows

# Manifests: the files that make up a release, so that a reader can tell a whole one from a cut one.

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
    file_form = FileForm.of(form)
    counted = {"rows": rows(file, form=file_form), "columns": list(header(file, form=file_form))}
    return {**described, **(form if file.suffix == ".csv" else {}), **counted}


def read_manifest(path: Path) -> JsonObject:
    """Reads a manifest file; raises where it is none."""
    try:
        content = read_json(read_document(path))
    except FileNotFoundError:
        raise BadData("there is no manifest: this is no published release", where=path.name) from None
    except (OSError, ValueError):
        raise BadData("the manifest cannot be read", where=path.name) from None
    if not isinstance(content, dict) or not isinstance(content.get("files"), list):
        raise BadData("this is no manifest", where=path.name)
    return content


def manifest_faults(folder: Path, manifest: JsonObject) -> list[str]:
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


def strange_files(folder: Path, manifest: JsonObject, expected: Collection[str]) -> list[str]:
    """Returns a fault per file or folder beside a manifest that it does not name, apart from `known` ones.

    Whoever finds such a file beside a certificate may take it for one that was judged.
    """
    named = {str(file.get("name", "")).partition("/")[0] for file in manifest["files"]}
    strange = sorted(path.name for path in folder.iterdir() if path.name not in named | set(expected))
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


CERTIFICATE = "certificate.json"


def certificate(entry: Entry) -> JsonObject:
    """Returns what may be shown of a sealed entry; the same entry gives the same bytes."""
    entry_words = {**entry.public, "body": json.loads(entry.body)}
    return {"sfumato": VERSION, "entry": entry_words, "hash": entry.hash, "signature": entry.signature}


def read_certificate(path: Path) -> JsonObject:
    """Reads a certificate file; does not look at its signature."""
    try:
        return parse(read_document(path), path.name)
    except FileNotFoundError:
        raise missing(str(path)) from None
    except IsADirectoryError:
        raise BadData("this is a folder", where=str(path), remedy=f"Name the {CERTIFICATE} in it.") from None
    except OSError as error:
        raise BadData(f"the certificate cannot be read ({error.strerror})", where=str(path)) from None


def missing(where: str) -> BadData:
    """Returns the error for a certificate that is not there."""
    return BadData("there is no such file", where=where, remedy=f"Name the {CERTIFICATE} of a release.")


def _check_form(document: JsonMapping) -> None:
    """Raises `TypeError` or `KeyError` unless everything that is read of a certificate has its type."""
    entry, body = document["entry"], document["entry"]["body"]
    texts = [document[name] for name in ("hash", "signature")]
    texts += [entry[name] for name in ("release", "chain", "signer")]
    texts += [body[name] for name in ("manifest", "at", "policy")]
    texts += [verdict["promise"] for verdict in body["verdicts"]]
    numbers = (entry["number"], entry["sequence"])
    if not all(isinstance(text, str) for text in texts) or not all(type(n) is int for n in numbers):
        raise TypeError
    if not isinstance(body["recipient"], str | None) or not isinstance(body["versions"], dict):
        raise TypeError
    body["policy"], [verdict["holds"] for verdict in body["verdicts"]]
    remarks_on(body.get("weaker"), body.get("despite", ()))


def parse(content: bytes, where: str) -> JsonObject:
    """Returns the content of the bytes of a certificate; raises where they are none."""
    try:
        document = read_json(content)
        canonical(document)  # what cannot be signed was not
        _check_form(document)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadData(
            "this is no certificate", where=where, remedy=f"Name the {CERTIFICATE} of a release."
        ) from None
    return dict(document)


@dataclass(frozen=True)
class Examination:
    """The result of comparing a certificate with the files beside it; `pinned` if the key was given.

    Without the publisher's key nobody knows who made the certificate: then it neither holds nor fails.
    """

    content: JsonMapping
    pinned: bool
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool | None:
        """Whether the files are those that were published; `None` where the key was not given."""
        if self.faults:
            return False
        return True if self.pinned else None

    @property
    def _entry(self) -> JsonMapping:
        entry: JsonMapping = self.content["entry"]
        return entry

    def as_dict(self) -> JsonObject:
        """Returns the result as JSON."""
        entry = self._entry
        return {
            "holds": self.holds,
            "faults": list(self.faults),
            "pinned": self.pinned,
            "public_key": entry["signer"],
            "head": {"number": entry["number"], "hash": self.content["hash"]},
            "release": entry["release"],
            "chain": entry["chain"],
            "sequence": entry["sequence"],
            **{k: entry["body"][k] for k in ("at", "recipient", "policy", "verdicts", "versions")},
            **{k: entry["body"][k] for k in REMARKS if k in entry["body"]},
        }

    def card(self) -> Card:
        """Returns the result in a few lines."""
        if self.faults:
            return Card("the certificate does NOT hold", [(fault,) for fault in self.faults])
        entry = self._entry
        title, source = "the files are as they were published", "as given"
        if not self.pinned:
            title = "the files are as the certificate says; whose certificate it is, is NOT known"
            source = "by its own word: name the publisher's public key with --key"
        lines = [
            (v["promise"], "holds" if v["holds"] else "does not hold") for v in entry["body"]["verdicts"]
        ]
        notes = (
            f"release {entry['sequence']} of chain {entry['chain']}, entry {entry['number']} of its ledger",
            f"key {entry['signer'][:16]}…, {source}",
            *remarks_on(
                entry["body"].get("weaker"),
                entry["body"].get("despite", ()),
                bool(entry["body"].get("imported")),
            ),
            *entry["body"].get("states", ()),
        )
        return Card(title, lines, notes)


def _signer_faults(entry: JsonMapping, keys: Sequence[DatedKey]) -> Iterator[str]:
    """Yields what is wrong with who signed: another key, or one that had been replaced before."""
    signers = [key for key in keys if key.public == entry["signer"]]
    if not signers:
        yield "the certificate is signed by another key than the one that was given"
    elif not any(key.may_have_signed(entry["number"]) for key in signers):
        yield (
            f"the certificate names entry {entry['number']}, which its key cannot have signed: "
            "it was in force for other entries"
        )


def read_notice(path: Path) -> JsonObject:
    """Reads a notice of withdrawal; refuses one that its own key did not sign."""
    try:
        notice = read_json(read_document(path, most=LARGEST_NOTE))
        body = notice["entry"]["body"]
        texts = [body[name] for name in ("ledger", "release", "hash", "reason", "at")]
        if notice["entry"]["kind"] != WITHDRAWAL or type(notice["entry"]["number"]) is not int:
            raise TypeError
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        wrong = seal_fault(notice)
    except OSError as error:
        raise BadData(f"the notice cannot be read ({error.strerror})", where=str(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadData(
            "this is no notice of withdrawal",
            where=path.name,
            remedy="`sfumato ledger withdraw -o` makes it.",
        ) from None
    if wrong:
        raise BadData(wrong.replace("certificate", "notice"), where=path.name)
    return dict(notice)


def _withdrawal_faults(
    content: JsonMapping, notices: Sequence[JsonMapping], keys: Sequence[DatedKey]
) -> Iterator[str]:
    """Yields that the release was withdrawn, where one of the notices says so and may."""
    for notice in notices:
        body, entry = notice["entry"]["body"], content["entry"]
        if (body["release"], body["hash"]) != (entry["release"], content["hash"]):
            continue
        if wrong := list(_signer_faults(notice["entry"], keys)) if keys else []:
            yield wrong[0].replace("the certificate", "the notice of withdrawal")
        else:
            yield f"the release was withdrawn on {body['at'][:10]}: {body['reason']}"


def examine(
    path: str | Path, *, key: str | Sequence[DatedKey] | None = None, notices: Sequence[JsonMapping] = ()
) -> Examination:
    """Compares a certificate with the files beside it, and its signature with the public key, or several.

    `notices` are of withdrawals: a certificate whose release was withdrawn does not hold.
    """
    file = Path(path)
    content = read_certificate(file)
    entry, faults = content["entry"], list[str]()
    if wrong := seal_fault(content):
        faults.append(wrong)
    keys = (DatedKey(key),) if isinstance(key, str) else tuple(key or ())
    if key is not None:
        faults += _signer_faults(entry, keys)
    faults += _withdrawal_faults(content, notices, keys)
    listed = file.with_name(MANIFEST)
    if not listed.is_file():
        faults.append("the manifest is missing")
    elif digest_of(listed) != entry["body"]["manifest"]:
        faults.append("the manifest is not the one that was published")
    else:
        named = read_manifest(listed)
        faults += manifest_faults(file.parent, named)
        faults += strange_files(file.parent, named, {MANIFEST, file.name})
    return Examination(content, key is not None, tuple(faults))
