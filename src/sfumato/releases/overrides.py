"""Overrides: a second person lets one recipient have a smaller k, for a stated reason and time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from sfumato.policy.strictness import weaker_parts
from sfumato.releases.certificate import OverrideDocument, check_day, read_words
from sfumato.releases.ledger.keys import signed
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.names import checked_name, look_of
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonMapping, JsonObject


@dataclass(frozen=True)
class Override(OverrideDocument):
    """A smaller k that was allowed, by whom, until when (a day, inclusive), signed.

    It is for one policy, one chain and one recipient. The signature is by a key that the policy lists under
    `recipients.overriders`, and never by the key of the ledger: two people are needed.
    """

    kind: ClassVar[str] = ""
    policy: str
    chain: str
    recipient: str
    k: int
    reason: str
    by: str
    until: str
    public_key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        if self.k < 1 or isinstance(self.k, bool):
            raise UsageError("k is a whole number from 1")
        if not self.reason.strip() or not self.by.strip() or not self.recipient.strip():
            raise UsageError("an override names the recipient, a reason, and who gives it")
        check_day(self.until)

    def _unlisted(self) -> UsageError:
        return UsageError(
            "the policy does not let the author of the override give one",
            remedy="List their public key under recipients.overriders, or ask somebody who is listed.",
        )

    def check(
        self,
        *,
        policy: str,
        chain: str,
        names: Collection[str],
        overriders: Collection[str],
        ledger_keys: Collection[str],
        now: datetime,
    ) -> None:
        """Raises unless a listed person other than the one who releases signed it, for this release."""
        self._check_author(overriders, ledger_keys)
        if self.recipient not in names:
            raise UsageError("the override is for somebody who is not named", remedy="Name them with --to.")
        self._check_purpose(policy, chain, now)


# Overrides of a chain's floor: a second person lets a later policy promise less, for a reason and a time.


@dataclass(frozen=True)
class WeakerOverride(OverrideDocument):
    """A policy that may promise less than the first one of a chain, by whom, until when, signed.

    It is for one policy, by its digest, and one chain. The signature is by a key that the *first* policy
    lists under `recipients.overriders`, and never by the key of the ledger: two people are needed.
    """

    kind: ClassVar[str] = "weaker"
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
        check_day(self.until)

    def _unlisted(self) -> UsageError:
        return UsageError(
            "the first policy of the chain does not let the author of the override give one",
            remedy="Ask somebody whom it lists under recipients.overriders.",
        )

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
        self._check_author(overriders, ledger_keys)
        self._check_purpose(policy, chain, now)


AnyOverride = Override | WeakerOverride


def read_override(path: str | Path) -> AnyOverride:
    """Reads an override of either kind from its file; `check` looks at the signature."""
    words = read_words(path)
    kind = WeakerOverride if words.get("kind") == WeakerOverride.kind else Override
    return kind.from_words(words, where=Path(path).name)


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
    """Returns every release below the baseline policy of its chain, in the order of entry.

    An override for one recipient is part of what was promised, and not counted.
    """
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
