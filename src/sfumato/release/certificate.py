"""Certificates: proof of what was published and promised, for whoever has the files and the public key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import BadData
from sfumato.core.json_object import JsonMapping, JsonObject, read_json
from sfumato.releases import manifest
from sfumato.releases.ledger.entry import WITHDRAWAL, Entry, seal_fault
from sfumato.releases.ledger.keys import DatedKey
from sfumato.releases.ledger.record import REMARKS
from sfumato.releases.ledger.seals import canonical
from sfumato.releases.receipt import remarks_on
from sfumato.show.card import Card
from sfumato.system.disk import LARGEST_NOTE, digest_of, read_document

CERTIFICATE = "certificate.json"
VERSION = 1


def certificate(entry: Entry) -> JsonObject:
    """Returns what may be shown of a sealed entry; the same entry gives the same bytes."""
    shown = {**entry.public, "body": json.loads(entry.body)}
    return {"sfumato": VERSION, "entry": shown, "hash": entry.hash, "signature": entry.signature}


def as_bytes(content: JsonMapping) -> bytes:
    """Returns the bytes of the certificate file."""
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()


def read(path: Path) -> JsonObject:
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
        found = read_json(read_document(path, most=LARGEST_NOTE))
        body = found["entry"]["body"]
        texts = [body[name] for name in ("ledger", "release", "hash", "reason", "at")]
        if found["entry"]["kind"] != WITHDRAWAL or type(found["entry"]["number"]) is not int:
            raise TypeError
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
        wrong = seal_fault(found)
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
    return dict(found)


def _withdrawal_faults(
    content: JsonMapping, notices: Sequence[JsonMapping], keys: Sequence[DatedKey]
) -> Iterator[str]:
    """Yields that the release was withdrawn, where one of the notices says so and may."""
    for notice in notices:
        said, entry = notice["entry"]["body"], content["entry"]
        if (said["release"], said["hash"]) != (entry["release"], content["hash"]):
            continue
        if wrong := list(_signer_faults(notice["entry"], keys)) if keys else []:
            yield wrong[0].replace("the certificate", "the notice of withdrawal")
        else:
            yield f"the release was withdrawn on {said['at'][:10]}: {said['reason']}"


def examine(
    path: str | Path,
    *,
    key: str | Sequence[DatedKey] | None = None,
    notices: Sequence[JsonMapping] = (),
) -> Examination:
    """Compares a certificate with the files beside it, and its signature with the public key, or several.

    `notices` are of withdrawals: a certificate whose release was withdrawn does not hold.
    """
    file = Path(path)
    content = read(file)
    entry, faults = content["entry"], list[str]()
    if wrong := seal_fault(content):
        faults.append(wrong)
    keys = (DatedKey(key),) if isinstance(key, str) else tuple(key or ())
    if key is not None:
        faults += _signer_faults(entry, keys)
    faults += _withdrawal_faults(content, notices, keys)
    listed = file.with_name(manifest.MANIFEST)
    if not listed.is_file():
        faults.append("the manifest is missing")
    elif digest_of(listed) != entry["body"]["manifest"]:
        faults.append("the manifest is not the one that was published")
    else:
        named = manifest.read(listed)
        faults += manifest.faults(file.parent, named)
        faults += manifest.strange_files(file.parent, named, {manifest.MANIFEST, file.name})
    return Examination(content, key is not None, tuple(faults))
