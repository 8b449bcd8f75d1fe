"""Suspects: what speaks against each recipient, column by column and row by row."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.core.imprint import Imprint
from sfumato.core.reading_tree import UNKNOWN, ReadingTree
from sfumato.tracing.coalition import Coalitions, Explanations, SmallestCoalition
from sfumato.tracing.incidence import LeakEvidence, MarkedTexts, RecipientKnowledge
from sfumato.tracing.versions import Handed, HeldVersion

LARGEST = 3
"""Combinations of more columns are not looked through."""
SHOWN = 5
"""So many combinations of a suspect are named."""
FRAMED = 3
"""For so many suspects it is worked out who could frame them."""


@dataclass(frozen=True)
class ColumnMatch:
    """A column of the leak beside a suspect's version: levels (0 is the value itself), and equal cells.

    `leaked` is the finest level in the leak, `held` that of the version; `None` where nodes are not those of
    one level. `as_held` counts the rows of the leak that show exactly what the version shows.
    """

    column: str
    leaked: int | None
    held: int | None
    of: int
    as_held: int


@dataclass(frozen=True)
class Suspect:
    """A recipient who is in some explanation, and what speaks against them.

    `smallest` is the size of the smallest explanation they are in, `explanations` the number of all of them.
    `release` names the release whose version fits best. `only` are the smallest combinations of columns that
    nobody else could have told together. `rows` of the leak can stem from that version alone (`None` where
    the ledger remembers no content). `without` is the smallest coalition of others that explains the leak,
    for those who are certain; `framed_by` the smallest one of others that could build the whole version.
    """

    recipient: str
    certain: bool
    smallest: int
    explanations: int
    release: str
    columns: tuple[ColumnMatch, ...]
    only: tuple[tuple[str, ...], ...]
    rows: int | None
    without: SmallestCoalition | None = None
    framed_by: SmallestCoalition | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "recipient": self.recipient,
            "certain": self.certain,
            "smallest": self.smallest,
            "explanations": self.explanations,
            "release": self.release,
            "columns": [vars(column) for column in self.columns],
            "only": [list(names) for names in self.only],
            "rows": self.rows,
            "without": None if self.without is None else vars(self.without),
            "framed_by": None if self.framed_by is None else vars(self.framed_by),
        }


def suspects(
    evidence: LeakEvidence,
    found: Explanations,
    certain: Mapping[str, SmallestCoalition],
    *,
    imprints: Mapping[int, Imprint | None],
) -> tuple[Suspect, ...]:
    """Everybody in some explanation, the most suspicious first.

    That is: whoever is certain, then by the size of the smallest explanation, then by how many cells are
    exactly those of the version, then in the order of the ledger. Who could frame them is worked out for the
    certain and for the first few.
    """
    handed = evidence.knowledge.handed
    beside = _Beside(evidence)
    best = {name: beside.best_version(own) for name, own in _versions(handed, found.involving).items()}
    only = _only(evidence)

    def rank(name: str) -> tuple[bool, int, int]:
        return name not in certain, found.involving[name][0], -best[name][0]

    made = []
    for place, name in enumerate(sorted(best, key=rank)):
        _, v, columns = best[name]
        smallest, explanations = found.involving[name]
        framed = place < FRAMED or name in certain
        made.append(
            Suspect(
                name,
                name in certain,
                smallest,
                explanations,
                handed.versions[v].place,
                columns,
                only.get(name, ()),
                _rows(evidence, v),
                certain.get(name),
                framed_by(handed, handed.versions[v], imprints.get(v)) if framed else None,
            )
        )
    return tuple(made)


def _versions(handed: Handed, names: Container[str]) -> dict[str, list[int]]:
    """The versions of each of these recipients, in the order of the ledger."""
    found: dict[str, list[int]] = {}
    for v, version in enumerate(handed.versions):
        if version.recipient in names:
            found.setdefault(version.recipient, []).append(v)
    return found


class _Beside:
    """The leak beside versions; those with the same cut of a column are compared once."""

    def __init__(self, evidence: LeakEvidence) -> None:
        self.leak, self.versions = evidence.leak, evidence.knowledge.handed.versions
        kept, leak = evidence.kept, evidence.leak
        self.counts = [
            np.bincount(codes[kept], weights=leak.counts[kept], minlength=len(texts)).astype(np.int64)
            for codes, texts in zip(leak.codes, leak.texts, strict=True)
        ]
        self.known: dict[tuple[str, str, tuple[int, ...]], ColumnMatch] = {}

    def best_version(self, versions: Sequence[int]) -> tuple[int, int, tuple[ColumnMatch, ...]]:
        """The version that shows most cells of the leak as they are, the last one in a tie; and how many."""
        found = []
        for v in versions:
            columns = tuple(self._columns(self.versions[v]))
            found.append((sum(column.as_held for column in columns), v, columns))
        return max(found, key=lambda f: f[:2])

    def _columns(self, version: HeldVersion) -> Iterator[ColumnMatch]:
        for j, name in enumerate(self.leak.names):
            for tree in self.leak.trees[name]:
                cut = version.cut_of(tree)
                if cut is not None:
                    place = (name, tree.digest, cut)
                    if place not in self.known:
                        self.known[place] = self._compared(j, tree, cut)
                    yield self.known[place]

    def _compared(self, j: int, tree: ReadingTree, cut: tuple[int, ...]) -> ColumnMatch:
        nodes, counts = self.leak.nodes(j, tree), self.counts[j]
        here = nodes[(nodes != UNKNOWN) & (counts > 0)]
        finest = int(tree.level[here].min(initial=tree.height))
        return ColumnMatch(
            self.leak.names[j],
            finest if finest >= 0 else None,
            tree.level_of(cut),
            tree.height,
            int(counts[np.isin(nodes, cut)].sum()),
        )


def _only(evidence: LeakEvidence) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Per recipient: the smallest combinations of columns that nobody else could have told together."""
    names, recipients = evidence.leak.names, evidence.knowledge.handed.recipients
    telling = [np.logical_and.reduce(sets, axis=0) for sets in evidence.by_column()]
    found: dict[str, list[tuple[str, ...]]] = {}
    for size in range(1, LARGEST + 1):
        for chosen in combinations(range(len(names)), size):
            told = np.logical_and.reduce([telling[j] for j in chosen])
            if told.sum() == 1:
                mine = found.setdefault(recipients[int(told.argmax())], [])
                if len(mine) < SHOWN and (not mine or len(mine[0]) == size):
                    mine.append(tuple(names[j] for j in chosen))
    return {name: tuple(mine) for name, mine in found.items()}


