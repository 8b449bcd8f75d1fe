"""What the issued versions say about a leak: the recipients that each of its cells may come from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import log, log1p, prod, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.recipients.collusion import Explanations
from sfumato.recipients.leak import Flags, Leak, UnchangedColumns, rows_held_by, rows_in_original
from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import pluralize
from sfumato.table.microdata import Counts, Microdata, Packing
from sfumato.table.release_summary import UNKNOWN, Imprint, ReadingTree
from sfumato.table.taxonomy import ROOT, Nodes

Numbers = NDArray[np.intp]


class Texts(Protocol):
    """Texts of some columns, which trees can read."""

    @property
    def names(self) -> tuple[str, ...]:
        """Our names of the columns."""
        ...

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        """Returns the node of every text of a column; UNKNOWN where the tree has none."""
        ...


@dataclass(frozen=True, eq=False)
class RecipientKnowledge:
    """Which versions let their recipients write which texts.

    A version yields a text if it shows the node of the text or finer ones. A version whose pattern is not
    known, or that has no such key column, is taken to yield everything, unless the column is `withheld`:
    known not to be in the version, so that it yields only texts that say nothing.
    """

    issued: IssuedVersions
    texts: Texts
    withheld: frozenset[tuple[int, str]] = frozenset()

    @cached_property
    def columns(self) -> tuple[tuple[Numbers, Flags], ...]:
        """Per column: the distinct sets of versions that yield some text, and which of them each text has."""
        return tuple(self._column(j) for j in range(len(self.texts.names)))

    def _column(self, j: int) -> tuple[Numbers, Flags]:
        """The same of one column; of versions with the same cut of it only one is looked at."""
        name = self.texts.names[j]
        trees = {tree.digest: tree for tree in self.issued.columns[name]}
        read = {digest: self.texts.nodes(j, tree) for digest, tree in trees.items()}
        silent = np.all([nodes == ROOT for nodes in read.values()], axis=0)
        numbers: dict[object, int] = {"all": 0, "nothing": 1}
        yields = [np.ones(len(silent), dtype=bool), silent]
        alike = np.zeros(len(self.issued.versions), np.intp)
        for v, version in enumerate(self.issued.versions):
            if version.cuts is None or name not in version.columns:
                alike[v] = numbers["nothing" if (v, name) in self.withheld else "all"]
                continue
            place = version.columns.index(name)
            digest, cut = kind = version.digests[place], version.cuts[place]
            if kind not in numbers:
                numbers[kind] = len(yields)
                yields.append(trees[digest].knows(cut)[read[digest]] & (read[digest] != UNKNOWN))
            alike[v] = numbers[kind]
        distinct, which = np.unique(np.array(yields), axis=1, return_inverse=True)
        return which.ravel(), distinct.T[:, alike]

    def recipients(self, versions: Flags) -> Flags:
        """Turns sets of versions, one per row, into sets of recipients."""
        order = np.argsort(self.issued.owner, kind="stable")
        first = np.flatnonzero(np.diff(self.issued.owner[order], prepend=-1))
        recipients: Flags = np.logical_or.reduceat(versions[:, order], first, axis=1)
        return recipients

    def demands(self) -> Flags:
        """Returns the sets of recipients of which an explanation of all the texts needs one each."""
        return np.concatenate([self.recipients(sets) for _, sets in self.columns])


@dataclass(frozen=True, eq=False)
class LeakEvidence:
    """A leak compared with the issued versions, as far as their content has been looked at.

    `held[v]` flags the rows of the leak for which version v holds a record that may be their source; a
    version that is not in it, of an event that is not, is assumed to hold all. `real` flags the rows that
    exist in the original, where that was given.

    `unchanged` is what was learned from columns that are published as they are. It sets rows aside, and never
    charges anybody.

    `readings` are other ways to read the leak, in which columns are others than they are called: a cell then
    may also come from whoever could have written it in one of these. Columns that are `uncounted` may be
    anybody's. With `unplaced`, several columns that are published unchanged could not be compared: one of
    them may stand under the name of a key column, and no reading can tell.
    """

    leak: Leak
    knowledge: RecipientKnowledge
    held: Mapping[int, Flags] = field(default_factory=dict)
    real: Flags | None = None
    readings: tuple[LeakEvidence, ...] = ()
    uncounted: frozenset[int] = frozenset()
    unchanged: UnchangedColumns = field(default_factory=UnchangedColumns)
    unplaced: bool = False

    @classmethod
    def of(cls, leak: Leak, issued: IssuedVersions, *, real: Flags | None = None) -> LeakEvidence:
        return cls(leak, RecipientKnowledge(issued, leak), real=real)

    def learn(
        self,
        held: Mapping[int, Flags],
        withheld: frozenset[tuple[int, str]],
        unchanged: UnchangedColumns | None = None,
    ) -> LeakEvidence:
        """Returns the evidence after more versions were looked at."""
        knowledge = self.knowledge
        if withheld - knowledge.withheld:
            knowledge = replace(knowledge, withheld=knowledge.withheld | withheld)
        learned = unchanged or self.unchanged
        return replace(self, held={**self.held, **held}, knowledge=knowledge, unchanged=learned)

    @cached_property
    def existing(self) -> dict[str, Flags]:
        """Per event that was looked at: the rows of the leak that its table holds a record for.

        Such a record is in all versions that show the whole table; where none does, one has to hold it.
        """
        versions = self.knowledge.issued.versions
        existing = {}
        for event in dict.fromkeys(versions[v].event for v in self.held):
            every = [rows for v, rows in self.held.items() if versions[v].event == event]
            whole = [
                rows for v, rows in self.held.items() if versions[v].event == event and versions[v].whole
            ]
            existing[event] = np.logical_and.reduce(whole) if whole else np.logical_or.reduce(every)
        return existing

    @cached_property
    def _holders(self) -> tuple[Numbers, Flags]:
        """The distinct sets of versions that hold a row, and which of them each row has."""
        versions = self.knowledge.issued.versions
        if not self.held:
            return np.zeros(len(self.leak.counts), np.intp), np.ones((1, len(versions)), dtype=bool)
        places = {event: i for i, event in enumerate(self.existing)}
        own = {v: len(places) + i for i, v in enumerate(self.held)}
        rows = np.stack([*self.existing.values(), *self.held.values()], axis=1)
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        sets = np.ones((len(distinct), len(versions)), dtype=bool)
        for v, version in enumerate(versions):
            if version.event in places:
                sets[:, v] = distinct[:, places[version.event]]
            if v in own:
                sets[:, v] &= distinct[:, own[v]]
        return which.ravel(), sets

    @cached_property
    def _possible_sources(self) -> tuple[tuple[Numbers, Flags], ...]:
        """Per column: the sets of versions that a cell may come from, and which of them each row has."""
        holder, holders = self._holders
        by_column = []
        for (which, sets), codes in zip(self.knowledge.columns, self.leak.codes, strict=True):
            pairs, index = np.unique(which[codes] * len(holders) + holder, return_inverse=True)
            by_column.append((index, sets[pairs // len(holders)] & holders[pairs % len(holders)]))
        return tuple(by_column)

    @cached_property
    def finer(self) -> Flags:
        """Rows with a cell that is finer than in any version: no recipient can have known it."""
        shown_by_some = np.ones(len(self.leak.counts), dtype=bool)
        for (which, sets), codes in zip(self.knowledge.columns, self.leak.codes, strict=True):
            shown_by_some &= np.logical_or.reduce(sets, axis=1)[which[codes]]
        return self.leak.legible & ~shown_by_some

    @cached_property
    def never_shown(self) -> Flags:
        """Rows with texts in unchanged columns that no version shows together."""
        events = frozenset(version.event for version in self.knowledge.issued.versions)
        return self.leak.legible & self.unchanged.never_shown(events, len(self.leak.counts))

    @cached_property
    def foreign(self) -> Flags:
        """Rows that can be read, and are about no record of any version that was looked at.

        Leaving a row aside charges nobody: whoever explains all rows explains the other ones, too.
        """
        rows = len(self.leak.counts)
        real = np.ones(rows, dtype=bool) if self.real is None else self.real
        if self.held and self.real is None:
            every = [there & self.unchanged.may_hold(e, rows) for e, there in self.existing.items()]
            real = np.logical_or.reduce(every)
        for index, sets in self._possible_sources:
            real = real & np.logical_or.reduce(sets, axis=1)[index]
        return self.leak.legible & ~self.finer & ~self.never_shown & ~real

    @cached_property
    def ours(self) -> Flags:
        """The rows that are ours: an explanation must cover each of them."""
        return self.leak.legible & ~self.finer & ~self.never_shown & ~self.foreign

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who received something that has a column of the leak, in some reading."""
        every = (self.knowledge.issued, *(reading.knowledge.issued for reading in self.readings))
        return tuple(dict.fromkeys(name for issued in every for name in issued.recipients))

    def by_column(self) -> list[Flags]:
        """Returns, per column, the sets of recipients that a cell of a row of ours may come from."""
        return [self._column_sources(j) for j in range(len(self.leak.names))]

    def _column_sources(self, j: int) -> Flags:
        """The same of one column: the distinct sets, each over all readings that a row may have."""
        rows = np.flatnonzero(self.ours)
        if j in self.uncounted:
            return np.ones((min(1, len(rows)), len(self.recipients)), dtype=bool)
        index, sets = self._possible_sources[j]
        sources = [(index[rows], self.knowledge.recipients(sets), self.knowledge.issued.recipients)]
        for reading in self.readings:
            nobody, anybody = np.zeros_like(rows), np.ones_like(rows)
            issued = reading.knowledge.issued
            sets = np.stack([np.zeros(len(issued.versions), bool), np.ones(len(issued.versions), bool)])
            which = np.where(reading.ours[rows], anybody, nobody)
            if j in reading.leak.places:
                place = reading.leak.places.index(j)
                own, own_sets = reading._possible_sources[place]
                sets = np.concatenate([sets[:1], own_sets])
                which = np.where(reading.ours[rows], own[rows] + 1, nobody)
            sources.append((which, reading.knowledge.recipients(sets), issued.recipients))
        if j in self.unchanged.taken:
            either = np.array([[False], [True]]).repeat(len(self.recipients), axis=1)
            sources.append((self.unchanged.taken[j][rows].astype(np.intp), either, self.recipients))
        return _united(sources, self.recipients)

    def demands(self) -> Flags:
        """Returns the sets of recipients of which an explanation needs one each."""
        return np.concatenate(self.by_column())

    def rows(self, which: Flags) -> int:
        """Counts the rows of the leak that are flagged."""
        return int(self.leak.counts[which].sum())


