"""Assignment: a version of its own for every recipient, all of one quality, and safe from each other.

Among the allowed patterns that lose no more than a tolerance above the best, a family is looked for of which
no few members build another (`framing`) and, where the policy asks for it, keep every promise when they are
put together (`pooling`). Without a coalition, and for any coalition, single frame-proofness is solved
exactly: a largest antichain, above one allowed base where colluders must not get below it. Everything else
is greedy and proves what it found, not that nothing is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import inf

import numpy as np
from numpy.typing import NDArray

from sfumato.declare.recipients import Coalition, RecipientRule
from sfumato.protect.antichain import largest_antichain
from sfumato.protect.carriers import carriers
from sfumato.protect.framing import Detail, Family, Shown
from sfumato.protect.frontier import up_to
from sfumato.protect.loss import measure
from sfumato.protect.patterns import Patterns
from sfumato.protect.pooling import CROWD, Pool
from sfumato.protect.quality import best_class
from sfumato.protect.suppress import recoded
from sfumato.terms.promise import Cuts

Indices = NDArray[np.int64]

TRIES = 64
"""So many bases are tried for any coalition."""

PAIRS = 400
"""So many pairs are put together whose meet is not safe by itself."""

SPARE = 8
"""So many versions a family should have, even where fewer recipients are named."""

LOOKS = 200
"""So many carriers are counted and measured."""

CROWD_TRIES = 6
"""So many patterns are tried as further members of a small family that any coalition may put together."""

STARTS = 24
"""So many patterns are tried as the first of a family that pairs or more cannot frame."""

LEVELS_ONLY = ("height", "precision", "sweeney")
"""Measures that only patterns have: with them there are no carriers."""


@dataclass(frozen=True)
class Held:
    """A version that somebody got earlier, on today's trees."""

    recipient: str
    cuts: Cuts


@dataclass(frozen=True, eq=False)
class Version:
    """What a recipient may get; `index` is the number of the pattern, where it is one."""

    cuts: Cuts
    quality: Fraction | float
    index: int | None = None


