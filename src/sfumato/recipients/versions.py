"""Assignment: a version of its own for every recipient, all of one quality, and safe from each other.

Among the allowed patterns that lose no more than a tolerance above the best, a family is looked for of which
no few members build another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.draft.functional_dependencies import (
    FEWEST_TOLD,
    MOST_COMPARED,
    is_telling,
    told_by_neighbors,
    told_rows,
)
from sfumato.models.contract import CrossReleasePromise, Cuts, Promises
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.pattern_quality import best_class, largest_antichain
from sfumato.recipients.patterns import Patterns, classify
from sfumato.search.plan import aim_of, key_promises, limits_of
from sfumato.search.term_removal import TermReport, suppress_terms
from sfumato.system.coins import Coins
from sfumato.system.progress import Progress, silent
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding

# Frame-proofness: whether recipients can build, from what they hold, the version of another.
#
# Whoever holds a version can make every coarser one. Several who can tell which of their rows belong
# together
# can make, column by column and value by value, everything that one of them shows in that detail or finer.
# So
# a coalition builds a version iff each value that the version shows is known to somebody in the coalition,
# at
# that detail or finer. This assumes the worst: that rows can be put together.
#
# Versions are compared as *detail*: one number per value of every key column, the larger the finer. For
# cuts
# it is the depth of the node that the value becomes; where all versions are patterns, one number per
# column,
# less for every level, says the same.

Truth = NDArray[np.bool_]
Detail = NDArray[np.int64]


def covers(truth: Truth, size: int) -> bool:
    """Whether some `size` lines of a truth table have, together, every column.

    >>> covers(np.array([[True, False], [False, True]]), 1), covers(np.eye(2, dtype=bool), 2)
    (False, True)
    """
    if not truth.shape[1]:
        return True
    if size == 0 or not truth.any(axis=0).all():
        return False
    if bool(truth.all(axis=1).any()):
        return True
    if size == 1:
        return False
    rarest = int(np.argmin(truth.sum(axis=0)))
    lines = np.flatnonzero(truth[:, rarest])
    return any(covers(truth[:, ~truth[line]], size - 1) for line in lines.tolist())


class ShownDetail:
    """The detail in which versions of one table show the values that occur in its key columns.

    `follows` names for a column those that tell it: what the rest of a row gives away counts as shown.
    """

    def __init__(self, table: Microdata, follows: Mapping[str, Collection[str]] | None = None) -> None:
        self._keys = table.keys
        self._here = [np.unique(table.codes(c.name)) for c in table.keys]
        self._clues = ColumnClues(table, follows or {})

    def detail(self, cuts: Cuts) -> Detail:
        """Returns one number per value of every key column: the depth of its node."""
        parts = []
        for c, here in zip(self._keys, self._here, strict=True):
            depth = c.taxonomy.depth[cuts[c.name].node_of[here]]
            for level in self._clues.levels_told(c.name, cuts):
                depth = np.maximum(depth, c.taxonomy.depth[c.taxonomy.levels[level, here]])
            parts.append(depth)
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)

    def levels_known(self, grid: NDArray[np.int16]) -> NDArray[np.int16]:
        """Returns the levels of some patterns, one line per key column, each as fine as its row tells it."""
        known, names = grid.copy(), [c.name for c in self._keys]
        for j, name in enumerate(names):
            for clue in self._clues.follows[name]:
                i = names.index(clue)
                told = [self._clues.level_told(name, clue, level) for level in range(int(grid[i].max()) + 1)]
                known[j] = np.minimum(known[j], np.array(told, np.int16)[grid[i]])
        return known

    def details_of_levels(self) -> list[NDArray[np.int64]]:
        """Returns the same for every level of every column."""
        pairs = zip(self._keys, self._here, strict=True)
        return [c.taxonomy.depth[c.taxonomy.levels[:, here]].astype(np.int64) for c, here in pairs]

    def detail_ranks(self) -> list[NDArray[np.int64]]:
        """Returns, per column, less for every level that shows something else than the level below it."""
        ranks = []
        for detail in self.details_of_levels():
            new = np.any(detail[1:] != detail[:-1], axis=1)
            ranks.append(-np.concatenate(([0], np.cumsum(new))).astype(np.int64))
        return ranks

    def builds(self, coalition: Sequence[Cuts], version: Cuts) -> bool:
        """Whether a coalition can build a version."""
        details = np.array([self.detail(cuts) for cuts in coalition])
        return bool(np.all(details.max(axis=0) >= self.detail(version)))


class ColumnClues:
    """What cells of one key column tell of another one, in the rows of a table."""

    def __init__(self, table: Microdata, follows: Mapping[str, Collection[str]]) -> None:
        names = [column.name for column in table.keys]
        self.follows = {name: [clue for clue in _clues_of(name, follows) if clue in names] for name in names}
        clear = {name for name, clues in self.follows.items() if clues}
        step = -(-table.distinct // MOST_COMPARED) or 1 if clear else 1
        self._counts = np.minimum(table.counts[::step], FEWEST_TOLD)
        self._columns = {column.name: column for column in table.keys}
        used = clear | {clue for clues in self.follows.values() for clue in clues}
        self._codes = {name: table.codes(name)[::step].astype(np.int64) for name in used}
        self._told: dict[tuple[str, str, int], int] = {}

    def levels_told(self, name: str, cuts: Cuts) -> list[int]:
        """Returns to which level of a column each of its clues tells it, at some cuts."""
        return [self._level(name, clue, cuts[clue].node_of) for clue in self.follows[name]]

    def level_told(self, name: str, clue: str, level: int) -> int:
        """Returns the finest level of a column that another one tells, which is shown at a level."""
        key = name, clue, level
        if key not in self._told:
            self._told[key] = self._level(name, clue, self._columns[clue].taxonomy.levels[level])
        return self._told[key]

    def _level(self, name: str, clue: str, node_of: NDArray[np.int32]) -> int:
        levels, places = self._columns[name].taxonomy.levels, self._columns[clue].taxonomy.low
        clues = np.repeat(places[node_of[self._codes[clue]]].astype(np.int64), self._counts)
        for level in range(len(levels) - 1):
            nodes = np.repeat(levels[level][self._codes[name]].astype(np.int64), self._counts)
            usual = int(np.bincount(nodes).max(initial=0))
            told = max(told_rows(clues, nodes), told_by_neighbors(clues, nodes))
            if is_telling(told, usual, len(nodes)):
                return level
        return len(levels) - 1


def _clues_of(name: str, follows: Mapping[str, Collection[str]]) -> list[str]:
    """Returns by which columns one is told, also by way of others.

    >>> _clues_of("region", {"region": ["town"], "town": ["zip", "region"]})
    ['town', 'zip']
    """
    clues = list(follows.get(name, ()))
    for clue in clues:
        clues += [more for more in follows.get(clue, ()) if more not in clues and more != name]
    return clues


class FrameProofFamily:
    """Versions of which no `size` owners can build one that is another's, from all that they hold.

    `take` makes a version a member, if it fits. An owner may have several versions.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._owners: list[str] = []
        self._holdings: list[Detail] = []
        self._versions: list[Detail] = []
        self._of: list[int] = []

    def __len__(self) -> int:
        return len(self._versions)

    def fits(self, detail: Detail, owner: str = "") -> bool:
        """Whether the family stays frame-proof with this version; an owner without name is a new one."""
        if not self._versions:
            return True
        mine = self._owners.index(owner) if owner and owner in self._owners else -1
        holdings, versions, of = np.array(self._holdings), np.array(self._versions), np.array(self._of)
        others = np.arange(len(holdings)) != mine
        if covers(holdings[others] >= detail, self.size):
            return False
        joined = detail if mine < 0 else np.maximum(detail, holdings[mine])
        reached = joined >= versions
        for v in np.flatnonzero(of != mine).tolist():
            accomplices = others & (np.arange(len(holdings)) != of[v])
            if covers(holdings[accomplices][:, ~reached[v]] >= versions[v, ~reached[v]], self.size - 1):
                return False
        return True

    def add(self, detail: Detail, owner: str = "") -> None:
        """Makes a version a member."""
        if owner and owner in self._owners:
            place = self._owners.index(owner)
            self._holdings[place] = np.maximum(self._holdings[place], detail)
        else:
            place = len(self._owners)
            self._owners.append(owner)
            self._holdings.append(detail)
        self._versions.append(detail)
        self._of.append(place)

    def forget(self) -> None:
        """Removes the last version, of an owner without name."""
        for members in (self._owners, self._holdings, self._versions, self._of):
            members.pop()

    def take(self, detail: Detail, owner: str = "") -> bool:
        """Makes a version a member if it fits; returns whether it does."""
        fits = self.fits(detail, owner)
        if fits:
            self.add(detail, owner)
        return fits