def _united(sources: Sequence[tuple[Numbers, Flags, tuple[str, ...]]], names: tuple[str, ...]) -> Flags:
    """Returns the distinct unions of sets of recipients: per source which set each row has, sets, members."""
    place = {name: i for i, name in enumerate(names)}
    kinds = np.unique(np.stack([which for which, _, _ in sources]), axis=1)
    united = np.zeros((kinds.shape[1], len(names)), dtype=bool)
    for numbers, (_, sets, members) in zip(kinds, sources, strict=True):
        united[:, [place[name] for name in members]] |= sets[numbers]
    return united


@dataclass(frozen=True, eq=False)
class MarkedTexts:
    """Texts of which only the marks are known."""

    names: tuple[str, ...]
    marks: Sequence[NDArray[np.uint64]]

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        return tree.read_marks(self.marks[column])


# The chance that rows of an unrelated table fit records of ours by accident.

LEAST_STATED = Fraction(1, 1000)
"""No smaller chance is stated: the assumptions are not known better than that."""
LOG_INVERSE_ERROR = log(100)
"""A share that was counted on drawn patterns is stated as its upper confidence limit, at 99 %."""
MOST_GROUPS = 12
"""Rows of at most so many combinations of levels are told apart; those of rarer ones are taken together."""
VERSIONS_PER_EVENT = 4
"""The chance of a fit is worked out from so many versions of an event at most."""


