"""The check of a table against adversaries who know the search, where the policy asks for it."""
# ruff: noqa: PLC0415  # attacks are loaded where a policy asks for them

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.errors import BadInput, TellingSearch, WrongCall
from sfumato.core.progress import Progress, one_step
from sfumato.engine import open_source
from sfumato.engine.source import Source
from sfumato.policy.known_search_rule import KEY, Doubt, KnownSearchRule
from sfumato.policy.policy import Policy
from sfumato.protection.plan import Plan
from sfumato.show.card import figure

if TYPE_CHECKING:
    from sfumato.attacks.attack import Attack
    from sfumato.attacks.audit import Audit
    from sfumato.attacks.worlds.known_search import KnownSearch
    from sfumato.core.verdict import Finding

SEED = 0
"""What is drawn is the same in every run."""
ALL_WORLDS = "all worlds"


@dataclass(frozen=True)
class MeasuredGain:
    """What an attack came to: the largest gain, whether a limit of a promise is exceeded, and why not all of
    it is known; `column` is where the most is told."""

    attack: str
    gain: Fraction = Fraction(0)
    breach: bool = False
    doubt: str = ""
    column: str = ""

    def words(self, limit: Fraction) -> str:
        """Returns it for the certificate, without a cell value."""
        how = ALL_WORLDS if not self.doubt else f"NOT all worlds: {self.doubt}"
        return f"{_chance(self.gain)} gained by knowing the search, at most {limit} allowed ({how})"


def check_known_search(source: Source, plan: Plan, policy: Policy, progress: Progress) -> dict[str, str]:
    """Attacks what the plan publishes of a source as the policy's `known-search` says; returns what was
    measured, by attack. Nothing is done where the policy does not say so.

    Raises `TellingSearch` where somebody gains more than the policy allows, where more is known of somebody
    than a promise allows, or, unless the policy says `doubt: publish`, where not all worlds were listed. The
    register is everybody's key columns in the table that was counted.
    """
    rule = policy.known_search
    if rule is None:
        return {}
    with one_step(progress, "attacks by who knows the search"):
        measured = _measured(rule, source, plan, policy, progress)
    for one in measured:
        _refuse(one, rule.gains[one.attack], rule.doubt)
    return {one.attack: one.words(rule.gains[one.attack]) for one in measured}


def check_searched(policy: Policy) -> None:
    """Raises `WrongCall` where a policy asks for attacks on its search, and none is made."""
    if policy.known_search is not None:
        raise WrongCall(
            "what adversaries learn who know the search is not measured where none is made",
            where=KEY,
            remedy=f"Leave `like` out, or {KEY} out of the policy.",
        )


def check_no_versions(policy: Policy) -> None:
    """Raises `WrongCall` where versions are chosen for recipients, and the policy speaks of its search."""
    for asked, where in ((policy.known_search, KEY), (policy.protect.stricter, "protect.stricter")):
        if asked:
            raise WrongCall(
                "versions for recipients are chosen among many, not as the search decides",
                where=where,
                remedy=f"Leave {where} out of the policy, or release one table to one recipient.",
            )


def _measured(
    rule: KnownSearchRule, source: Source, plan: Plan, policy: Policy, progress: Progress
) -> list[MeasuredGain]:
    """Returns what every attack of the rule came to; the table is recoded and read once for all of them."""
    from sfumato.attacks.audit import audit
    from sfumato.journey.known_search import known_search

    known = known_search(policy, steps=rule.steps, seed=SEED)
    attacks = [_ATTACKS[name](known, plan) for name in rule.gains]
    try:
        published = open_source(source.recode(plan.recoding, drop=policy.dropped, progress=progress))
        found = audit(published, policy, attacks=attacks, progress=progress)
    except BadInput as wrong:
        return [MeasuredGain(name, doubt=wrong.message) for name in rule.gains]
    return [_gain(name, found, known, plan) for name in rule.gains]


def _gain(name: str, found: Audit, known: KnownSearch, plan: Plan) -> MeasuredGain:
    """Returns what one of the attacks came to."""
    failed = [why for why in found.failed if why.startswith(f"{name}:")]
    findings = [one for one in found.findings if one.attack == name]
    if failed or not findings:
        why = failed[0] if failed else known.classes_silent or "nothing could be attacked"
        return MeasuredGain(name, doubt=why)
    worst = max(findings, key=lambda one: (one.breach, _largest(one)))
    return MeasuredGain(
        name,
        max(map(_largest, findings)),
        worst.breach,
        _doubt(name, findings, plan),
        ", ".join(worst.columns),
    )


def _largest(finding: Finding) -> Fraction:
    """Returns how much anybody gains by an attack."""
    return Fraction(finding.details.get("largest gain", 0))


def _doubt(name: str, findings: Sequence[Finding], plan: Plan) -> str:
    """Returns why what was found need not be all; nothing where all worlds were listed."""
    if name == "downcoding" and plan.suppressed:
        return "suppressed rows are not guessed at"
    for one in findings:
        method = one.details["method"]
        if one.details.get("impossible"):
            return "the search gives this table in none of the worlds"
        if method not in (ALL_WORLDS, "none"):
            looked, told = one.details["people drawn"], one.details["people told of"]
            return f"{looked} people drawn, {told} told of, class by class"
    return ""


def _refuse(measured: MeasuredGain, limit: Fraction, doubt: Doubt) -> None:
    """Raises where a gain is too large, or not known."""
    where = f"{KEY}.{measured.attack}"
    if measured.breach or measured.gain > limit:
        most = f"guesses at {measured.column} that are up to {_chance(measured.gain)} likelier to be right"
        over = f", and {limit} is allowed" if measured.gain > limit else ""
        beyond = ", and knows more of somebody than a table may tell" if measured.breach else ""
        raise TellingSearch(
            f"somebody who knows how the search decides makes {most}{over}{beyond}; nothing was published",
            where=where,
            remedy=_REMEDY[measured.attack],
        )
    if measured.doubt and doubt is not Doubt.PUBLISH:
        raise TellingSearch(
            f"what somebody learns who knows how the search decides is not known for all worlds:"
            f" {measured.doubt}; nothing was published",
            where=where,
            remedy=f"Allow more `steps`, or say `doubt: publish` under {KEY} to go by what was looked at.",
        )


def _chance(share: Fraction) -> str:
    """Returns a difference of chances, rounded away from nothing where it is something."""
    return figure(float(share)) if share.denominator > 1000 else str(share)


def _minimality(known: KnownSearch, plan: Plan) -> Attack:
    from sfumato.attacks.worlds.minimality import ValueMinimality

    return ValueMinimality(known, plan.recoding.table)


def _downcoding(known: KnownSearch, plan: Plan) -> Attack:  # noqa: ARG001  # every attack is made alike
    from sfumato.attacks.worlds.downcoding import Downcoding

    return Downcoding(known)


_ATTACKS: dict[str, Callable[[KnownSearch, Plan], Attack]] = {
    "minimality": _minimality,
    "downcoding": _downcoding,
}
_REMEDY = {
    "minimality": "Ask the search for more than is promised (`protect: {stricter: 1/2}`), promise more, or"
    " allow a larger gain.",
    "downcoding": "Promise a larger k, or allow a larger gain.",
}