class Versions:
    """The versions of one table that can be handed out beside those that were."""

    def __init__(
        self, patterns: Patterns, rule: RecipientRule, metric: str, *, held: Sequence[Held] = ()
    ) -> None:
        self.patterns, self.rule, self.metric = patterns, rule, metric
        self.held = tuple(held)
        self.shown = Shown(patterns.table)

    def most(self, tolerance: Fraction | None = None) -> int:
        """How many further recipients patterns serve within a tolerance (else the policy's)."""
        return len(self.family(tolerance))

    def family(self, tolerance: Fraction | None = None) -> Indices:
        """Patterns that can be handed out together, the best first; always the same ones."""
        window = self._window(self.rule.tolerance if tolerance is None else tolerance)
        coalition = self.rule.coalition
        if coalition is Coalition.NONE:
            found = self._frame_proof(window)
        else:
            found = self._above_a_base(window)
            if coalition is Coalition.PAIRS:
                found = self._in_pairs(window, found)
            elif len(found) + len(self.held) < CROWD:
                found = self._in_a_crowd(window, found)
        return self._best_first(found)

    def choose(self, count: int) -> list[Version]:
        """Versions for so many new recipients, or as many as there are; carriers where patterns run out.

        A family is looked for that leaves room for some who come later.
        """
        family, wanted = self.family(), max(count, SPARE)
        chosen = [self._version(i) for i in family.tolist()]
        window = self._window() if len(chosen) < wanted and self.carries else family[:0]
        for start, together in ((family, 1), (family[:0], 1), (family[:0], 2)):
            if len(window) and len(chosen) < wanted:
                chosen = max(chosen, self._carried(start, window, wanted, together), key=len)
        return chosen[:count]

    @property
    def carries(self) -> bool:
        """Whether cuts between patterns can be measured."""
        return self.metric not in LEVELS_ONLY and self.patterns.aim.loss != "height"

    def first_fit(
        self, owner: str, accept: Callable[[Cuts], bool], *, within: Fraction | None = None
    ) -> Version | None:
        """The best version for somebody, beside all that they and others hold; if need be far from the best.

        `accept` has the last word. What the owner holds already is tried first, carriers last.
        """
        found = self._best_first(
            np.flatnonzero(self.patterns.allowed) if within is None else self._alike(within)
        )
        if not len(found):
            return None
        limit = inf if within is None else self._limit(found, within)
        others, family = [h.cuts for h in self.held if h.recipient != owner], self._start()
        for cuts, index in self._candidates(owner, found):
            if not (family.fits(self.shown.detail(cuts), owner) and self._is_safe(cuts, others)):
                continue
            quality = self._quality(cuts) if index is None else self.patterns.value(self.metric, index)
            if quality is not None and quality <= limit and accept(cuts):
                return Version(cuts, quality, index)
        return None

    def _candidates(self, owner: str, found: Indices) -> Iterator[tuple[Cuts, int | None]]:
        if self.carries:
            yield from ((h.cuts, None) for h in reversed(self.held) if h.recipient == owner)
        yield from ((self.patterns.cuts(index), index) for index in found.tolist())
        if self.carries:
            yield from ((cuts, None) for cuts in islice(carriers(self.patterns, found.tolist()), LOOKS))

    # -- which patterns -----------------------------------------------------------------------------------

    def _window(self, tolerance: Fraction | None = None) -> Indices:
        """Patterns that are alike, none that shows the same as another or as one that is held."""
        members = self._best_first(self._alike(self.rule.tolerance if tolerance is None else tolerance))
        _, first = np.unique(self.ranks[members], axis=0, return_index=True)
        members = members[np.sort(first)]
        for held in self._held_details:
            members = members[~(self._finer(held, members) & self._coarser(held, members))]
        return members

    def _alike(self, tolerance: Fraction) -> Indices:
        """Allowed patterns within a tolerance of the best."""
        best = best_class(self.patterns, self.metric, tolerance=tolerance)
        return np.zeros(0, np.int64) if best is None else best.members

    def _best_first(self, indices: Indices) -> Indices:
        values = self.patterns.metric(self.metric)[indices]
        return indices[np.lexsort((indices, values))]

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
        """Which patterns show everything in that detail or finer."""
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

    # -- families -----------------------------------------------------------------------------------------

    def _frame_proof(self, window: Indices) -> Indices:
        """A family of the window beside what is held."""
        for held in self._held_details:
            window = window[~(self._finer(held, window) | self._coarser(held, window))]
        if not len(window):
            return window
        antichain = np.sort(window[np.sort(largest_antichain(-self.ranks[window]))])
        if self.rule.frame_proof == 1 and not self._several_versions:
            return antichain
        first = self._best_first(antichain)
        order = np.append(first, window[~np.isin(window, first)])
        starts = [np.append(order[i], np.delete(order, i)) for i in range(min(STARTS, len(order)))]
        return max((self._greedy(start) for start in [*starts, window, order[::-1]]), key=len)

    @property
    def _several_versions(self) -> bool:
        """Whether somebody holds more than one version: then holdings and versions differ."""
        return len({h.recipient for h in self.held}) < len(self.held)

    def _start(self) -> Family:
        family = Family(self.rule.frame_proof)
        for held, detail in zip(self.held, self._held_details, strict=True):
            family.add(detail, held.recipient)
        return family

    def _greedy(self, order: Indices) -> Indices:
        family = self._start()
        details = [self._detail(i) for i in order.tolist()] if self.held else list(self.ranks[order])
        return order[[family.take(detail) for detail in details]] if len(order) else order

    def _detail(self, index: int) -> Detail:
        return self.shown.detail(self.patterns.cuts(index))

    def _above_a_base(self, window: Indices) -> Indices:
        """The largest family that lies above one allowed pattern, also what is held."""
        bases = self._bases()
        for held in self._held_details:
            bases = bases[self._finer(held, bases)]
        levels = self.patterns.grid.T
        above = [np.all(levels[window] >= levels[b], axis=1) for b in bases.tolist()]
        found = window[:0]
        order = sorted(range(len(bases)), key=lambda i: (-int(above[i].sum()), int(bases[i])))
        for i in order[:TRIES]:
            if int(above[i].sum()) <= len(found):
                break
            family = self._frame_proof(window[above[i]])
            found = family if len(family) > len(found) else found
        return found

    def _bases(self) -> Indices:
        """Allowed patterns below which nothing is allowed."""
        allowed = self.patterns.allowed.reshape(self.patterns.shape)
        below = np.zeros_like(allowed)
        for axis in range(allowed.ndim):
            lower = np.zeros_like(allowed)
            into = tuple(slice(1, None) if a == axis else slice(None) for a in range(allowed.ndim))
            out = tuple(slice(None, -1) if a == axis else slice(None) for a in range(allowed.ndim))
            lower[into] = _reached(allowed)[out]
            below |= lower
        return np.flatnonzero(allowed & ~below)

    def _in_pairs(self, window: Indices, start: Indices) -> Indices:
        """The family, and whatever else can be put together with each of it."""
        family, tries = self._start(), PAIRS
        patterns, cuts = self._held_patterns
        chosen = list[int]()
        for index in [*start.tolist(), *window[~np.isin(window, start)].tolist()]:
            detail = self._detail(index) if self.held else self.ranks[index]
            if not family.fits(detail):
                continue
            unsure = [*cuts, *(self.patterns.cuts(i) for i in self._unsafe_meets(index, patterns + chosen))]
            tries -= len(unsure)
            if tries < 0 and unsure:
                continue
            if all(self._pool.keeps([self.patterns.cuts(index), other]) for other in unsure):
                family.add(detail)
                chosen.append(index)
        return np.array(chosen, np.int64)

    def _in_a_crowd(self, window: Indices, start: Indices) -> Indices:
        """The family, and a few more whose every coalition is safe although no base is below all of them."""
        family, tries, chosen = self._start(), CROWD_TRIES, list[int]()
        for index in [*start.tolist(), *window[~np.isin(window, start)].tolist()]:
            detail = self._detail(index) if self.held else self.ranks[index]
            if not family.fits(detail):
                continue
            tries -= index not in start
            others = [*(h.cuts for h in self.held), *(self.patterns.cuts(i) for i in chosen)]
            if tries >= 0 and self._pool.keeps_all([self.patterns.cuts(index), *others]):
                family.add(detail)
                chosen.append(index)
        return np.array(chosen, np.int64)

    def _unsafe_meets(self, index: int, others: Sequence[int]) -> list[int]:
        """Those whose meet with a pattern is not allowed by itself."""
        if not others:
            return []
        grid = self.patterns.grid.astype(np.int64)
        meets = np.minimum(grid[:, others], grid[:, [index]])
        safe = self.patterns.allowed[np.ravel_multi_index(tuple(meets), self.patterns.shape)]
        return [other for other, fine in zip(others, safe.tolist(), strict=True) if not fine]

    @cached_property
    def _held_patterns(self) -> tuple[list[int], list[Cuts]]:
        """What is held, as patterns where it is one, else as it is."""
        patterns, cuts = list[int](), list[Cuts]()
        every = np.arange(self.patterns.count)
        for held, detail in zip(self.held, self._held_details, strict=True):
            same = every[self._finer(detail, every) & self._coarser(detail, every)]
            if len(same):
                patterns.append(int(same[0]))
            else:
                cuts.append(held.cuts)
        return patterns, cuts

    @cached_property
    def _pool(self) -> Pool:
        return Pool(self.patterns.table, self.patterns.promises)

    # -- carriers -----------------------------------------------------------------------------------------

    def _carried(self, family: Indices, window: Indices, count: int, together: int) -> list[Version]:
        """These patterns and carriers beside them, or carriers alone, until there are enough."""
        members, chosen = self._start(), [self._version(i) for i in family.tolist()]
        for version in chosen:
            members.add(self.shown.detail(version.cuts))
        limit, looks = self._limit(window, self.rule.tolerance), LOOKS
        for cuts in carriers(self.patterns, window.tolist(), together=together):
            if len(chosen) >= count or not looks:
                break
            detail = self.shown.detail(cuts)
            if not members.fits(detail):
                continue
            looks -= 1
            quality = self._quality(cuts)
            if quality is None or quality > limit:
                continue
            if self._is_safe(cuts, [*(h.cuts for h in self.held), *(v.cuts for v in chosen)]):
                members.add(detail)
                chosen.append(Version(cuts, quality))
        return chosen

    def _limit(self, window: Indices, tolerance: Fraction) -> float:
        """The most that a carrier may lose: as much as the tolerance allows, from the best pattern on."""
        best = self._best_first(window)[0]
        return up_to(float(self.patterns.value(self.metric, int(best))) * float(1 + tolerance))

    def _quality(self, cuts: Cuts) -> float | None:
        """What a carrier loses; `None` if it does not keep every promise within the suppression limit."""
        table, promises = self.patterns.table, self.patterns.promises
        recoding = recoded(table, cuts, promises)
        if recoding.suppressed > self.patterns.aim.allowed(table) or not recoding.count:
            return None
        if any(p.verdict_on(table, cuts).holds is not True for p in promises.of_table):
            return None
        return measure(self.metric, recoding, weights=self.patterns.aim.weights)

    def _is_safe(self, cuts: Cuts, others: Sequence[Cuts]) -> bool:
        """Whether colluders learn no more than is promised, with this one among them."""
        if self.rule.coalition is Coalition.PAIRS:
            return all(self._pool.keeps([cuts, other]) for other in others)
        return self.rule.coalition is Coalition.NONE or self._pool.keeps_all([cuts, *others])

    def _version(self, index: int) -> Version:
        return Version(self.patterns.cuts(index), self.patterns.value(self.metric, index), index)


def _reached(allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For every pattern: whether it, or something at most as general, is allowed."""
    found = allowed
    for axis in range(allowed.ndim):
        found = np.logical_or.accumulate(found, axis=axis)
    return found