def levels_of_one_pattern(leak: Leak) -> tuple[int, ...] | None:
    """Returns the level of every column, if one combination of levels may have made all readable rows.

    A text that stands for several levels is read as the coarsest of them: so a row may show other levels than
    the one it was made at. `None` where no one combination shows all the cells.
    """
    levels = []
    for j, name in enumerate(leak.names):
        tree = leak.trees[name][-1]
        nodes = np.unique(leak.nodes(j, tree)[leak.codes[j][leak.legible]])
        finest = int(tree.level[nodes].min(initial=tree.height))
        if nodes.min(initial=0) == UNKNOWN or finest < 0:
            return None
        if not np.isin(nodes, tree.read_marks(tree.marks[tree.level_nodes(finest)])).all():
            return None
        levels.append(finest)
    return tuple(levels)


def rows_by_detail(leak: Leak) -> list[Flags]:
    """Splits the readable rows by the levels that their cells have; the commonest combinations come first."""
    levels = []
    for j, name in enumerate(leak.names):
        read = [(tree, leak.nodes(j, tree)) for tree in leak.trees[name]]
        levels_read = [np.where(nodes != UNKNOWN, tree.level[nodes], UNKNOWN) for tree, nodes in read]
        levels.append(np.max(levels_read, axis=0)[leak.codes[j]])
    rows = np.flatnonzero(leak.legible)
    _, which, size = np.unique(
        np.stack(levels, axis=1)[rows], axis=0, return_inverse=True, return_counts=True
    )
    rank = np.argsort(np.argsort(-size, kind="stable"))[which.ravel()]
    groups = []
    for group in range(min(len(size), MOST_GROUPS)):
        mine = np.zeros(len(leak.legible), dtype=bool)
        mine[rows[np.minimum(rank, MOST_GROUPS - 1) == group]] = True
        groups.append(mine)
    return groups


