"""The baseline policy of a chain: no release promises less than the first, unless somebody signed for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sfumato.draft.doctor import Diagnosis, Severity
from sfumato.policy.policy import Policy
from sfumato.policy.strictness import ComparedPart, statement_of, weaker_parts
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.releases.overrides import BaselinePolicy, WeakerOverride, baseline_policy_of
from sfumato.system.errors import RefusedByHistory, UsageError
from sfumato.system.json_object import JsonMapping, JsonObject


@dataclass(frozen=True)
class BaselineComparison:
    """What the ledger is told of a release: what its policy promises, and who allowed it to promise less."""

    statement: JsonMapping
    weaker: JsonObject | None = None


@dataclass(frozen=True)
class BaselineCheck:
    """A policy that is to be held to the baseline policy of a chain.

    `overrides` were given for this release, `ledger_keys` are those of the ledger, `now` is the time by which
    overrides end.
    """

    policy: Policy
    chain: str
    overrides: Sequence[WeakerOverride]
    ledger_keys: Collection[str]
    now: datetime

    def hold(self, history: Sequence[ReleaseRecord]) -> BaselineComparison:
        """Returns what to enter in the ledger; raises `RefusedByHistory` where the policy promises less."""
        stated, baseline = statement_of(self.policy), baseline_policy_of(history)
        if baseline is None:
            self._refuse_needless("the chain has no release yet: its first one says what is promised")
            return BaselineComparison(stated)
        parts = weaker_parts(stated, baseline.statement)
        if history[-1].is_of_groups:
            parts = [part for part in parts if not self._is_for_new_groups(part)]
        if not parts:
            self._refuse_needless("the policy promises no less than the first one of the chain")
            return BaselineComparison(stated)
        return BaselineComparison(stated, self._allowed(parts, baseline))

    def _is_for_new_groups(self, part: ComparedPart) -> bool:
        """Whether a part concerns new groups alone: the tree of a quasi-identifier in a chain of groups.

        That the same column tells people apart, or another one that does, is asked of the base.
        """
        names = [name for name, rule in self.policy.columns.items() if rule.role.is_key]
        return part.place in {"person", *(f"columns.{name}.taxonomy" for name in names)}

    def _allowed(self, parts: Sequence[ComparedPart], baseline: BaselinePolicy) -> JsonObject:
        """Who allowed the policy to promise less, and what it promises less of; raises where nobody did."""
        lasting = [part for part in parts if part.lasting]
        if lasting:
            raise RefusedByHistory(
                f"no override can weaken this: {lasting[0]}",
                remedy="Promise as much as the first release did.",
            )
        if not self.overrides:
            raise self._refusal(parts, baseline)
        override = self.overrides[0]
        override.check(
            policy=self.policy.digest,
            chain=self.chain,
            overriders=baseline.overriders,
            ledger_keys=self.ledger_keys,
            now=self.now,
        )
        return {**override.as_dict(), "parts": [str(part) for part in parts]}

    def _refusal(self, parts: Sequence[ComparedPart], baseline: BaselinePolicy) -> RefusedByHistory:
        more = f" (and {len(parts) - 1} more)" if len(parts) > 1 else ""
        message = f"the policy promises less than the first release of chain {self.chain}: {parts[0]}{more}"
        if baseline.overriders:
            remedy = (
                "Promise as much, or have it signed by one of those whom the first policy lists under"
                " recipients.overriders: `sfumato override --weaker`."
            )
        else:
            remedy = "Promise as much: the first policy lists nobody who could allow less."
        return RefusedByHistory(message, remedy=remedy)

    def _refuse_needless(self, why: str) -> None:
        if self.overrides:
            raise UsageError(f"{why}: there is nothing to override", remedy="Leave the override out.")


def baseline_warning(policy: Policy, history: Sequence[ReleaseRecord], chain: str) -> Diagnosis | None:
    """Returns a warning that `release` would refuse the policy in this chain; `None` if it would not.

    An override that somebody may have signed is not known here.
    """
    baseline = BaselineCheck(policy, chain, (), (), datetime.now(UTC))
    try:
        baseline.hold(history)
    except RefusedByHistory as refused:
        what = f"`release` would refuse this: {refused.message}"
        return Diagnosis("below-the-floor", Severity.WARNING, f"chain {chain}", what, 1, refused.remedy)
    return None
