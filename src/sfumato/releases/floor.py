"""The floor of a chain: what its first release promised, and no later one may fall below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.policy.strictness import weaker_parts
from sfumato.releases.ledger.record import Record
from sfumato.releases.ledger.seals import signed
from sfumato.releases.weaker_override import WeakerOverride


@dataclass(frozen=True)
class Floor:
    """What the first release of a chain promised: its statement."""

    statement: JsonMapping

    @property
    def overriders(self) -> tuple[str, ...]:
        """The public keys of those who may let a later release promise less."""
        return tuple(self.statement.get("recipients", {}).get("overriders", ()))


def floor_of(history: Sequence[Record]) -> Floor | None:
    """Returns the floor of a chain, given its releases in order; `None` before the first one.

    Imported versions promise nothing: they are no floor.
    """
    history = judged_releases(history)
    return Floor(history[0].statement) if history else None


def judged_releases(history: Sequence[Record]) -> Sequence[Record]:
    """Returns the releases that were judged when they were made, without those that were imported."""
    return [record for record in history if not record.imported]


@dataclass(frozen=True)
class WeakerRelease:
    """A release below the floor of its chain: which parts promise less, and who allowed it, if anybody."""

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


def weaker_releases(records: Sequence[Record]) -> list[WeakerRelease]:
    """Returns every release below the floor of its chain, in the order of entry.

    An override for one recipient is part of what was promised, and not counted.
    """
    chains: dict[str, list[Record]] = {}
    for record in records:
        chains.setdefault(record.chain, []).append(record)
    found = [weaker for chain in chains.values() for weaker in _below(chain)]
    return sorted(found, key=lambda release: release.number)


def _below(chain: Sequence[Record]) -> Iterator[WeakerRelease]:
    chain, floor = judged_releases(chain), floor_of(chain)
    for record in chain[1:]:
        if floor is not None and (parts := weaker_parts(record.statement, floor.statement)):
            told = tuple(str(part) for part in parts)
            by = _signed_by(record, floor)
            yield WeakerRelease(record.number, record.chain, record.sequence, told, by)


def _signed_by(record: Record, floor: Floor) -> str | None:
    """Returns who allowed a release to promise less; `None` where no overrider of the floor signed for it."""
    if not record.weaker:
        return None
    override = WeakerOverride(**{f.name: str(record.weaker.get(f.name, "")) for f in fields(WeakerOverride)})
    genuine = signed(override.message, override.signature, override.public_key)
    fitting = (override.policy, override.chain) == (record.policy, record.chain)
    return override.by if genuine and fitting and override.public_key in floor.overriders else None
