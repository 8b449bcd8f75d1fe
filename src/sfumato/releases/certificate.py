"""Certificates: proof of what was published and promised, for whoever has the files and the public key."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.policy.policy import Policy
from sfumato.releases.ledger.keys import DatedKey, canonical
from sfumato.releases.ledger.record import REMARKS
from sfumato.releases.ledger.records import WITHDRAWAL, Entry, seal_fault
from sfumato.releases.receipt import remarks_on
from sfumato.system.disk import LARGEST_NOTE, digest_of, read_document
from sfumato.system.errors import BadData
from sfumato.system.json_object import JsonMapping, JsonObject, read_json
from sfumato.system.presentation.cards import Card, not_protected_lines
from sfumato.table.microdata import Role
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
    not_protected_lines(body.get("not_protected", {}))


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
        lines = [*not_protected_lines(entry["body"].get("not_protected", {})), ()]
        lines += [
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
            *_of_adversaries(entry["body"].get("adversaries", ())),
        )
        return Card(title, lines, notes)


def _of_adversaries(stated: Sequence[JsonMapping]) -> Iterator[str]:
    """Yields in a line that adversaries are named whom no promise stops."""
    if stated:
        yield f"names {len(stated)} adversaries whom no promise stops: --json and reports list them"


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


# Adversaries that no promise stops: the one list behind certificates, reports and limitations.

BLIND, INFORMED = "blind", "informed"
MEASURED = "measured"
SAID = "said"
NOT_COVERED = "not covered"
CLOSENESS = ("t-closeness", "beta-likeness")


@dataclass(frozen=True)
class Circumstances:
    """What decides which sentences a release needs.

    `grouping` says how people were put together, in this release and in those before (`BLIND`, `INFORMED`),
    `recipients` for how many the table is released, `refused` how often a release of it was refused before.
    """

    policy: Policy
    grouping: Collection[str] = (INFORMED,)
    recipients: int = 1
    refused: int = 0

    def has(self, role: Role) -> bool:
        """Whether columns of this role are published."""
        return any(self.policy.columns[name].role is role for name in self.policy.published)

    @property
    def unchanged(self) -> bool:
        """Whether anything is published as it is."""
        return any(not self.policy.columns[name].role.is_key for name in self.policy.published)

    @property
    def values(self) -> bool:
        """Whether a promise is about more than how many people a class has."""
        return any(not promise.by_size for promise in self.policy.promises)

    @property
    def close(self) -> bool:
        """Whether closeness of classes to the table is promised."""
        return any(promise.name in CLOSENESS for promise in self.policy.promises)

    @property
    def several_rows(self) -> bool:
        """Whether several rows of a person show values."""
        return self.policy.person is not None and self.policy.people.rows != 1


@dataclass(frozen=True)
class Applies:
    """Where a sentence is said: in words, and as a test."""

    words: str
    test: Callable[[Circumstances], bool]


ALWAYS = Applies("every release", lambda _: True)
UNCHANGED = Applies("sensitive or insensitive columns", lambda case: case.unchanged)
SENSITIVE = Applies("sensitive columns", lambda case: case.has(Role.SENSITIVE))
INSENSITIVE = Applies("insensitive columns", lambda case: case.has(Role.INSENSITIVE))
SERIES = Applies("chains", lambda case: case.policy.chain is not None or case.policy.promises.looks_back)
OF_GROUPS = Applies("chains of groups", lambda case: case.policy.chain is not None)
JOINED = Applies("blind groups, promises about values", lambda case: BLIND in case.grouping and case.values)
LOOKED_AT = Applies(
    "promises about values, groups not blind", lambda case: INFORMED in case.grouping and case.values
)
SEVERAL_ROWS = Applies(
    "several rows of a person show values", lambda case: case.several_rows and case.unchanged
)
REFUSED = Applies("refused before", lambda case: case.refused > 0)
APART = Applies("no promise of closeness", lambda case: case.has(Role.SENSITIVE) and not case.close)
VERSIONS = Applies("several recipients", lambda case: case.recipients > 1)


@dataclass(frozen=True)
class StatedAdversary:
    """Somebody who may learn more than is promised, in a sentence; `by` names the attacks that measure it."""

    who: str
    sentence: str
    applies: Applies
    by: Sequence[str] = ()
    covered: bool = True

    @property
    def state(self) -> str:
        """Whether it is measured, said, or not covered."""
        return MEASURED if self.by else SAID if self.covered else NOT_COVERED

    def document(self, case: Circumstances) -> JsonMapping:
        """Returns it as a certificate has it."""
        times = f"{case.refused} {'time' if case.refused == 1 else 'times'}"
        measured = {"by": [*self.by]} if self.by else {}
        return {
            "who": self.who,
            "state": self.state,
            "sentence": self.sentence.format(refused=times),
            **measured,
        }


STATED = (
    StatedAdversary(
        "knows how sensitive values follow from quasi-identifiers",
        "A value that follows from quasi-identifiers is guessed by whoever learns the rule, whether the"
        " person is in the table or not.",
        SENSITIVE,
        ("definetti",),
    ),
    StatedAdversary(
        "knows facts that tell the members of a class apart",
        "Nothing outside the table may tell the members of a class apart: a value that one of them cannot"
        " have, or the number of their visits, makes values of the others likelier.",
        UNCHANGED,
        covered=False,
    ),
    StatedAdversary(
        "knows how insensitive columns follow from quasi-identifiers",
        "An insensitive column that follows from quasi-identifiers helps to find a person's row in its"
        " class. What others may know of a person has to be a quasi-identifier.",
        INSENSITIVE,
    ),
    StatedAdversary(
        "knows one unchanged value of a person",
        "Whoever knows one sensitive or insensitive value of a person may find the row and read its other"
        " values.",
        UNCHANGED,
    ),
    StatedAdversary(
        "has tables of other owners or ledgers",
        "Only the releases of this ledger were held against each other. Tables of the same people from"
        " elsewhere may tell more together with this one.",
        ALWAYS,
        ("composition",),
    ),
    StatedAdversary(
        "knows families or infections",
        "People whose values go together, such as a family or an outbreak, may fill one class.",
        UNCHANGED,
    ),
    StatedAdversary(
        "sees who came, who went and who was erased",
        "The release in which somebody came, went or was taken out can be told from the files. Whoever"
        " leaves because of a value tells it.",
        SERIES,
    ),
    StatedAdversary(
        "knows values of other members of a class, their own included",
        "Whoever knows the values of b members of a class, their own included, faces its other rows: k -"
        " b of them, and no diversity is promised of these.",
        UNCHANGED,
    ),
    StatedAdversary(
        "is a member of a group that was joined",
        "Groups that broke a promise were joined with others. A member of a joined group may conclude"
        " more from their own value than the other rows show.",
        JOINED,
    ),
    StatedAdversary(
        "knows that rows of a person agree",
        "Several rows of a person show values. Whoever knows that two of them agree may find both.",
        SEVERAL_ROWS,
        ("intersection",),
    ),
    StatedAdversary(
        "asks what somebody ever had",
        "Limits hold for one row. Over m rows of a person, a value may be up to m times as likely to"
        " occur once.",
        SEVERAL_ROWS,
    ),
    StatedAdversary(
        "heard that a release was refused",
        "A release of this table was refused {refused} before this one. Whoever learns of a refusal may"
        " learn that people in it broke a promise.",
        REFUSED,
    ),
    StatedAdversary(
        "knows the program",
        "Sensitive values were looked at when classes were made. Whoever knows the program may conclude"
        " something from the classes that were not made.",
        LOOKED_AT,
        ("minimality",),
    ),
    StatedAdversary(
        "takes different values for the same",
        "Different values may mean the same, such as three kinds of cancer, and a class may differ from"
        " the table: closeness is not promised.",
        APART,
        ("skewness",),
    ),
    StatedAdversary(
        "holds some versions and does not know what the others promise",
        "Whoever holds some versions, and does not know that every class keeps the promises, may believe"
        " more than any class shows.",
        VERSIONS,
    ),
    StatedAdversary(
        "has the owner's files",
        "Whoever has the base of the chain and the key of the ledger reads every row, and knows how"
        " groups were drawn.",
        OF_GROUPS,
    ),
    StatedAdversary(
        "wants to know quasi-identifiers, or who is in the table",
        "Quasi-identifiers are generalized and not hidden, and neither is it who is in the table.",
        ALWAYS,
    ),
    StatedAdversary("knows anything else", "This is not differential privacy.", ALWAYS),
)


def stated_adversaries(case: Circumstances) -> list[JsonMapping]:
    """Returns what has to be said beside a release, as its certificate has it."""
    return [adversary.document(case) for adversary in STATED if adversary.applies.test(case)]
