"""Overrides: a second person lets a later policy promise less than the first of its chain."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import date, datetime
from pathlib import Path

from sfumato.policy.strictness import weaker_parts
from sfumato.releases.ledger.keys import Key, canonical, signed
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.names import checked_name, look_of
from sfumato.system.disk import LARGEST_NOTE, read_document
from sfumato.system.errors import BadData, UsageError
from sfumato.system.json_object import JsonMapping, JsonObject, document_bytes, read_json

VERSION, KIND = 1, "weaker"
"""What tells the file of an override from others."""


@dataclass(frozen=True)
class WeakerOverride:
    """A policy that may promise less than the first one of a chain, by whom, until when (inclusive), signed.

    It is for one policy, by its digest, and one chain. The signature is by a key that the *first* policy
    lists under `recipients.overriders`, and never by the key of the ledger: two people are needed.
    """

    policy: str
    chain: str
    reason: str
    by: str
    until: str
    public_key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if not self.reason.strip() or not self.by.strip():
            raise UsageError("an override names a reason, and who gives it")
        try:
            date.fromisoformat(self.until)
        except ValueError:
            raise UsageError("an override ends on a day such as 2026-12-31") from None

    def sign(self, key: Key) -> WeakerOverride:
        """Returns the same override, signed by its author."""
        named = replace(self, public_key=key.public)
        return replace(named, signature=key.sign(named.message))

    @property
    def message(self) -> bytes:
        """The bytes that are signed: all of it but the signature."""
        content = {name: value for name, value in asdict(self).items() if name != "signature"}
        return f"sfumato override {KIND} {canonical(content)}".encode()

    def as_dict(self) -> JsonObject:
        """Returns the override as JSON."""
        return {"sfumato-override": VERSION, "kind": KIND, **asdict(self)}

    def as_bytes(self) -> bytes:
        return document_bytes(self.as_dict())

    def check(
        self,
        *,
        policy: str,
        chain: str,
        overriders: Collection[str],
        ledger_keys: Collection[str],
        now: datetime,
    ) -> None:
        """Raises unless somebody whom the baseline lists, and who does not release, signed it for this."""
        if not signed(self.message, self.signature, self.public_key):
            raise BadData("the override was changed after it was signed, or signed by another key")
        if self.public_key in ledger_keys:
            raise UsageError(
                "the override is signed by the key of the ledger",
                remedy="It takes a second person, with a key of their own.",
            )
        if self.public_key not in overriders:
            raise UsageError(
                "the first policy of the chain does not let the author of the override give one",
                remedy="Ask somebody whom it lists under recipients.overriders.",
            )
        if self.policy != policy or self.chain != chain:
            raise UsageError("the override is for another policy or chain", remedy="Have a new one signed.")
        if now.date() > date.fromisoformat(self.until):
            raise UsageError(f"the override ended on {self.until}", remedy="Have a new one signed.")

    @classmethod
    def read(cls, path: str | Path) -> WeakerOverride:
        """Reads an override from its file; `check` looks at the signature."""
        file = Path(path)
        try:
            words = read_json(read_document(file, most=LARGEST_NOTE))
        except OSError:
            raise BadData("the override cannot be read", where=file.name) from None
        except ValueError:
            raise BadData("this is no override", where=file.name) from None
        named = dict(words) if isinstance(words, Mapping) else {}
        content = {f.name: named[f.name] for f in fields(cls) if type(named.get(f.name)) is str}
        what_it_is = named.get("sfumato-override"), named.get("kind")
        if what_it_is != (VERSION, KIND) or len(content) < len(fields(cls)):
            raise BadData("this is no override", where=file.name)
        return cls(**content)


# The baseline policy of a chain: what its first release promised, and no later one may fall below.


@dataclass(frozen=True)
class BaselinePolicy:
    """What the first release of a chain promised: its statement."""

    statement: JsonMapping

    @property
    def overriders(self) -> tuple[str, ...]:
        """The public keys of those who may let a later release promise less."""
        return tuple(self.statement.get("recipients", {}).get("overriders", ()))


def baseline_policy_of(history: Sequence[ReleaseRecord]) -> BaselinePolicy | None:
    """Returns the baseline policy of a chain, given its releases in order; `None` before the first one.

    Imported versions promise nothing: they are no baseline.
    """
    history = judged_releases(history)
    return BaselinePolicy(history[0].statement) if history else None


def judged_releases(history: Sequence[ReleaseRecord]) -> Sequence[ReleaseRecord]:
    """Returns the releases that were judged when they were made, without those that were imported."""
    return [record for record in history if not record.imported]


@dataclass(frozen=True)
class WeakerRelease:
    """A release below its chain's baseline policy: which parts promise less, and who allowed it."""

    number: int
    chain: str
    sequence: int
    parts: tuple[str, ...]
    allowed_by: str | None

    def __str__(self) -> str:
        by = f"allowed by {self.allowed_by}" if self.allowed_by else "allowed by nobody"
        release = f"entry {self.number}: release {self.sequence} of chain {self.chain}"
        return f"{release} promises less than the first, {by}: {self.parts[0]}"

    def as_dict(self) -> JsonObject:
        """Returns the release as JSON."""
        return {
            "entry": self.number,
            "chain": self.chain,
            "release": self.sequence,
            "parts": list(self.parts),
            "allowed_by": self.allowed_by,
        }