def chance_in_versions(
    leak: Leak, rows: Flags, issued: IssuedVersions, pairs: Sequence[tuple[HeldVersion, Imprint]]
) -> float:
    """Returns an upper bound of the chance that a made-up row fits, from imprints of the first versions.

    A row about a table is in all its versions that show the whole table, so the least of their chances
    counts. Where no version is whole, one of them has to hold the row, so the largest counts. A row may be
    about the table of any event: the chances of events add up.
    """
    chances: dict[str, list[float]] = {}
    whole = {version.event for version, _ in pairs if version.whole}
    for version, imprint in pairs:
        event = chances.setdefault(version.event, [])
        if len(event) < VERSIONS_PER_EVENT and version.whole == (version.event in whole):
            trees = [issued.trees[place] for place in zip(version.columns, version.digests, strict=True)]
            event.append(chance_in_version(leak, rows, imprint, trees))
    bounds = [min(c) if event in whole else max(c) for event, c in chances.items()]
    return min(1.0, sum(bounds)) if bounds else 1.0


def chance_in_version(leak: Leak, rows: Flags, imprint: Imprint, trees: Sequence[ReadingTree]) -> float:
    """Returns the chance that a made-up row fits a class of a version, in the detail of these rows."""
    places = {key.name: i for i, key in enumerate(imprint.keys)}
    shared = [tree for tree in trees if tree.name in places and tree.name in leak.names]
    nodes = [_generalized_like(leak, rows, tree)[imprint.nodes[:, places[tree.name]]] for tree in shared]
    return _chance_of_a_match(nodes, imprint.sizes)


def chance_in_original(leak: Leak, rows: Flags, original: Microdata) -> float:
    """Returns the chance that a made-up row fits a row of the original, in the detail of these rows."""
    nodes = []
    for column in original.keys:
        if column.name in leak.names:
            tree = ReadingTree.of(column.name, column.taxonomy)
            leaves = column.taxonomy.leaves[original.codes(column.name)]
            nodes.append(_generalized_like(leak, rows, tree)[leaves])
    return _chance_of_a_match(nodes, original.counts)


def _generalized_like(leak: Leak, rows: Flags, tree: ReadingTree) -> Nodes:
    """Returns what every node of a tree becomes in the detail of the leak: its ancestor at the finest level.

    That ancestor is read back from its text. Where the leak shows a node further above, it is that one.
    """
    j = leak.names.index(tree.name)
    nodes = np.unique(tree.read(leak.texts[j])[np.unique(leak.codes[j][rows])])
    nodes = nodes[nodes != UNKNOWN]
    finest = int(tree.level[nodes].min(initial=tree.height))
    generalized = np.arange(len(tree.parent), dtype=np.int32)
    for _ in range(int(tree.shape.depth.max(initial=0))):
        low = tree.level[generalized] < finest
        generalized[low] = tree.parent[generalized[low]]
    generalized = tree.read_marks(tree.marks[generalized])
    for node in nodes[::-1].tolist():
        generalized[node : tree.shape.end[node]] = node
    return generalized


def _chance_of_a_match(columns: Sequence[Nodes], weight: Counts) -> float:
    """Returns the mass of the cells that exist, if every column were drawn from its own margin."""
    if not columns or not len(weight):
        return 1.0
    chance = np.ones(len(weight))
    for nodes in columns:
        mass = np.bincount(nodes, weights=weight)
        chance *= (mass / mass.sum())[nodes]
    cells = Packing(tuple(int(nodes.max()) + 1 for nodes in columns)).pack(columns)
    kind = cells[0] if len(cells) == 1 else np.unique(cells, axis=1, return_inverse=True)[1].ravel()
    _, first = np.unique(kind, return_index=True)
    return float(min(1.0, chance[first].sum()))


def chance_of_at_least(fits: int, tries: Sequence[tuple[int, float]]) -> float:
    """Returns the chance of at least so many fits among independent rows, given as sizes and chances.

    >>> chance_of_at_least(2, [(2, 0.5)]), chance_of_at_least(1, [(3, 1.0)])
    (0.25, 1.0)
    >>> chance_of_at_least(2, [(1, 0.5)] * 2)
    0.25
    """
    chances = np.ones(1)
    for rows, chance in tries:
        chances = np.convolve(chances, _binomial(rows, chance))
    return float(min(1.0, chances[max(0, fits) :].sum()))


def _binomial(rows: int, chance: float) -> NDArray[np.float64]:
    """Returns the chance of every number of fits."""
    if not 0 < chance < 1:
        sure = np.zeros(rows + 1)
        sure[rows if chance >= 1 else 0] = 1.0
        return sure
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, rows + 1)))))
    fits = np.arange(rows + 1)
    ways = logs[-1] - logs - logs[::-1]
    result: NDArray[np.float64] = np.exp(ways + fits * log(chance) + (rows - fits) * log1p(-chance))
    return result


