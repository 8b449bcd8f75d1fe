"""Weakening: whoever holds a later release of a chain learns more than its first one let anybody learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, islice

from sfumato.attacks.chain.correspondence import correspondence
from sfumato.core.demand import Demand, missing_demands
from sfumato.core.errors import SfumatoError
from sfumato.core.imprint import Imprint
from sfumato.core.verdict import Finding

NAME = "weakening"
MOST_PAIRS = 500
"""So many pairs of recipients are put together at most."""


@dataclass(frozen=True)
class ChainRelease:
    """A release as a ledger tells of it: what it asks, what is remembered, whether less was allowed."""

    sequence: int
    recipient: str | None
    demands: Sequence[Sequence[Demand]]
    imprint: Imprint | None = field(default=None, repr=False)
    allowed: bool = False


@dataclass(frozen=True)
class Weakening:
    """The adversary who holds releases of one chain, and compares what they let him learn with the first.

    Knows: all releases of a chain that went to one recipient, or to two who put theirs together, and
    somebody's key columns. Seeks: who somebody is, or what they have, better than the first release allowed.
    `coalition` says that the first release promised two recipients together no more.
    """

    releases: Sequence[ChainRelease]
    coalition: bool = False

    def findings(self) -> list[Finding]:
        """Returns what later releases ask less of, then which two recipients leave too few candidates."""
        return [*self._asking_less(), *self._put_together()]

    def _asking_less(self) -> Iterator[Finding]:
        first, *later = self.releases
        for release in later:
            for wanted, near in missing_demands(release.demands, first.demands):
                now = "; ".join(demand.sentence for demand in near) or "nothing of the kind"
                yield Finding(
                    NAME,
                    "whoever holds a later release",
                    f"release {release.sequence}: {wanted.sentence} was promised first, now {now}",
                    Fraction(1),
                    0,
                    not release.allowed,
                    details={"release": release.sequence},
                )

    def _put_together(self) -> Iterator[Finding]:
        k = max((int(d[0].at_least.get("k", 0)) for d in self.releases[0].demands), default=0)
        held = [release for release in self.releases if release.imprint is not None and release.recipient]
        pairs = (pair for pair in combinations(held, 2) if pair[0].recipient != pair[1].recipient)
        for one, other in islice(pairs, MOST_PAIRS):
            left = _fewest_candidates(one, other)
            if left is None or left >= k:
                continue
            allowed = one.allowed or other.allowed
            promised = "" if self.coalition else ", and nothing was promised of that"
            yield Finding(
                NAME,
                "two recipients who put their versions together",
                f"releases {one.sequence} and {other.sequence} together leave somebody {left} candidates of"
                f" the {k} promised first{promised}",
                Fraction(1, max(left, 1)),
                0,
                self.coalition and not allowed,
                details={"release": other.sequence, "candidates": left, "asked": k},
            )


def _fewest_candidates(one: ChainRelease, other: ChainRelease) -> int | None:
    """Returns how few candidates somebody keeps beside both; `None` where the two cannot be compared."""
    if one.imprint is None or other.imprint is None:
        return None
    try:
        return correspondence([one.imprint, other.imprint]).least
    except SfumatoError:
        return None
