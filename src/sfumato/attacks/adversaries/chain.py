"""Adversaries who hold several releases of the same people, as an audit beside a history tries them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.attacks.correspondence import Correspondence, Method, correspondence
from sfumato.models.attack_contract import (
    SEVERAL_RELEASES,
    Criterion,
    HeldReleases,
    PublishedTable,
    format_people,
    register,
)
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import UNASKED, AttackLimits, Finding
from sfumato.table.release_summary import Imprint


@register
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

    name: ClassVar[str] = "correspondence"
    knows: ClassVar[str] = "all releases, somebody's key columns, and when that person came"
    seeks: ClassVar[str] = "which record is theirs"
    succeeds: ClassVar[str] = "fewer records than promised remain possible"
    needs: ClassVar[str] = SEVERAL_RELEASES
    criterion: ClassVar[Criterion] = Criterion.LINKABILITY
    threatens: ClassVar[tuple[str, ...]] = ("continuous", "k-anonymity")

    @classmethod
    def holding(cls, evidence: HeldReleases) -> CorrespondenceAttack:
        """Returns the attack of somebody who holds these releases."""
        return cls(evidence.releases, evidence.k)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        if len(self.releases) < 2:
            return []
        k = self.k or limits.asked_k or UNASKED
        joint = correspondence(self.releases, method=self.method, k=k)
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
        candidates = target.least
        unsure = target.open if target.certain or target.seen else max(target.open, target.few)
        where = f"; {format_people(people)} in classes where that is below {k}" if people else ""
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{joint.sentences[t]}{where}",
            confidence=Fraction(1, candidates) if candidates else Fraction(0),
            people=people,
            breach=candidates is not None and candidates < k and (target.certain or target.seen),
            columns=joint.chain.names,
            details={
                "release": t + 1,
                "candidates": -1 if candidates is None else candidates,
                "asked": k,
                "exact": str(target.certain),
            },
            not_tried=f"whether {pluralize(unsure, 'target keeps', 'targets keep')} {k} candidates"
            if unsure
            else "",
        )