def upper_limit(drawn: Flags) -> float:
    """Returns the upper limit of a share (Bernstein's inequality with the empirical variance)."""
    tries = max(1, len(drawn))
    share = int(drawn.sum()) / tries
    deviation = sqrt(2 * share * (1 - share) * LOG_INVERSE_ERROR / tries)
    return min(1.0, share + deviation + 3 * LOG_INVERSE_ERROR / tries)


# Guesses: the chance that others, who made up what they did not hold, would get somebody charged.

GUESSERS = 4
"""So many of those who would have to guess the fewest columns are looked at."""
SAMPLED_ROWS, DRAWS = 100, 30
"""The chance of a hit is told from so many rows, with so many guesses for each."""
COMPARED_VERSIONS = 4
"""A guess hits if so many versions of an event, at most, hold a record for it."""
GUESS_FACTOR = 2
"""A guesser's chance is stated so many times as large as the assumptions give it."""
DOUBT = 0.05
"""Guesses that hit as often as a leak with a larger chance than this are possible; nobody is charged if also
some rows miss, or if a column may be one that is published unchanged: its values are guesses of a key's."""

TextsByHolder = Sequence[NDArray[np.bool_]]
"""Per column: who is told which text, by the cuts of their versions."""


@dataclass(frozen=True)
class GuessChance:
    """The chance that somebody else, who guessed some columns, would have got the charged one charged.

    The others hold everything but the `columns`, and know these as coarse as they hold them. A guess is drawn
    from the different combinations that the leak shows for rows which look alike to a guesser. Of `rows`
    different rows with a choice, `fitting` fit a record; a guess fits with the chance `by_accident` at most.
    Stated is twice the chance of so many fits, and 1 where no row leaves a choice.
    """

    probability: float
    columns: tuple[str, ...]
    rows: int
    fitting: int
    by_accident: float

    @property
    def possible(self) -> bool:
        """Whether guesses would hit as often as the leak does with a chance that is not small."""
        return self.probability > DOUBT

    @property
    def likely(self) -> bool:
        """Whether the leak looks like guesses: some rows miss, and no more hit than would by accident."""
        return self.fitting < self.rows and self.possible

    def as_dict(self) -> JsonObject:
        return {**vars(self), "columns": list(self.columns)}


def guess_chance(
    evidence: LeakEvidence,
    charged: str,
    max_coalition_size: int,
    pairs: Sequence[tuple[HeldVersion, Imprint]],
    original: Microdata | None,
) -> GuessChance | None:
    """Returns the largest chance of several groups of guessers; `None` where there is nobody else.

    `known` are versions with their imprints: of every event those that show the whole table, if any does.
    """
    recipients = evidence.knowledge.issued.recipients
    others = [i for i, name in enumerate(recipients) if name != charged]
    rows = evidence.leak.legible & ~evidence.finer & ~evidence.never_shown
    if not others or not rows.any():
        return None
    texts_by_holder: list[NDArray[np.bool_]] = []
    for (which, sets), codes in zip(evidence.knowledge.columns, evidence.leak.codes, strict=True):
        texts = evidence.knowledge.recipients(sets)[which]
        texts[np.setdiff1d(np.arange(len(texts)), codes[rows])] = True
        texts_by_holder.append(texts)
    lacking = np.stack([~texts[:, others].all(axis=0) for texts in texts_by_holder]).sum(axis=0)
    first = np.argsort(lacking, kind="stable")[:GUESSERS]
    chances = []
    for position in first.tolist():
        group = _joined_by_others(texts_by_holder, others, others[position], max_coalition_size)
        chances.append(_chance(evidence, rows, texts_by_holder, group, pairs, original))
    return max(chances, key=lambda chance: chance.probability)


def _joined_by_others(
    texts_by_holder: TextsByHolder, others: Sequence[int], first: int, max_coalition_size: int
) -> list[int]:
    """Returns a group of guessers: each next one leaves the fewest columns to be guessed."""
    group = [first]
    while len(group) < max_coalition_size:
        own = [_told_to(texts, group) for texts in texts_by_holder]
        left = np.stack(
            [
                ~(texts[:, others] | mine[:, None]).all(axis=0)
                for texts, mine in zip(texts_by_holder, own, strict=True)
            ]
        ).sum(axis=0)
        if left.min() >= sum(not mine.all() for mine in own):
            break
        group.append(others[int(left.argmin())])
    return group


def _told_to(texts: Flags, group: Sequence[int]) -> Flags:
    """Flags the texts that somebody of the group is told."""
    known_texts: Flags = np.logical_or.reduce(texts[:, list(group)], axis=1)
    return known_texts


