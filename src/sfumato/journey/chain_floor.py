"""The floor of a chain, held: a release promises no less than the first one, or somebody signed for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sfumato.core.errors import RefusedByHistory, WrongCall
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.policy.doctor.diagnosis import Diagnosis, Severity
from sfumato.policy.policy import Policy
from sfumato.policy.strictness import ComparedPart, statement_of, statement_of_0_1, weaker_parts
from sfumato.releases.floor import Floor, floor_of
from sfumato.releases.ledger.record import Record
from sfumato.releases.weaker_override import WeakerOverride


@dataclass(frozen=True)
class HeldFloor:
    """What the ledger is told of a release: what its policy promises, and who allowed it to promise less.

    `floor` is what the chain's first policy promised, where no earlier entry holds that.
    """

    statement: JsonMapping
    floor: JsonMapping = field(default_factory=dict)
    weaker: JsonObject | None = None


@dataclass(frozen=True)
class ChainFloor:
    """A policy that is to be held to the floor of a chain.

    `first_policy` is the one of the first release, for chains that version 0.1 began. `overrides` were given
    for this release, `ledger_keys` are those of the ledger, `now` is the time by which overrides end.
    """

    policy: Policy
    chain: str
    first_policy: Policy | None
    overrides: Sequence[WeakerOverride]
    ledger_keys: Collection[str]
    now: datetime

    def hold(self, history: Sequence[Record]) -> HeldFloor:
        """Returns what to enter in the ledger; raises `RefusedByHistory` where the policy promises less."""
        stated, found = statement_of(self.policy), floor_of(history)
        if found is None:
            self._refuse_needless("the chain has no release yet: its first one says what is promised")
            return HeldFloor(stated)
        floor = self._known(found)
        to_seal = floor.statement if floor.whole and not found.whole else {}
        parts = weaker_parts(stated, floor.statement)
        if not parts:
            self._refuse_needless("the policy promises no less than the first one of the chain")
            return HeldFloor(stated, to_seal)
        return HeldFloor(stated, to_seal, self._allowed(parts, floor))

    def _known(self, floor: Floor) -> Floor:
        """The whole floor, where the policy of the first release is at hand."""
        if self.first_policy is not None and self.first_policy.digest != floor.policy:
            raise WrongCall(
                f"this is not the policy that the first release of chain {self.chain} was made by",
                remedy="Its digest is in the first certificate. Files that it names belong beside it.",
            )
        if floor.whole:
            return floor
        for policy in (self.policy, self.first_policy):
            if policy is not None and policy.digest == floor.policy:
                return Floor(statement_of_0_1(policy), whole=True)
        return floor

    def _allowed(self, parts: Sequence[ComparedPart], floor: Floor) -> JsonObject:
        """Who allowed the policy to promise less, and what it promises less of; raises where nobody did."""
        lasting = [part for part in parts if part.lasting]
        if lasting:
            raise RefusedByHistory(
                f"no override can weaken this: {lasting[0]}",
                remedy="Promise as much as the first release did.",
            )
        if not self.overrides:
            raise self._refusal(parts, floor)
        override = self.overrides[0]
        override.check(
            policy=self.policy.digest,
            chain=self.chain,
            overriders=floor.overriders,
            ledger_keys=self.ledger_keys,
            now=self.now,
        )
        return {**override.as_dict(), "parts": [str(part) for part in parts]}

    def _refusal(self, parts: Sequence[ComparedPart], floor: Floor) -> RefusedByHistory:
        more = f" (and {len(parts) - 1} more)" if len(parts) > 1 else ""
        message = f"the policy promises less than the first release of chain {self.chain}: {parts[0]}{more}"
        if not floor.whole:
            remedy = (
                "Name the policy of the first release with --first-policy, so that all of it can be compared."
            )
        elif floor.overriders:
            remedy = (
                "Promise as much, or have it signed by one of those whom the first policy lists under"
                " recipients.overriders: `sfumato override --weaker`."
            )
        else:
            remedy = "Promise as much: the first policy lists nobody who could allow less."
        return RefusedByHistory(message, remedy=remedy)

    def _refuse_needless(self, why: str) -> None:
        if self.overrides:
            raise WrongCall(f"{why}: there is nothing to override", remedy="Leave the override out.")


def floor_warning(policy: Policy, history: Sequence[Record], chain: str) -> Diagnosis | None:
    """Returns a warning that `release` would refuse the policy in this chain; `None` if it would not.

    An override that somebody may have signed is not known here.
    """
    floor = ChainFloor(policy, chain, None, (), (), datetime.now(UTC))
    try:
        floor.hold(history)
    except RefusedByHistory as refused:
        what = f"`release` would refuse this: {refused.message}"
        return Diagnosis("below-the-floor", Severity.WARNING, f"chain {chain}", what, 1, refused.remedy)
    return None