def _rows(evidence: LeakEvidence, version: int) -> int | None:
    """How many rows of the leak this version alone may be the source of, where its content is known."""
    if version not in evidence.held:
        return None
    told = evidence.held[version] & evidence.kept
    for (which, sets), codes in zip(evidence.knowledge.columns, evidence.leak.codes, strict=True):
        told = told & sets[:, version][which[codes]]
    return evidence.rows(told)


def framed_by(
    handed: Handed, version: HeldVersion, imprint: Imprint | None = None
) -> SmallestCoalition | None:
    """The smallest coalition of other recipients that could build a whole version, all its columns.

    Without an imprint also the nodes of the cut have to be told that no row of the version shows.
    """
    if version.cuts is None:
        return None
    trees: list[ReadingTree] = [
        handed.trees[place] for place in zip(version.columns, version.digests, strict=True)
    ]
    shown = dict(zip(version.columns, map(list, version.cuts), strict=True))
    if imprint is not None:
        shown |= {key.name: np.unique(imprint.nodes[:, j]).tolist() for j, key in enumerate(imprint.keys)}
    marks = [tree.marks[shown[tree.name]] for tree in trees]
    knowledge = RecipientKnowledge(handed, MarkedTexts(version.columns, marks))
    return Coalitions(handed.recipients, knowledge.demands()).smallest(without=version.recipient)