def _chance(
    evidence: LeakEvidence,
    rows: Flags,
    texts_by_holder: TextsByHolder,
    group: Sequence[int],
    pairs: Sequence[tuple[HeldVersion, Imprint]],
    original: Microdata | None,
) -> GuessChance:
    """Returns the chance of one group; what they all were told, and did not hold, they guess altogether."""
    leak = evidence.leak
    beyond = [
        ~_told_to(texts, group)[codes] for texts, codes in zip(texts_by_holder, leak.codes, strict=True)
    ]
    columns = [j for j, missing in enumerate(beyond) if (missing & rows).any()] or list(range(len(beyond)))
    guessed = rows & np.logical_or.reduce(beyond)
    guessed = guessed if guessed.any() else rows
    guesses = _Guesses.of(leak, guessed, columns, _alike(evidence, group, columns))
    tried = guesses.choice
    names = tuple(leak.names[j] for j in columns)
    if not tried.any():
        return GuessChance(1.0, names, 0, 0, 1.0)
    hit = guesses.hits(leak, columns, pairs, original)
    tries, fits = leak.different(tried), leak.different(tried & evidence.ours)
    chance = GUESS_FACTOR * chance_of_at_least(fits, [(tries, hit)])
    return GuessChance(min(1.0, max(float(LEAST_STATED), chance)), names, tries, fits, hit)


def _alike(evidence: LeakEvidence, group: Sequence[int], columns: Sequence[int]) -> NDArray[np.intp]:
    """Numbers the rows of the leak so that those are equal which look alike to the group in these columns."""
    leak, issued = evidence.leak, evidence.knowledge.issued
    codes = []
    for j in columns:
        looks = [np.zeros(len(leak.texts[j]), np.int32)]
        for v in np.flatnonzero(np.isin(issued.owner, group)).tolist():
            for tree in leak.trees[leak.names[j]]:
                cut, nodes = issued.versions[v].cut_of(tree), leak.nodes(j, tree)
                if cut is not None:
                    looks.append(np.where(nodes == UNKNOWN, 0, tree.node_of(cut)[tree.shape.low[nodes]]))
        _, look = np.unique(np.stack(looks), axis=1, return_inverse=True)
        codes.append(look.ravel()[leak.codes[j]])
    _, alike = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return alike.ravel()


@dataclass(frozen=True, eq=False)
class _Guesses:
    """What could be guessed: every different combination that the leak shows for rows which look alike.

    `pairs[i]` is a row that stands for a combination; those of one look are `start[g] .. start[g + 1]`.
    `own` is the number of a row's combination, `look` its look, and `choice` flags rows with two or more.
    """

    pairs: NDArray[np.intp]
    start: NDArray[np.intp]
    own: NDArray[np.intp]
    look: NDArray[np.intp]
    choice: Flags

    @classmethod
    def of(cls, leak: Leak, rows: Flags, columns: Sequence[int], alike: NDArray[np.intp]) -> _Guesses:
        chosen = np.flatnonzero(rows)
        table = np.stack([alike[chosen], *(leak.codes[j][chosen] for j in columns)])
        distinct, first, which = np.unique(table, axis=1, return_index=True, return_inverse=True)
        looks, start = np.unique(distinct[0], return_index=True)
        own, look = np.zeros(len(rows), np.intp), np.zeros(len(rows), np.intp)
        own[chosen] = which.ravel()
        look[chosen] = np.searchsorted(looks, alike[chosen])
        ends = np.append(start, distinct.shape[1])
        choice = rows & (np.diff(ends)[look] > 1)
        return cls(chosen[first], ends, own, look, choice)

    def hits(
        self,
        leak: Leak,
        columns: Sequence[int],
        pairs: Sequence[tuple[HeldVersion, Imprint]],
        original: Microdata | None,
    ) -> float:
        """Returns an upper limit of the chance that a guess fits a record; what the row shows always does."""
        rng, pool = np.random.default_rng(1), np.flatnonzero(self.choice)
        rows = np.repeat(rng.choice(pool, min(len(pool), SAMPLED_ROWS), replace=False), DRAWS)
        begin, end = self.start[self.look[rows]], self.start[self.look[rows] + 1]
        drawn = begin + (rng.random(len(rows)) * (end - begin)).astype(np.intp)
        codes = tuple(own[self.pairs[drawn] if j in columns else rows] for j, own in enumerate(leak.codes))
        guesses = replace(leak, codes=codes, counts=np.ones(len(rows), np.int64), unchanged={})
        return upper_limit((drawn == self.own[rows]) | _fitting(guesses, pairs, original))


