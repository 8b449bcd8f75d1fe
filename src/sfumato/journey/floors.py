"""The floors of a ledger: what each chain promised first, and which releases fell below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.attacks.chain.weakened_chain import ChainRelease, Weakening
from sfumato.core.demand import Demand
from sfumato.core.errors import SfumatoError
from sfumato.core.imprint import Imprint
from sfumato.core.json_object import JsonObject
from sfumato.core.verdict import Finding
from sfumato.releases.floor import WeakerRelease, floor_of, judged_releases, weaker_releases
from sfumato.show.card import Card, Printable, several

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.ledger.record import Record


@dataclass(frozen=True)
class LedgerFloors(Printable):
    """What the chains of a ledger promised first, which releases promise less, and what attacks make of it.

    `floors` maps chains to the sentences of what their first release promised.
    """

    floors: dict[str, tuple[str, ...]]
    weaker: tuple[WeakerRelease, ...]
    findings: tuple[tuple[str, Finding], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every release keeps the floor of its chain, or somebody who may allowed less."""
        breach = any(finding.breach for _, finding in self.findings)
        return not breach and all(release.allowed_by for release in self.weaker)

    def as_dict(self) -> JsonObject:
        """Returns the result as JSON."""
        return {
            "holds": self.holds,
            "floors": {chain: list(told) for chain, told in self.floors.items()},
            "weaker": [release.as_dict() for release in self.weaker],
            "findings": [
                {"chain": chain, "sentence": finding.sentence, "breach": finding.breach}
                for chain, finding in self.findings
            ],
        }

    def card(self) -> Card:
        """Returns the result in a few lines."""
        chains = several(len(self.floors), "chain")
        title = f"{chains}: every release keeps what the first one promised"
        if not self.holds:
            title = f"{chains}: a release promises LESS than the first one of its chain"
        lines = [(chain, "; ".join(told) or "not known") for chain, told in self.floors.items()]
        word = {True: "BREACH", False: "found"}
        notes = [
            f"{word[finding.breach]}: chain {chain}, {finding.sentence}" for chain, finding in self.findings
        ]
        return Card(title, lines, [*map(str, self.weaker), *notes])


def ledger_floors(ledger: Ledger, chain: str | None = None, *, attack: bool = True) -> LedgerFloors:
    """Returns what every chain, or one, promised first, and which releases promise less.

    Without `attack` what is remembered of releases is not read.
    """
    records = ledger.history(chain, memory=attack)
    chains: dict[str, list[Record]] = {}
    for record in judged_releases(records):
        chains.setdefault(record.chain, []).append(record)
    weaker = weaker_releases(records)
    allowed = {release.number for release in weaker if release.allowed_by}
    findings = [
        (name, finding)
        for name, releases in chains.items()
        if attack
        for finding in _attacked(releases, allowed)
    ]
    floors = {name: tuple(_sentences(releases)) for name, releases in chains.items()}
    return LedgerFloors(floors, tuple(weaker), tuple(findings))


def _attacked(records: Sequence[Record], allowed: set[int]) -> list[Finding]:
    """What somebody learns who holds the releases of a chain."""
    floor = floor_of(records)
    if floor is None:
        return []
    releases = [
        ChainRelease(r.sequence, r.recipient, _demands(r), _imprint(r), r.number in allowed)
        for r in records
        if r.override is None
    ]
    coalition = floor.statement["recipients"]["coalition"] != "none"
    return Weakening(releases, coalition=coalition).findings() if releases else []


def _demands(record: Record) -> list[list[Demand]]:
    return [[Demand.from_dict(words) for words in promise] for promise in record.statement["promises"]]


def _imprint(record: Record) -> Imprint | None:
    try:
        return Imprint.from_json(record.memory) if record.memory else None
    except SfumatoError:
        return None


def _sentences(records: Sequence[Record]) -> Iterator[str]:
    floor = floor_of(records)
    for promise in () if floor is None else floor.statement["promises"]:
        yield str(promise[0]["sentence"])
