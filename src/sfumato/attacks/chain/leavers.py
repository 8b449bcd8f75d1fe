"""Adversaries who look for people that left, came back, moved or were corrected between releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.attacks.chain.departed_people import HeldChain
from sfumato.attacks.published_table import PublishedTable
from sfumato.attacks.registry import register
from sfumato.core.imprint import Imprint
from sfumato.core.limits import UNASKED, AttackLimits
from sfumato.core.verdict import Finding


@dataclass(frozen=True)
class PresenceAttack:
    """Somebody who holds all releases, and knows of one person in which of them they are."""

    releases: tuple[Imprint, ...] = ()
    k: int | None = None

    name: ClassVar[str]
    knows: ClassVar[str]
    who: ClassVar[str]
    seeks: ClassVar[str] = "which record was theirs"
    succeeds: ClassVar[str] = "fewer records than promised remain possible"
    needs: ClassVar[str] = "two or more releases of a chain that somebody has left"
    threatens: ClassVar[tuple[str, ...]] = ("continuous",)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        return self.strike_imprints(limits)

    def strike_imprints(self, limits: AttackLimits) -> list[Finding]:
        """Returns what is found in the releases alone."""
        return self.strike_held(HeldChain.of(self.releases), limits) if len(self.releases) > 1 else []

    def strike_held(self, held: HeldChain, limits: AttackLimits) -> list[Finding]:
        """Returns the same, where the releases stand side by side already."""
        return self._findings(held, self.k or limits.asked_k or UNASKED)

    def _presences(self, held: HeldChain) -> Sequence[tuple[int, ...]]:
        """The sets of releases that the people it looks for can be in."""
        del held
        return ()

    def _findings(self, held: HeldChain, k: int) -> list[Finding]:
        """One finding for all people of this kind; none where there can be none."""
        presences = self._presences(held)
        bounds = held.bounds(presences, k) if presences else []
        most = np.concatenate([np.zeros(0, np.int64), *(b.most for b in bounds)])
        seen = np.concatenate([np.zeros(0, np.int64), *(b.least for b in bounds)]) > 0
        if not (most > 0).any():
            return []
        least = int(most[seen].min()) if seen.any() else int(most[most > 0].min())
        few, perhaps = (int((some & (most > 0) & (most < k)).sum()) for some in (seen, ~seen))
        return [self._finding(held, least, (few, perhaps), k, certain=bool(seen.any()))]

    def _finding(
        self, held: HeldChain, least: int, below: tuple[int, int], k: int, *, certain: bool
    ) -> Finding:
        """Returns what is found; `below` k are so many targets, and so many more if anybody is there."""
        few, perhaps = below
        bound = "" if certain else "at most "
        left = f"{self.who} keeps {bound}{least} candidates at worst; {k} are asked"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}, and {held.chain.leavers.knows}",
            sentence=f"{left}: BROKEN" if few else left,
            confidence=Fraction(1, max(1, least)),
            people=few,
            breach=few > 0,
            columns=held.names,
            details={"candidates": least, "asked": k, "targets": few},
            not_tried=f"whether anybody is in {perhaps:,} places with fewer than {k} candidates"
            if perhaps
            else "",
        )


@register("leaver")
@dataclass(frozen=True)
class Leaver(PresenceAttack):
    """What left with somebody was theirs: the fewer left, and the fewer came, the fewer it can have been.

    If one of thirty rows with a value goes and nothing else changes, thirty rows could have been theirs, and
    all of them have that value.
    """

    name: ClassVar[str] = "leaver"
    knows: ClassVar[str] = "all releases, somebody's key columns, and when they came and left"
    who: ClassVar[str] = "somebody who has left"

    def _presences(self, held: HeldChain) -> Sequence[tuple[int, ...]]:
        newest = len(held.chain) - 1
        return [presence for presence in held.chain.presences if presence[-1] != newest]


@register("returner")
@dataclass(frozen=True)
class Returner(PresenceAttack):
    """Whoever came back has a row in releases with a gap between them; few values may be in all of these."""

    name: ClassVar[str] = "returner"
    knows: ClassVar[str] = "all releases, somebody's key columns, when they left and when they came back"
    who: ClassVar[str] = "somebody who has come back"
    needs: ClassVar[str] = "two or more releases of a chain whose promise says `returns: true`"

    def _presences(self, held: HeldChain) -> Sequence[tuple[int, ...]]:
        every = held.chain.presences if held.chain.returns else []
        return [p for p in every if p[-1] - p[0] >= len(p)]


@register("mover")
@dataclass(frozen=True)
class Mover(PresenceAttack):
    """Whoever moved has a row in two classes that hold nobody else in common."""

    name: ClassVar[str] = "mover"
    knows: ClassVar[str] = "all releases, somebody's key columns before they moved and after"
    who: ClassVar[str] = "somebody who may have moved"
    needs: ClassVar[str] = "two or more releases of a chain whose promise names columns under `moves`"

    def _presences(self, held: HeldChain) -> Sequence[tuple[int, ...]]:
        return [p for p in held.chain.presences if len(p) > 1] if held.moves else []


@register("corrected")
@dataclass(frozen=True)
class CorrectedValue(PresenceAttack):
    """What went out of one value and came into another was theirs."""

    name: ClassVar[str] = "corrected"
    knows: ClassVar[str] = "two releases, somebody's key columns, and that their value was corrected"
    who: ClassVar[str] = "somebody whose value was corrected"
    needs: ClassVar[str] = "two releases of a chain whose promise says `corrected: true`"

    def _findings(self, held: HeldChain, k: int) -> list[Finding]:
        least = held.corrected_least()
        return [] if least is None else [self._finding(held, least, int(least < k), k, certain=True)]


LEAVERS: tuple[type[PresenceAttack], ...] = (Leaver, Returner, Mover, CorrectedValue)
"""Those who look at chains that people leave."""