def _fitting(
    guesses: Leak, pairs: Sequence[tuple[HeldVersion, Imprint]], original: Microdata | None
) -> Flags:
    """Flags the guesses that fit a record of the original, or of the versions of some event."""
    every = np.ones(len(guesses.counts), dtype=bool)
    if original is not None:
        return rows_in_original(guesses, original, every)
    by_event: dict[str, list[Flags]] = {}
    for version, imprint in pairs:
        flags_of_event = by_event.setdefault(version.event, [])
        flags = (
            rows_held_by(guesses, version, imprint, every)
            if len(flags_of_event) < COMPARED_VERSIONS
            else None
        )
        if flags is not None:
            flags_of_event.append(flags)
    by_versions = [
        np.logical_and.reduce(flags_of_event) for flags_of_event in by_event.values() if flags_of_event
    ]
    fitting: Flags = np.logical_or.reduce(by_versions) if by_versions else every
    return fitting


# The chance that a charge is false: if recipients made the leak, and if somebody else did.

OUTSIDER_FACTOR = 2
"""An outsider's chance is stated so many times as large as the assumptions give it."""
MOST_PATTERNS = 100_000
"""Of more patterns than this so many are drawn."""
RECIPIENT_ASSUMPTIONS = (
    "the leak stems from versions that were handed out",
    "not more recipients worked together than were looked for",
    "nobody wrote finer values than they held, by guessing, or rows that they did not hold",
)
COLUMN_ASSUMPTION = (
    "every column that was read is one of our key columns whose values it holds, whatever its name"
)
OUTSIDER_ASSUMPTIONS = (
    "an unrelated table was written in our words: each of its rows fits a record of ours by accident, with"
    " the chance that the margins of our columns give, as if columns were independent",
    "its rows do not depend on each other",
    "its detail, if it may be the same in all rows, is any combination of levels with equal chance",
)


@dataclass(frozen=True)
class OutsiderChance:
    """The chance that an unrelated table would be charged like this, at most `probability`.

    Of `rows` different rows that could be read, `fitting` fit a record of ours (of the original, if that was
    given); a row of somebody else fits by accident with the chance `by_accident`, on average (1 where that is
    not known). `pattern` is the share of patterns that might charge somebody, 1 if the leak has several.
    Stated is the chance of so many fits times that share, and that twice. `as_coarse` is the share among the
    patterns that are as coarse as the leak: it is not part of what is stated, and often much larger.
    """

    probability: float
    rows: int
    fitting: int
    by_accident: float
    pattern: float
    as_coarse: float = 1.0
    assumptions: tuple[str, ...] = OUTSIDER_ASSUMPTIONS

    @classmethod
    def of(
        cls, fitting: int, tries: Sequence[tuple[int, float]], pattern: float, as_coarse: float = 1.0
    ) -> OutsiderChance:
        """Returns the chance for groups of rows, each as its size and the chance that one of its rows fits.

        >>> OutsiderChance.of(10, [(10, 0.5)], 0.1).probability
        0.001
        >>> round(OutsiderChance.of(2, [(3, 0.5)], 0.1).probability, 4)
        0.1
        """
        rows = sum(size for size, _ in tries)
        mean = sum(size * chance for size, chance in tries) / max(1, rows)
        chance = OUTSIDER_FACTOR * chance_of_at_least(fitting, tries) * pattern
        return cls(min(1.0, max(float(LEAST_STATED), chance)), rows, fitting, mean, pattern, as_coarse)


@dataclass(frozen=True)
class FalseCharge:
    """Chances that the charged have nothing to do with a leak; each holds under its own assumptions.

    `probability` is the one if recipients made it. By the definition of an explanation it is zero: the makers
    are one or contain one, and the charged are in all of them; what is stated is the least that ever is. It
    says nothing about a table that stems from no version at all: that chance is `outside`. `guessed` is the
    chance if other recipients made up what they did not hold: the largest for any of the charged.
    """

    outside: OutsiderChance
    guessed: GuessChance | None = None
    probability: float = float(LEAST_STATED)
    assumptions: tuple[str, ...] = RECIPIENT_ASSUMPTIONS

    def as_dict(self) -> JsonObject:
        outside = {**vars(self.outside), "assumptions": list(self.outside.assumptions)}
        return {
            "probability": self.probability,
            "assumptions": list(self.assumptions),
            "guessed": None if self.guessed is None else self.guessed.as_dict(),
            "outside": outside,
        }