def weaker_releases(records: Sequence[ReleaseRecord]) -> list[WeakerRelease]:
    """Returns every release below the baseline policy of its chain, in the order of entry."""
    chains: dict[str, list[ReleaseRecord]] = {}
    for record in records:
        chains.setdefault(record.chain, []).append(record)
    releases = [weaker for chain in chains.values() for weaker in _below(chain)]
    return sorted(releases, key=lambda release: release.number)


def _below(chain: Sequence[ReleaseRecord]) -> Iterator[WeakerRelease]:
    chain, baseline = judged_releases(chain), baseline_policy_of(chain)
    for record in chain[1:]:
        if baseline is not None and (parts := weaker_parts(record.statement, baseline.statement)):
            sentences = tuple(str(part) for part in parts)
            by = _signed_by(record, baseline)
            yield WeakerRelease(record.number, record.chain, record.sequence, sentences, by)


def _signed_by(record: ReleaseRecord, baseline: BaselinePolicy) -> str | None:
    """Returns who allowed a release to promise less; `None` where no overrider of the baseline signed."""
    if not record.weaker:
        return None
    override = WeakerOverride(**{f.name: str(record.weaker.get(f.name, "")) for f in fields(WeakerOverride)})
    genuine = signed(override.message, override.signature, override.public_key)
    fitting = (override.policy, override.chain) == (record.policy, record.chain)
    return override.by if genuine and fitting and override.public_key in baseline.overriders else None


# The names of recipients, and the folders of their versions.

FORBIDDEN = frozenset('/\\:*?"<>|')
RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))]
)
"""Names that some systems take for devices."""
MOST_NAME_BYTES = 100


def recipients_of(to: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the recipients that were named, in their one spelling; raises where one is named twice.

    >>> recipients_of(["registry", "Ärzte"]), recipients_of(None)
    (('registry', 'Ärzte'), ())
    """
    listed = (to,) if isinstance(to, str) else tuple(to or ())
    names = tuple(checked_name(name, "recipient") for name in listed)
    if len(set(names)) < len(names):
        raise UsageError("a recipient is named twice", remedy="Everybody gets one version: name each once.")
    return names


def folders_of(names: Sequence[str]) -> dict[str, str]:
    """Returns the folder of every recipient's version, which has their name; a single recipient has none.

    Raises where a name is no safe folder name on every system.

    >>> folders_of(["registry", "lab"]), folders_of(["../lab"])
    ({'registry': 'registry', 'lab': 'lab'}, {'../lab': ''})
    """
    if len(names) == 1:
        return {names[0]: ""}
    name_by_look: dict[str, str] = {}
    for name in names:
        if why := _folder_name_fault(name):
            raise UsageError(
                f"a recipient's version is a folder of that name, and a name cannot {why}",
                remedy="Name the recipient in letters and digits.",
            )
        folded = look_of(name)
        if folded in name_by_look:
            raise UsageError(
                "two recipients have names that some systems do not tell apart",
                remedy="Names must differ in more than case.",
            )
        name_by_look[folded] = name
    return {name: name for name in names}


def _folder_name_fault(name: str) -> str:
    """Returns why a name cannot be that of a folder; nothing if it can."""
    if set(name) & FORBIDDEN or not name.isprintable():
        return "hold a separator or an invisible character"
    if name[0] in ". " or name[-1] in ". ":
        return "begin or end with a dot or a blank"
    if name.partition(".")[0].casefold() in RESERVED:
        return "be that of a device"
    return f"have more than {MOST_NAME_BYTES} bytes" if len(name.encode()) > MOST_NAME_BYTES else ""
