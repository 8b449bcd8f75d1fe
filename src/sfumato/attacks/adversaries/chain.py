"""Adversaries who hold several releases of the same people, as an audit beside a history tries them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.attacks.adversaries.composition import Composition, Differencing
from sfumato.attacks.adversaries.posterior_belief import PosteriorBelief, sought_columns
from sfumato.attacks.correspondence import Correspondence, Method, correspondence
from sfumato.models.attack_contract import SEVERAL_RELEASES, Attack, PublishedTable, format_people, register
from sfumato.models.continuous.attack import Minimality
from sfumato.policy.policy import Policy, against_register, asks_of_several
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import UNASKED, AttackLimits, Finding
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import Imprint, in_order_of_newest


@register("correspondence")
@dataclass(frozen=True)
class CorrespondenceAttack:
    """Forward, cross and backward: records that cannot be a person's are ruled out release by release.

    Without earlier releases to hold against the table there is nothing to find.

    Source: Fung, Wang, Fu and Pei, *Anonymity for continuous data publishing*, 2008.
    Silent on: releases of other holders (see composition).
    """

    releases: tuple[Imprint, ...] = ()
    k: int | None = None
    method: Method = "exact"
    register: bool = False

    name: ClassVar[str] = "correspondence"
    knows: ClassVar[str] = "all releases, somebody's key columns, and when that person came"
    seeks: ClassVar[str] = "which record is theirs"
    succeeds: ClassVar[str] = "fewer records than promised remain possible"
    needs: ClassVar[str] = SEVERAL_RELEASES
    threatens: ClassVar[tuple[str, ...]] = ("continuous", "k-anonymity")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        if len(self.releases) < 2:
            return []
        k = self.k or limits.asked_k or UNASKED
        joint = correspondence(self.releases, method=self.method, register=self.register, k=k)
        return self.findings(joint, k)

    def findings(self, joint: Correspondence, k: int) -> list[Finding]:
        """Returns one finding per release that somebody may have come with."""
        return [self._finding(joint, t, k) for t in range(len(joint.targets))]

    def _finding(self, joint: Correspondence, t: int, k: int) -> Finding:
        target = joint.targets[t]
        last = target.per_class.get(len(self.releases) - 1, np.zeros(0, np.int64))
        sizes = self.releases[-1].sizes[: len(last)]
        broken = (last >= 0) & (last < k)
        people = int(sizes[broken].sum())
        kept = target.least
        unsure = target.open if target.certain or target.seen else max(target.open, target.few)
        where = f"; {format_people(people)} in classes where that is below {k}" if people else ""
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{joint.sentences[t]}{where}",
            confidence=Fraction(1, kept) if kept else Fraction(0),
            people=people,
            breach=kept is not None and kept < k and (target.certain or target.seen),
            columns=joint.chain.names,
            details={
                "release": t + 1,
                "candidates": -1 if kept is None else kept,
                "asked": k,
                "exact": str(target.certain),
            },
            not_tried=f"whether {pluralize(unsure, 'target keeps', 'targets keep')} {k} candidates"
            if unsure
            else "",
        )


def adversaries(
    releases: Sequence[Imprint], policy: Policy, table: Microdata | None = None
) -> tuple[Attack, ...]:
    """Returns everybody who holds these releases, oldest first; the newest is the one audited.

    `table` is the audited table as it was counted: it tells which values the releases hold.
    """
    given, k = tuple(in_order_of_newest(releases)), policy.promises.limits.asked_k
    stopped = all(p.by_size for p in policy.promises)
    held = given if stopped else ()  # another promise may have stopped the search
    return (
        CorrespondenceAttack(given, k, register=against_register(policy)),
        Differencing(given, k),
        Composition(given),
        Minimality(held, k),
        PosteriorBelief(given, table, sought_columns(policy), promised=asks_of_several(policy)),
    )