def false_charge_of(
    evidence: LeakEvidence,
    explanations: Explanations,
    *,
    charged: Collection[str],
    guessed: GuessChance | None,
    imprints: Mapping[int, Imprint | None],
    original: Microdata | None = None,
) -> FalseCharge:
    """Returns the two chances of a charge; the versions of those who are charged are looked at first."""
    leak, issued = evidence.leak, evidence.knowledge.issued
    pairs = [(issued.versions[v], i) for v, i in imprints.items() if i is not None and v in evidence.held]
    pairs.sort(key=lambda pair: pair[0].recipient not in charged)
    levels = levels_of_one_pattern(leak)
    tries = []
    for rows in rows_by_detail(leak) if levels is None else [leak.legible]:
        if original is not None:
            chance = chance_in_original(leak, rows, original)
        else:
            chance = chance_in_versions(leak, rows, issued, pairs)
        tries.append((leak.different(rows), chance))
    single = any(len(chosen) == 1 for chosen in explanations.sets)
    shares = (1.0, 1.0) if levels is None else charging_shares(evidence, levels, single=single)
    outside = OutsiderChance.of(leak.different(evidence.ours), tries, *shares)
    return FalseCharge(outside, guessed, assumptions=(*RECIPIENT_ASSUMPTIONS, _about_columns(evidence)))


def _about_columns(evidence: LeakEvidence) -> str:
    """Returns the assumption about what the columns are, and how far it goes."""
    fixed = [name for name in evidence.leak.names if name in evidence.leak.fixed]
    if len(fixed) == len(evidence.leak.names):
        return f"every column is what the caller said: {', '.join(fixed)}"
    by_caller = f", and each of {', '.join(fixed)} is what the caller said" if fixed else ""
    ways = len(evidence.readings)
    also = f" ({pluralize(ways, 'other reading')} taken into account)" if ways else " (no other one fits)"
    return f"{COLUMN_ASSUMPTION}{'' if evidence.uncounted else also}{by_caller}"


def charging_shares(evidence: LeakEvidence, levels: Sequence[int], *, single: bool) -> tuple[float, float]:
    """Returns upper bounds of the share of patterns that might charge somebody: of all, of equally high ones.

    A pattern is a combination of levels of the columns of the leak; `levels` gives the height. It might
    charge somebody alone if somebody knows some cells of each column, and no two know them all. With `single`
    false it is enough that anybody knows each column: a coalition might be charged.
    """
    columns = [_knowing_recipients(evidence, name) for name in evidence.leak.names]
    heights = [len(surely) for surely, _ in columns]
    total = prod(heights)
    if total <= MOST_PATTERNS:
        drawn = np.stack(np.unravel_index(np.arange(total), heights), axis=1)
    else:
        drawn = np.random.default_rng(1).integers(0, heights, (MOST_PATTERNS, len(heights)))
    recipients = len(evidence.knowledge.issued.recipients)
    knows_all = np.ones((len(drawn), recipients), dtype=bool)
    knows_some = np.ones((len(drawn), recipients), dtype=bool)
    possible = np.ones(len(drawn), dtype=bool)
    for j, (surely, perhaps) in enumerate(columns):
        knows_all &= surely[drawn[:, j]]
        knows_some &= perhaps[drawn[:, j]]
        possible &= np.logical_or.reduce(perhaps, axis=1)[drawn[:, j]]
    informed = knows_some.any(axis=1) if single else possible
    might = informed & (knows_all.sum(axis=1) <= 1)
    as_coarse = might[drawn.sum(axis=1) == sum(levels)]
    if total <= MOST_PATTERNS:
        return float(might.mean()), float(as_coarse.mean())
    return upper_limit(might), upper_limit(as_coarse)


def _knowing_recipients(evidence: LeakEvidence, name: str) -> tuple[Flags, Flags]:
    """Returns, per level of a column, who surely knows every cell that anybody knows, and who knows some.

    Texts are read as those of a leak are, so that some stand for a coarser level. Where content was looked
    at, a recipient surely knows a row only if each event gave them a version of the whole table: from others
    the row may be missing. Of several trees the last is taken.
    """
    issued = evidence.knowledge.issued
    tree = issued.columns[name][-1]
    holding = [np.ones(len(issued.versions), dtype=bool)]
    if evidence.held:
        events = dict.fromkeys(version.event for version in issued.versions)
        holding = [np.array([v.whole and v.event == event for v in issued.versions]) for event in events]
    surely, perhaps = [], []
    for level in range(tree.height + 1):
        knowledge = RecipientKnowledge(issued, MarkedTexts((name,), (tree.marks[tree.level_nodes(level)],)))
        _, sets = knowledge.columns[0]
        sets = sets[sets.any(axis=1)]
        perhaps.append(knowledge.recipients(sets).any(axis=0))
        by_holding = [knowledge.recipients(sets & holds).all(axis=0) for holds in holding]
        surely.append(np.logical_and.reduce(by_holding) & perhaps[-1])
    return np.array(surely), np.array(perhaps)
