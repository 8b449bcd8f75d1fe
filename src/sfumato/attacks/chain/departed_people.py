"""Chains that people leave, as an adversary sees them: published tables, and the ledger's shared counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.chains.corrections import corrected_candidates
from sfumato.chains.departures import Component, LivingChain, fixed_columns
from sfumato.chains.presence_cells import MOST_RETURN_RELEASES, PresenceTargets
from sfumato.chains.presence_equations import PresenceBounds, bound_targets
from sfumato.core.chain import Chain
from sfumato.core.errors import WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.known_departures import KnownDepartures
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Counts
from sfumato.kernels.chains.overlaps import NO_OVERLAP


@dataclass(frozen=True, eq=False)
class HeldChain:
    """The releases somebody holds, and what they know of departures.

    Without the ledger's counts nothing is known of these: then everybody may have left. `whole` are the
    releases in all key columns, `chain` in those that cannot change. What is bounded once is kept.
    """

    chain: LivingChain
    whole: Chain
    moves: tuple[str, ...]
    corrected: bool
    _bounds: dict[int | None, list[PresenceBounds]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, releases: Sequence[Imprint]) -> HeldChain:
        """The chain of these imprints, oldest first; raises `WrongCall` where they do not fit together."""
        whole, newest = Chain.of(releases), releases[-1].departures
        if newest is None or any(i.departures and i.departures.terms != newest.terms for i in releases):
            newest = KnownDepartures(Leavers.UNKNOWN)
        leavers, returns = newest.leavers, newest.returns
        moves, corrected = newest.moves, newest.corrected
        fixed = [j for j, name in enumerate(whole.names) if name not in moves]
        trees = tuple(whole.trees[j] for j in fixed)
        tables = tuple(fixed_columns(release, fixed) for release in whole.releases)
        bare = LivingChain(trees, tables, leavers, {}, returns)
        pairs = [(i, j) for j in range(len(tables)) for i in range(j)] if leavers != Leavers.UNKNOWN else []
        shared = {(i, j): _shared(bare, releases[j], i, j) for i, j in pairs}
        return cls(LivingChain(trees, tables, leavers, shared, returns), whole, moves, corrected)

    @property
    def names(self) -> tuple[str, ...]:
        """The key columns."""
        return self.whole.names

    def bounds(self, presences: Sequence[tuple[int, ...]], k: int | None) -> list[PresenceBounds]:
        """The candidates of the targets of these presences, at least and at most."""
        chosen = set(presences)
        if self.chain.returns and len(self.chain) > MOST_RETURN_RELEASES:
            raise WrongCall(
                f"with returns at most {MOST_RETURN_RELEASES} releases are looked at together",
                remedy="Give fewer of them.",
            )
        if k not in self._bounds:
            self._bounds[k] = bound_targets(PresenceTargets(self.chain), k)
        return [bound for bound in self._bounds[k] if bound.cells.presence in chosen]

    def corrected_least(self) -> int | None:
        """The fewest candidates of somebody whose value was corrected; `None` where nobody's can be."""
        least = corrected_candidates(self.chain) if self.corrected and len(self.chain) == 2 else NO_OVERLAP
        return None if least == NO_OVERLAP else least


def _shared(chain: LivingChain, imprint: Imprint, i: int, j: int) -> Counts:
    if imprint.departures is not None:
        if i >= len(imprint.departures.shared):
            raise WrongCall(
                "a release does not say how many people it shares with the others",
                remedy="Give the releases of one chain, oldest first, as the ledger has them.",
            )
        return imprint.departures.shared[i]
    met = Component.of(chain.trees, chain.releases[i], chain.releases[j])
    sums = np.zeros(max(1, met.count), np.int64)
    np.add.at(sums, met.component, met.held_one)
    return sums[met.join_other]
