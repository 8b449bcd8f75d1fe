"""Families of patterns: distinct, none framed by few others, and safe when they are put together.

Without a coalition single frame-proofness is solved exactly, by a largest antichain. Where colluders must not
get below an allowed base, antichains above one are where a search begins; what it takes is judged as a whole
(`pooling`). Everything else is greedy, improved by counted steps, and proves what it found, not that nothing
is larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.pooling import Pool
from sfumato.core.adversary import Adversary
from sfumato.core.promise import Cuts, Promises
from sfumato.policy.recipients import Coalition, RecipientRule
from sfumato.protection.patterns.antichain import largest_antichain
from sfumato.protection.patterns.patterns import Patterns
from sfumato.protection.recipients.frame_proofness import Detail, FrameProofFamily, ShownDetail

Indices = NDArray[np.int64]

MOST_BASES_TRIED = 64
"""So many bases are tried where any coalition must be safe."""

MOST_COALITIONS_TRIED = {
    Adversary.REGISTER: {Coalition.NONE: 0, Coalition.PAIRS: 400, Coalition.ANY: 400},
    Adversary.TARGET: {Coalition.NONE: 0, Coalition.PAIRS: 400, Coalition.ANY: 6},
}
"""So many patterns, or against one target so many coalitions, are judged in search of further members."""

SHORT_WINDOW = 10
"""Windows of at most so many patterns are each searched."""

MOST_STARTS = 24
"""So many patterns are tried as the first of a family that pairs or more cannot frame."""

MOST_STEPS = 2_000
"""So many steps are taken in search of a larger family: enough to be exact for a dozen patterns."""


@dataclass(frozen=True)
class EarlierVersion:
    """A version that somebody got earlier, on today's trees; `k` is the smaller k of an override, if any."""

    recipient: str
    cuts: Cuts
    k: int | None = None


