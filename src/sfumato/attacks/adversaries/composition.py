"""The composition attack: sets of possible values of two releases, intersected."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import ClassVar

import numpy as np

from sfumato.models.attack_contract import (
    SEVERAL_RELEASES,
    Criterion,
    HeldReleases,
    PublishedTable,
    format_people,
    register,
)
from sfumato.models.continuous.chain import Chain, ClassTable, match_blocks
from sfumato.models.continuous.kernels import NO_OVERLAP, least_overlaps
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import UNASKED, VALUES, AttackLimits, Finding
from sfumato.table.microdata import Counts
from sfumato.table.release_summary import Imprint

THREE_TOGETHER = "values possible in three releases or more at once"


@register
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
    criterion: ClassVar[Criterion] = Criterion.LINKABILITY
    threatens: ClassVar[tuple[str, ...]] = ("l-diversity", "continuous")

    @classmethod
    def holding(cls, evidence: HeldReleases) -> Composition:
        """Returns the attack of somebody who holds these releases."""
        return cls(evidence.releases)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        fewest = self.values or ceil(limits.over_columns(VALUES))
        chain = Chain.of(self.releases) if len(self.releases) > 1 else None
        if chain is None:
            return []
        last = len(chain) - 1
        return [self._between(chain, i, last, fewest) for i in range(last)]

    def _between(self, chain: Chain, i: int, j: int, fewest: int) -> Finding:
        earlier, later = chain.releases[i], chain.releases[j]
        matched = match_blocks(chain.trees, earlier, later)
        order = np.argsort(matched.other, kind="stable")
        begin = np.searchsorted(matched.other[order], np.arange(matched.count + 1)).astype(np.int64)
        each, every = np.ones(len(earlier.owner), np.int64), np.ones(len(later.owner), np.int64)
        common, _, _, _, _ = least_overlaps(
            earlier.start, matched.one, each, begin, later.owner[order], every, len(later)
        )
        there = common != NO_OVERLAP
        least = int(common[there].min(initial=NO_OVERLAP)) if there.any() else 0
        few, single = there & (common < fewest), there & (common == 1)
        people = int(earlier.sizes[few].sum())
        parts = [f"at worst {pluralize(least, 'common value')}" if there.any() else "nobody can be in both"]
        if single.any():
            parts.append(f"one alone for some of {format_people(int(earlier.sizes[single].sum()))}")
        if (few & ~single).any():
            parts.append(f"fewer than {fewest} for some of {format_people(people)}")
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"releases {i + 1} and {j + 1}: {'; '.join(parts)}",
            confidence=Fraction(1, least) if least else Fraction(0),
            people=people,
            breach=bool(few.any()),
            columns=chain.names,
            details={"fewest common values": least, "asked": fewest, "classes": int(few.sum())},
            not_tried=THREE_TOGETHER if len(chain) > 2 else "",
        )


# The differencing attack: what is in a later release and not in an earlier one is new.


@register
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
    criterion: ClassVar[Criterion] = Criterion.LINKABILITY
    threatens: ClassVar[tuple[str, ...]] = ("continuous", "l-diversity")

    @classmethod
    def holding(cls, evidence: HeldReleases) -> Differencing:
        """Returns the attack of somebody who holds these releases."""
        return cls(evidence.releases, evidence.k)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        if len(self.releases) < 2:
            return []
        chain = Chain.of(self.releases)
        k = self.k or limits.asked_k or UNASKED
        pairs = enumerate(pairwise(chain.releases))
        return [self._between(chain, i, earlier, later, k) for i, (earlier, later) in pairs]

    def _between(self, chain: Chain, i: int, earlier: ClassTable, later: ClassTable, k: int) -> Finding:
        total, most = newcomers(chain, earlier, later)
        nonempty = total > 0
        few, alike = nonempty & (total < k), nonempty & (most == total)
        people = int(total[few | alike].sum())
        least = int(total[nonempty].min(initial=np.iinfo(np.int64).max)) if nonempty.any() else 0
        certain = int(total[alike].sum())
        best = Fraction(1, least) if least else Fraction(0)
        parts = [f"{format_people(int(total.sum()))} new"]
        if nonempty.any():
            parts[0] += f" in {pluralize(int(nonempty.sum()), 'region')}"
        if nonempty.sum() > 1:
            parts[0] += f", at least {least} in each"
        if few.any():
            parts.append(f"fewer than {k} in {int(few.sum())} of them")
        if certain:
            parts.append(f"values certain for {format_people(certain)}")
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"release {i + 2} less release {i + 1}: {'; '.join(parts)}",
            confidence=Fraction(1) if certain else best,
            people=people,
            breach=bool((few | alike).any()),
            columns=chain.names,
            details={
                "fewest newcomers": least,
                "regions": int(nonempty.sum()),
                "one value": int(alike.sum()),
            },
        )


def newcomers(chain: Chain, earlier: ClassTable, later: ClassTable) -> tuple[Counts, Counts]:
    """Returns, per region, the newcomers, and how many of them share the commonest value.

    A region is a component of comparable classes; where nobody is old, each class is a region of its own.
    """
    matched = match_blocks(chain.trees, earlier, later)
    fresh = matched.surplus(earlier, later)
    joins = int(max(matched.join_one.max(initial=-1), matched.join_other.max(initial=-1))) + 1
    has_earlier = np.zeros(joins, dtype=bool)
    has_earlier[matched.join_one] = True
    region = np.where(has_earlier[matched.join_other], matched.join_other, joins + np.arange(len(later)))[
        later.owner
    ]
    shared = has_earlier[matched.join_other[later.owner]]
    total, most = np.zeros(joins + len(later), np.int64), np.zeros(joins + len(later), np.int64)
    _, first = np.unique(matched.other, return_index=True)
    once = np.zeros(len(later.owner), dtype=bool)
    once[first] = True
    counts = np.where(shared, np.where(once, fresh[matched.other], 0), later.counts)
    np.add.at(total, region, counts)
    np.maximum.at(most, region, counts)
    return total, most