# Families of patterns: distinct, and none framed by few others.
#
# Single frame-proofness is solved exactly, by a largest antichain. Everything else is greedy, improved by
# counted steps, and proves what it found, not that nothing is larger.

Indices = NDArray[np.int64]

SHORT_WINDOW = 10
"""Windows of at most so many patterns are each searched."""

MOST_STARTS = 24
"""So many patterns are tried as the first of a family that pairs or more cannot frame."""

MOST_STEPS = 2_000
"""So many steps are taken in search of a larger family: enough to be exact for a dozen patterns."""


@dataclass(frozen=True)
class EarlierVersion:
    """A version that somebody got earlier, on today's trees."""

    recipient: str
    cuts: Cuts


class Families:
    """Families of a table's patterns under a rule, beside the versions that are held."""

    def __init__(
        self,
        patterns: Patterns,
        rule: RecipientRule,
        held: Sequence[EarlierVersion],
        follows: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.patterns, self.rule, self.held = patterns, rule, tuple(held)
        self.shown = ShownDetail(patterns.table, follows)
        self._best_so_far: dict[bytes, Indices] = {}

    @property
    def exact(self) -> bool:
        """Whether no family is larger than those that are found."""
        return self.rule.frame_proof == 1 and not self._several_versions

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
                self._best_so_far[key] = max(extended, self._frame_proof(window[:length]), key=len)
            best, done = self._best_so_far[key], length
        return self._extended(best, window[done:])

    def distinct(self, indices: Indices) -> Indices:
        """Returns these patterns, none that shows the same as another or as one that is held."""
        _, first = np.unique(self.ranks[indices], axis=0, return_index=True)
        distinct = indices[np.sort(first)]
        for detail in self._held_details:
            distinct = distinct[~(self._finer(detail, distinct) & self._coarser(detail, distinct))]
        return distinct

    def _frame_proof(self, window: Indices) -> Indices:
        """Returns a family of the window beside what is held."""
        for detail in self._held_details:
            window = window[~(self._finer(detail, window) | self._coarser(detail, window))]
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
        for version, detail in zip(self.held, self._held_details, strict=True):
            family.add(detail, version.recipient)
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

    def _extended(self, start: Indices, more: Indices) -> Indices:
        """Returns the family, and whatever of these fits beside it, in their order."""
        family, chosen = self.family_of_held(), start.tolist()
        for index in chosen:
            family.add(self._compared_by(index))
            mine, theirs = self.ranks[index], self.ranks[more]
            more = more[np.any(theirs > mine, axis=1) & np.any(theirs < mine, axis=1)]
        for index in more.tolist():
            if family.take(self._compared_by(index)):
                chosen.append(index)
        return np.array(chosen, np.int64)

    # -- comparing ----------------------------------------------------------------------------------------

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The detail of every pattern, one number per column."""
        ranks, grid = self.shown.detail_ranks(), self._grid
        return np.stack([r[grid[j]] for j, r in enumerate(ranks)], axis=1)

    @cached_property
    def _grid(self) -> NDArray[np.int16]:
        """The level of every pattern, one line per key column, as fine as the rest of a row tells it."""
        return self.shown.levels_known(self.patterns.grid)

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
            truth &= than(of_level, detail[start:end]).all(axis=1)[self._grid[j, indices]]
            start = end
        return truth


__all__ = ["AvailableVersions", "EarlierVersion", "PlannedVersion"]

TOLERANCE_STEPS = tuple(
    Fraction(p, 100) for p in (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 200, 500, 1000)
)
"""Tolerances whose patterns are searched by themselves; between them the family before is extended."""


@dataclass(frozen=True, eq=False)
class PlannedVersion:
    """A version that a recipient may get; `index` is the number of the pattern, where it is one.

    `pool` has, column by column, the levels of all patterns that it was drawn from, if it was drawn.
    """

    cuts: Cuts
    quality: Fraction | float
    index: int | None = None
    pool: Mapping[str, Sequence[int]] = field(default_factory=dict)


class AvailableVersions:
    """The versions of one table that can be handed out beside those that were handed out before."""

    def __init__(
        self,
        patterns: Patterns,
        rule: RecipientRule,
        metric: str,
        *,
        held: Sequence[EarlierVersion] = (),
        follows: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.patterns, self.rule, self.metric = patterns, rule, metric
        self.held, self.follows = tuple(held), follows
        self.families = Families(patterns, rule, held, follows)
        self.shown = self.families.shown

    def most(self, tolerance: Fraction | None = None) -> int:
        """Returns how many further recipients patterns serve within a tolerance (else the policy's)."""
        return len(self.family(tolerance))

    def family(self, tolerance: Fraction | None = None) -> Indices:
        """Returns patterns that can be handed out together, the best first; always the same ones.

        A wider tolerance never has fewer.
        """
        largest = self.rule.tolerance if tolerance is None else tolerance
        narrower = (
            [] if self.families.exact else [len(self._window(t)) for t in TOLERANCE_STEPS if t <= largest]
        )
        return self._best_first(self.families.largest(self._window(largest), narrower))

    def choose(self, count: int, coins: Coins | None = None) -> list[PlannedVersion]:
        """Returns versions for so many new recipients, or as many as there are: drawn by coins, or the best.

        Each that was drawn knows the levels of all that could have been.
        """
        family = self.family()
        if coins is None:
            return [self._version(i) for i in family[:count].tolist()]
        levels = np.array([self.patterns.levels(i) for i in family.tolist()]).T.tolist()
        pool = dict(zip(self.patterns.names, levels, strict=True)) if len(family) else {}
        drawn = family[coins.order("patterns", len(family))[:count]]
        return [replace(self._version(i), pool=pool) for i in drawn.tolist()]

    def is_fitting(self, owner: str, cuts: Cuts) -> bool:
        """Whether a version can stand beside all that is held: nobody is framed."""
        return self.families.family_of_held().fits(self.shown.detail(cuts), owner)

    # -- which patterns -----------------------------------------------------------------------------------

    def _window(self, tolerance: Fraction | None = None) -> Indices:
        """Returns patterns within a tolerance, none that shows the same as another or as one that is held."""
        alike = self._alike(self.rule.tolerance if tolerance is None else tolerance)
        return self.families.distinct(self._best_first(alike))

    def _alike(self, tolerance: Fraction) -> Indices:
        """Returns the allowed patterns within a tolerance of the best."""
        best = best_class(self.patterns, self.metric, tolerance=tolerance)
        return np.zeros(0, np.int64) if best is None else best.members

    def _best_first(self, indices: Indices) -> Indices:
        values = self.patterns.metric(self.metric)[indices]
        return indices[np.lexsort((indices, values))]

    def _version(self, index: int) -> PlannedVersion:
        return PlannedVersion(self.patterns.cuts(index), self.patterns.value(self.metric, index), index)


# The same terms removed in every version: chosen once, for what all versions say together.
#
# Versions show the same rows at different levels. Terms are removed until the finest of these levels, all at
# once, keep what is promised: then every version, which is coarser, keeps it, too. Which versions there may
# be is decided without the promises about terms, from the table and the policy alone: who comes later gets a
# version of the same shortened table.


def same_terms_removed(
    table: Microdata, policy: Policy, *, progress: Progress = silent
) -> tuple[Recoding, TermReport] | None:
    """Returns the table as it is, without terms that no version may show, and what became of its terms.

    The promises of the policy must know what they take from the original table. `None` where no version keeps
    the other promises. Raises `Infeasible` where no removal helps.
    """
    others = Promises(
        tuple(p for p in key_promises(policy.promises) if not isinstance(p, CrossReleasePromise))
    )
    patterns = classify(table, others, aim_of(policy), progress=progress)
    if not patterns.allowed.any():
        return None
    rule = policy.recipients or RecipientRule()
    family = AvailableVersions(patterns, rule, rule.quality or policy.protect.loss).family()
    finest = np.min([patterns.levels(int(index)) for index in family], axis=0)
    positions = Recoding.of_cuts(table, patterns.cuts(patterns.index(finest.tolist())))
    shortened, report = suppress_terms(
        positions, limits_of(policy.promises), policy.protect.terms, progress=progress
    )
    unchanged = {column.name: Cut.leaves(column.taxonomy) for column in table.keys}
    return replace(Recoding.of_cuts(table, unchanged), rewritten=shortened.rewritten), report