class Families:
    """Families of a table's patterns under a rule, beside the versions that are held."""

    def __init__(self, patterns: Patterns, rule: RecipientRule, held: Sequence[EarlierVersion]) -> None:
        self.patterns, self.rule, self.held = patterns, rule, tuple(held)
        self.shown = ShownDetail(patterns.table)
        self._best_so_far: dict[bytes, Indices] = {}
        self._cuts_of: dict[int, Cuts] = {}
        self._pools: dict[int | None, Pool] = {}

    @property
    def exact(self) -> bool:
        """Whether no family is larger than those that are found."""
        alone = self.rule.frame_proof == 1 and self.rule.coalition is Coalition.NONE
        return alone and not self._several_versions

    def largest(self, window: Indices, lengths: Sequence[int] = ()) -> Indices:
        """Returns a family of these patterns, given in order of preference; always the same one.

        For each of the `lengths`, the first so many patterns are searched by themselves, and the best family
        so far is extended: a longer window never has a smaller family, if it has the lengths of the shorter
        one.
        """
        if self.exact:
            return self._frame_proof(window)
        best, done = window[:0], 0
        for length in sorted({r for r in (*range(1, SHORT_WINDOW + 1), *lengths) if r <= len(window)}):
            key = window[:length].tobytes()
            if key not in self._best_so_far:
                extended = self._extended(best, window[done:length])
                self._best_so_far[key] = max(extended, self._searched(window[:length]), key=len)
            best, done = self._best_so_far[key], length
        return self._extended(best, window[done:])

    def _searched(self, window: Indices) -> Indices:
        """Returns a family of the window, found without regard to shorter ones."""
        if self.rule.coalition is Coalition.NONE:
            return self._frame_proof(window)
        base = self._above_a_base(window)
        base_first = np.append(base, window[~np.isin(window, base)])
        return max((self._extended(window[:0], order) for order in (base_first, window)), key=len)

    def distinct(self, indices: Indices) -> Indices:
        """Returns these patterns, none that shows the same as another or as one that is held."""
        _, first = np.unique(self.ranks[indices], axis=0, return_index=True)
        distinct = indices[np.sort(first)]
        for held in self._held_details:
            distinct = distinct[~(self._finer(held, distinct) & self._coarser(held, distinct))]
        return distinct

    def is_safe(self, cuts: Cuts, others: Sequence[EarlierVersion]) -> bool:
        """Whether colluders learn no more than is promised, with this one among them.

        Whoever colludes with somebody who was granted a smaller k is promised that k.
        """
        if self.rule.coalition is Coalition.NONE or not others:
            return True
        granted = sorted({v.k for v in others if v.k is not None})
        for k in (*granted, None):
            group = [v.cuts for v in others if v.k is None or (k is not None and v.k >= k)]
            pool = self._pool_of(k)
            together = [cuts, *group]
            kept = pool.keeps_pairs if self.rule.coalition is Coalition.PAIRS else pool.keeps_all
            if not kept(together):
                return False
        return True

    def _frame_proof(self, window: Indices) -> Indices:
        """Returns a family of the window beside what is held."""
        for held in self._held_details:
            window = window[~(self._finer(held, window) | self._coarser(held, window))]
        if not len(window):
            return window
        antichain = window[largest_antichain(-self.ranks[window])]
        if self.rule.frame_proof == 1 and not self._several_versions:
            return antichain
        first = window[np.isin(window, antichain)]
        order = np.append(first, window[~np.isin(window, first)])
        starts = [np.append(order[i], np.delete(order, i)) for i in range(min(MOST_STARTS, len(order)))]
        family = max((self._greedy(start) for start in [*starts, window, order[::-1]]), key=len)
        return self._largest(order, family)

    @property
    def _several_versions(self) -> bool:
        """Whether somebody holds more than one version: then holdings and versions differ."""
        return len({h.recipient for h in self.held}) < len(self.held)

    def family_of_held(self) -> FrameProofFamily:
        """Returns the family of the versions that are held."""
        family = FrameProofFamily(self.rule.frame_proof)
        for held, detail in zip(self.held, self._held_details, strict=True):
            family.add(detail, held.recipient)
        return family

    def _greedy(self, order: Indices) -> Indices:
        family = self.family_of_held()
        details = [self._compared_by(i) for i in order.tolist()]
        return order[[family.take(detail) for detail in details]] if len(order) else order

    def _largest(self, order: Indices, start: Indices) -> Indices:
        """Returns a larger family, if a search through all finds one within `MOST_STEPS`."""
        family, best, steps = self.family_of_held(), start, MOST_STEPS
        details = [self._compared_by(i) for i in order.tolist()]

        def grow(begin: int, taken: list[int]) -> None:
            nonlocal best, steps
            if len(taken) > len(best):
                best = order[taken]
            for i in range(begin, len(order)):
                if len(taken) + len(order) - i <= len(best) or steps == 0:
                    return
                steps -= 1
                if family.take(details[i]):
                    grow(i + 1, [*taken, i])
                    family.forget()

        grow(0, [])
        return best

    def _compared_by(self, index: int) -> Detail:
        """Returns the detail of a pattern, by column where no other kind of cut is held."""
        return self.shown.detail(self.patterns.cuts(index)) if self.held else self.ranks[index]

    def _above_a_base(self, window: Indices) -> Indices:
        """Returns the largest family that lies, with what is held, above one allowed pattern."""
        bases = self._bases()
        for held in self._held_details:
            bases = bases[self._finer(held, bases)]
        levels = self.patterns.grid.T
        above = [np.all(levels[window] >= levels[b], axis=1) for b in bases.tolist()]
        largest = window[:0]
        order = sorted(range(len(bases)), key=lambda i: (-int(above[i].sum()), int(bases[i])))
        for i in order[:MOST_BASES_TRIED]:
            if int(above[i].sum()) <= len(largest):
                break
            family = self._frame_proof(window[above[i]])
            largest = family if len(family) > len(largest) else largest
        return largest

    def _bases(self) -> Indices:
        """Returns the allowed patterns below which nothing is allowed."""
        allowed = self.patterns.allowed.reshape(self.patterns.shape)
        below = np.zeros_like(allowed)
        for axis in range(allowed.ndim):
            lower = np.zeros_like(allowed)
            into = tuple(slice(1, None) if a == axis else slice(None) for a in range(allowed.ndim))
            out = tuple(slice(None, -1) if a == axis else slice(None) for a in range(allowed.ndim))
            lower[into] = _reached(allowed)[out]
            below |= lower
        return np.flatnonzero(allowed & ~below)

    def _extended(self, start: Indices, more: Indices) -> Indices:
        """Returns the family, and whatever of these fits beside it, in their order."""
        family, chosen = self.family_of_held(), start.tolist()
        tries = MOST_COALITIONS_TRIED[self.rule.adversary][self.rule.coalition]
        for index in chosen:
            family.add(self._compared_by(index))
            mine, theirs = self.ranks[index], self.ranks[more]
            more = more[np.any(theirs > mine, axis=1) & np.any(theirs < mine, axis=1)]
        for index in more.tolist():
            detail = self._compared_by(index)
            if not family.fits(detail):
                continue
            if self.rule.coalition is not Coalition.NONE and (chosen or self.held):
                tries -= 1
                beside = [*self.held, *(EarlierVersion("", self._cuts(i)) for i in chosen)]
                if tries < 0 or not self.is_safe(self._cuts(index), beside):
                    continue
            family.add(detail)
            chosen.append(index)
        return np.array(chosen, np.int64)

    def _cuts(self, index: int) -> Cuts:
        if index not in self._cuts_of:
            self._cuts_of[index] = self.patterns.cuts(index)
        return self._cuts_of[index]

    def _pool_of(self, k: int | None) -> Pool:
        """Returns the pool in which everybody is promised no more people than this."""
        if k not in self._pools:
            promises = self.patterns.promises
            smaller = (p.with_least_people(k) if k and p.least_people > k else p for p in promises)
            self._pools[k] = Pool(self.patterns.table, Promises(tuple(smaller)), self.rule.adversary)
        return self._pools[k]

    # -- comparing ----------------------------------------------------------------------------------------

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The detail of every pattern, one number per column."""
        ranks = self.shown.detail_ranks()
        grid = self.patterns.grid
        return np.stack([r[grid[j]] for j, r in enumerate(ranks)], axis=1)

    @cached_property
    def _held_details(self) -> list[Detail]:
        return [self.shown.detail(h.cuts) for h in self.held]

    def _finer(self, detail: Detail, indices: Indices) -> NDArray[np.bool_]:
        """Flags the patterns that show everything in that detail or finer."""
        return self._compared(detail, indices, np.greater_equal)

    def _coarser(self, detail: Detail, indices: Indices) -> NDArray[np.bool_]:
        return self._compared(detail, indices, np.less_equal)

    def _compared(self, detail: Detail, indices: Indices, than: np.ufunc) -> NDArray[np.bool_]:
        levels, start = self.shown.details_of_levels(), 0
        truth = np.ones(len(indices), dtype=bool)
        for j, of_level in enumerate(levels):
            end = start + of_level.shape[1]
            truth &= than(of_level, detail[start:end]).all(axis=1)[self.patterns.grid[j, indices]]
            start = end
        return truth


def _reached(allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns, for every pattern, whether it or something at most as general is allowed."""
    reached = allowed
    for axis in range(allowed.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    return reached
