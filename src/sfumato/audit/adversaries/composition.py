"""The composition attack: sets of possible values of two releases, intersected."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np

from sfumato.attacks.attack import SEVERAL_RELEASES
from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.attacks.registry import register
from sfumato.core.chain import Chain, match_blocks
from sfumato.core.imprint import Imprint
from sfumato.core.limits import VALUES, AttackLimits
from sfumato.core.verdict import Finding
from sfumato.kernels.chains.overlaps import NO_OVERLAP, least_overlaps
from sfumato.show.card import several

THREE_TOGETHER = "values possible in three releases or more at once"


@register("composition")
@dataclass(frozen=True)
class Composition:
    """Somebody who is in two releases has a value that both of their classes hold.

    Only the sets of values are intersected, not the counts, so the releases may come from holders who know
    nothing of each other, as long as they use the same trees. A pair of classes with fewer common values than
    promised is a breach; one with a single value gives it away.

    Source: Ganta, Kasiviswanathan and Smith, *Composition attacks and auxiliary information*, 2008.
    """

    releases: tuple[Imprint, ...] = ()
    values: int | None = None

    name: ClassVar[str] = "composition"
    knows: ClassVar[str] = "two releases that somebody is in, and that person's key columns"
    seeks: ClassVar[str] = "the person's sensitive values"
    succeeds: ClassVar[str] = "few values, or one, are possible in both"
    needs: ClassVar[str] = SEVERAL_RELEASES
    threatens: ClassVar[tuple[str, ...]] = ("l-diversity", "continuous")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        asked = self.values or ceil(limits.over_columns(VALUES))
        chain = Chain.of(self.releases) if len(self.releases) > 1 else None
        if chain is None:
            return []
        last = len(chain) - 1
        return [self._between(chain, i, last, asked) for i in range(last)]

    def _between(self, chain: Chain, i: int, j: int, asked: int) -> Finding:
        one, other = chain.releases[i], chain.releases[j]
        matched = match_blocks(chain.trees, one, other)
        order = np.argsort(matched.other, kind="stable")
        begin = np.searchsorted(matched.other[order], np.arange(matched.count + 1)).astype(np.int64)
        each, every = np.ones(len(one.owner), np.int64), np.ones(len(other.owner), np.int64)
        common, _, _, _, _ = least_overlaps(
            one.start, matched.one, each, begin, other.owner[order], every, len(other)
        )
        there = common != NO_OVERLAP
        least = int(common[there].min(initial=NO_OVERLAP)) if there.any() else 0
        few, single = there & (common < asked), there & (common == 1)
        people = int(one.sizes[few].sum())
        parts = [f"at worst {several(least, 'common value')}" if there.any() else "nobody can be in both"]
        if single.any():
            parts.append(f"one alone for some of {crowd(int(one.sizes[single].sum()))}")
        if (few & ~single).any():
            parts.append(f"fewer than {asked} for some of {crowd(people)}")
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"releases {i + 1} and {j + 1}: {'; '.join(parts)}",
            confidence=Fraction(1, least) if least else Fraction(0),
            people=people,
            breach=bool(few.any()),
            columns=chain.names,
            details={"fewest common values": least, "asked": asked, "classes": int(few.sum())},
            not_tried=THREE_TOGETHER if len(chain) > 2 else "",
        )
