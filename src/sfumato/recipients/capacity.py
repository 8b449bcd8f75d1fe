"""Capacity: how many recipients a policy serves, at its quality and at a little less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.core.adversary import Adversary
from sfumato.core.json_object import JsonObject
from sfumato.policy.recipients import Coalition, RecipientRule
from sfumato.protection.recipients.assignment import AvailableVersions
from sfumato.show.card import Card, several
from sfumato.show.document import json_ready

TOLERANCES = (Fraction(0), *(Fraction(p, 100) for p in (1, 2, 5, 10, 20, 50)))
"""Shares of the best loss by which versions may be worse."""

COALITION_NOTES = {
    Coalition.NONE: "what recipients learn who put their versions together is not judged",
    Coalition.PAIRS: "every promise is kept also where two put their versions together, who have {knows}",
    Coalition.ANY: "every promise is kept whoever puts versions together and has {knows}",
}

NOBODY = "nobody who puts versions together"


@dataclass(frozen=True)
class Capacity:
    """How many recipients can be served within tolerances.

    `exact` says that no larger family of patterns exists; else so many were found. `held` are the recipients
    served before; they are not among those counted. `costs` says how many patterns serve at the policy's
    tolerance against whom: nobody, one target, a register; `None` where the promises cannot be kept so.
    """

    rule: RecipientRule
    metric: str
    steps: tuple[tuple[Fraction, int], ...]
    exact: bool
    held: int = 0
    costs: tuple[tuple[str, int | None], ...] = ()

    @property
    def recipients(self) -> int:
        """How many the policy as it is serves."""
        return dict(self.steps)[self.rule.tolerance]

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """One line: how many the policy serves, and what more loss would buy."""
        more = f" more, beside {several(self.held, 'recipient')} served before," if self.held else ""
        now = self.recipients
        sentence = f"this policy serves {several(now, 'recipient')}{more} at this quality"
        better = [(t, n) for t, n in self.steps if t > self.rule.tolerance and n > now]
        grown = [better[i] for i in range(len(better)) if i == 0 or better[i][1] > better[i - 1][1]]
        parts = [f"{n} at {_percent(t)} more loss" for t, n in _first_and_last(grown)]
        return ", ".join([sentence, *parts])

    def as_dict(self) -> JsonObject:
        """Returns the capacity as JSON."""
        return {
            "recipients": self.recipients,
            "sentence": self.sentence,
            "quality": self.metric,
            "tolerance": json_ready(self.rule.tolerance),
            "frame_proof": self.rule.frame_proof,
            "coalition": self.rule.coalition.value,
            "adversary": self.rule.adversary.value,
            "costs": [{"against": who, "recipients": n} for who, n in self.costs],
            "patterns": [{"tolerance": json_ready(t), "recipients": n} for t, n in self.steps],
            "exact": self.exact,
            "held": self.held,
        }

    def card(self) -> Card:
        """Returns the capacity in a few lines."""
        lines = [(f"within {_percent(t)} of the best", several(n, "recipient")) for t, n in self.steps]
        framers = "nobody builds" if self.rule.frame_proof == 1 else f"no {self.rule.frame_proof} build"
        lines += [(f"against {who}", _served(n)) for who, n in self.costs]
        notes = (
            f"alike in {self.metric}; {framers} the version of another",
            COALITION_NOTES[self.rule.coalition].format(knows=self.rule.adversary.knows),
            "no family of patterns is larger" if self.exact else "larger families may exist",
        )
        return Card(self.sentence, lines, notes)


def capacity_of(versions: AvailableVersions, tolerances: Sequence[Fraction] = TOLERANCES) -> Capacity:
    """Returns how many recipients the versions of a table serve."""
    rule = versions.rule
    asked = sorted({*tolerances, rule.tolerance})
    steps = tuple((t, versions.most(t)) for t in asked)
    held = len({h.recipient for h in versions.held})
    exact, costs = versions.families.exact, _costs(versions, dict(steps)[rule.tolerance])
    return Capacity(rule, versions.metric, steps, exact, held, costs)


def _costs(versions: AvailableVersions, now: int) -> tuple[tuple[str, int | None], ...]:
    """Returns how many recipients patterns serve against nobody, one target and a register."""
    rule = versions.rule
    if rule.coalition is Coalition.NONE:
        return ()
    served: list[tuple[str, int | None]] = [
        (NOBODY, _most_under(versions, replace(rule, coalition=Coalition.NONE)))
    ]
    for adversary in (Adversary.TARGET, Adversary.REGISTER):
        if adversary is rule.adversary:
            served.append((adversary.value, now))
        elif adversary is Adversary.TARGET and versions.patterns.promises.about_beliefs:
            served.append((adversary.value, None))
        else:
            served.append((adversary.value, _most_under(versions, replace(rule, adversary=adversary))))
    return tuple(served)


def _most_under(versions: AvailableVersions, rule: RecipientRule) -> int:
    other = AvailableVersions(versions.patterns, rule, versions.metric, held=versions.held)
    return other.most()


def least_tolerance_for(
    versions: AvailableVersions, count: int, tolerances: Sequence[Fraction] = TOLERANCES
) -> Fraction | None:
    """Returns the least of some tolerances that serves so many recipients."""
    rule = versions.rule
    for tolerance in sorted(t for t in tolerances if t > rule.tolerance):
        wider = replace(rule, tolerance=tolerance)
        more = AvailableVersions(versions.patterns, wider, versions.metric, held=versions.held)
        if more.most() >= count:
            return tolerance
    return None


def _served(count: int | None) -> str:
    return "not for these promises" if count is None else several(count, "recipient")


def _percent(share: Fraction) -> str:
    whole = share * 100
    return f"{int(whole)} %" if whole.denominator == 1 else f"{float(whole):g} %"


def _first_and_last(steps: Sequence[tuple[Fraction, int]]) -> list[tuple[Fraction, int]]:
    """Returns the first and the last of some steps."""
    return list(steps) if len(steps) < 3 else [steps[0], steps[-1]]
