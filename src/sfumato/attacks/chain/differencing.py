"""The differencing attack: what is in a later release and not in an earlier one is new."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sfumato.attacks.attack import SEVERAL_RELEASES
from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.attacks.registry import register
from sfumato.core.chain import Chain, ClassTable, match_blocks
from sfumato.core.imprint import Imprint
from sfumato.core.limits import UNASKED, AttackLimits
from sfumato.core.microdata import Counts
from sfumato.core.verdict import Finding
from sfumato.show.card import several


@register("differencing")
@dataclass(frozen=True)
class Differencing:
    """Wherever two releases cut the world the same way, subtracting one from the other leaves the newcomers.

    In every component of comparable classes the difference of the two counts of a value is exactly the number
    of newcomers who have it. A component with fewer than k newcomers, or whose newcomers share one value, is
    a breach.
    """

    releases: tuple[Imprint, ...] = ()
    k: int | None = None

    name: ClassVar[str] = "differencing"
    knows: ClassVar[str] = "two cumulative releases, and the key columns of somebody who came between them"
    seeks: ClassVar[str] = "the newcomer's record and sensitive values"
    succeeds: ClassVar[str] = "too few newcomers are left, or all of them share one value"
    needs: ClassVar[str] = SEVERAL_RELEASES
    threatens: ClassVar[tuple[str, ...]] = ("continuous", "l-diversity")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        if len(self.releases) < 2:
            return []
        chain = Chain.of(self.releases)
        k = self.k or limits.asked_k or UNASKED
        pairs = enumerate(pairwise(chain.releases))
        return [self._between(chain, i, one, other, k) for i, (one, other) in pairs]

    def _between(self, chain: Chain, i: int, one: ClassTable, other: ClassTable, k: int) -> Finding:
        total, most = newcomers(chain, one, other)
        some = total > 0
        few, alike = some & (total < k), some & (most == total)
        people = int(total[few | alike].sum())
        least = int(total[some].min(initial=np.iinfo(np.int64).max)) if some.any() else 0
        certain = int(total[alike].sum())
        best = Fraction(1, least) if least else Fraction(0)
        parts = [f"{crowd(int(total.sum()))} new"]
        if some.any():
            parts[0] += f" in {several(int(some.sum()), 'region')}"
        if some.sum() > 1:
            parts[0] += f", at least {least} in each"
        if few.any():
            parts.append(f"fewer than {k} in {int(few.sum())} of them")
        if certain:
            parts.append(f"values certain for {crowd(certain)}")
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"release {i + 2} less release {i + 1}: {'; '.join(parts)}",
            confidence=Fraction(1) if certain else best,
            people=people,
            breach=bool((few | alike).any()),
            columns=chain.names,
            details={"fewest newcomers": least, "regions": int(some.sum()), "one value": int(alike.sum())},
        )


def newcomers(chain: Chain, one: ClassTable, other: ClassTable) -> tuple[Counts, Counts]:
    """Returns, per region, the newcomers, and how many of them share the commonest value.

    A region is a component of comparable classes; where nobody is old, each class is a region of its own.
    """
    matched = match_blocks(chain.trees, one, other)
    fresh = matched.surplus(one, other)
    joins = int(max(matched.join_one.max(initial=-1), matched.join_other.max(initial=-1))) + 1
    has_earlier = np.zeros(joins, dtype=bool)
    has_earlier[matched.join_one] = True
    region = np.where(has_earlier[matched.join_other], matched.join_other, joins + np.arange(len(other)))[
        other.owner
    ]
    shared = has_earlier[matched.join_other[other.owner]]
    total, most = np.zeros(joins + len(other), np.int64), np.zeros(joins + len(other), np.int64)
    _, first = np.unique(matched.other, return_index=True)
    once = np.zeros(len(other.owner), dtype=bool)
    once[first] = True
    counts = np.where(shared, np.where(once, fresh[matched.other], 0), other.counts)
    np.add.at(total, region, counts)
    np.maximum.at(most, region, counts)
    return total, most
