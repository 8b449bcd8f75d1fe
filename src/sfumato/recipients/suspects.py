"""Suspects: what incriminates each recipient, column by column and row by row."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.recipients.collusion import Coalitions, Explanations, SmallestCoalition
from sfumato.recipients.evidence import LeakEvidence, MarkedTexts, RecipientKnowledge
from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.system.json_object import JsonObject
from sfumato.table.release_summary import UNKNOWN, Imprint, ReadingTree

MOST_COLUMNS = 3
"""Combinations of more columns are not looked through."""
MOST_COMBINATIONS = 5
"""So many combinations of columns are named per suspect."""
MOST_FRAMING_CHECKS = 3
"""Who could frame a suspect is worked out for so many of them, and for those who are certain."""


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

    @property
    def leaked_level(self) -> str:
        """The level of the leak in words."""
        return _level_words(self.leaked, self.of)

    @property
    def held_level(self) -> str:
        """The level of the version in words."""
        return _level_words(self.held, self.of)

    @property
    def covers_leak(self) -> bool:
        """Whether the version is at least as fine as the leak; where levels do not say so, by its cells."""
        if self.held is None or self.leaked is None:
            return self.as_held > 0
        return self.held <= self.leaked


def _level_words(level: int | None, of: int) -> str:
    return "no one level" if level is None else f"level {level} of {of}"


@dataclass(frozen=True)
class Suspect:
    """A recipient who is in some explanation, and what incriminates them.

    `smallest` is the size of the smallest explanation they are in, `explanations` the number of all of them.
    `release` names the release whose version fits best. `only` are the smallest combinations of columns that
    nobody else could have known together. `rows` of the leak can stem from that version alone (`None` where
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

    def as_dict(self) -> JsonObject:
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
    explanations_found: Explanations,
    certain: Mapping[str, SmallestCoalition],
    *,
    imprints: Mapping[int, Imprint | None],
) -> tuple[Suspect, ...]:
    """Returns everybody in some explanation, the most suspicious first.

    That is: whoever is certain, then by the size of the smallest explanation, then by how many cells are
    exactly those of the version, then in the order of the ledger. Who could frame them is worked out for the
    certain and for the first few.
    """
    best: dict[str, tuple[LeakEvidence, tuple[int, int, tuple[ColumnMatch, ...]]]] = {}
    for read in (evidence, *evidence.readings):
        comparison, own = _Comparison(read), _versions(read.knowledge.issued, explanations_found.involving)
        best |= {name: (read, comparison.best_version(own[name])) for name in own if name not in best}
    only = _exclusive_columns(evidence)

    def rank(name: str) -> tuple[bool, int, int]:
        return name not in certain, explanations_found.involving[name][0], -best[name][1][0]

    ranked = []
    for position, name in enumerate(sorted(best, key=rank)):
        read, (_, v, columns) = best[name]
        issued = read.knowledge.issued
        smallest, explanations = explanations_found.involving[name]
        framed = position < MOST_FRAMING_CHECKS or name in certain
        ranked.append(
            Suspect(
                name,
                name in certain,
                smallest,
                explanations,
                issued.versions[v].title,
                columns,
                only.get(name, ()),
                _rows_from(read, v),
                certain.get(name),
                framed_by(issued, issued.versions[v], imprints.get(v) if read is evidence else None)
                if framed
                else None,
            )
        )
    return tuple(ranked)


def _versions(issued: IssuedVersions, names: Container[str]) -> dict[str, list[int]]:
    """Returns the versions of each of these recipients, in the order of the ledger."""
    by_recipient: dict[str, list[int]] = {}
    for v, version in enumerate(issued.versions):
        if version.recipient in names:
            by_recipient.setdefault(version.recipient, []).append(v)
    return by_recipient


class _Comparison:
    """Compares the leak with versions; those with the same cut of a column are compared once."""

    def __init__(self, evidence: LeakEvidence) -> None:
        self.leak, self.versions = evidence.leak, evidence.knowledge.issued.versions
        ours, leak = evidence.ours, evidence.leak
        self.counts = [
            np.bincount(codes[ours], weights=leak.counts[ours], minlength=len(texts)).astype(np.int64)
            for codes, texts in zip(leak.codes, leak.texts, strict=True)
        ]
        self.matches: dict[tuple[str, str, tuple[int, ...]], ColumnMatch] = {}

    def best_version(self, versions: Sequence[int]) -> tuple[int, int, tuple[ColumnMatch, ...]]:
        """Returns the number of cells that the best version shows as leaked, the version, and its columns.

        The best is the one that shows most cells so; of several the last.
        """
        scored = []
        for v in versions:
            columns = tuple(self._columns(self.versions[v]))
            scored.append((sum(column.as_held for column in columns), v, columns))
        return max(scored, key=lambda score: score[:2])

    def _columns(self, version: HeldVersion) -> Iterator[ColumnMatch]:
        for j, name in enumerate(self.leak.names):
            for tree in self.leak.trees[name]:
                cut = version.cut_of(tree)
                if cut is not None:
                    key = (name, tree.digest, cut)
                    if key not in self.matches:
                        self.matches[key] = self._match(j, tree, cut)
                    yield self.matches[key]

    def _match(self, j: int, tree: ReadingTree, cut: tuple[int, ...]) -> ColumnMatch:
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


def _exclusive_columns(evidence: LeakEvidence) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Returns, per recipient, the smallest combinations of columns that nobody else could have known."""
    names, recipients = evidence.leak.names, evidence.recipients
    sources = [np.logical_and.reduce(sets, axis=0) for sets in evidence.by_column()]
    exclusive: dict[str, list[tuple[str, ...]]] = {}
    for size in range(1, MOST_COLUMNS + 1):
        for chosen in combinations(range(len(names)), size):
            knew = np.logical_and.reduce([sources[j] for j in chosen])
            if knew.sum() == 1:
                mine = exclusive.setdefault(recipients[int(knew.argmax())], [])
                if len(mine) < MOST_COMBINATIONS and (not mine or len(mine[0]) == size):
                    mine.append(tuple(names[j] for j in chosen))
    return {name: tuple(mine) for name, mine in exclusive.items()}


def _rows_from(evidence: LeakEvidence, version: int) -> int | None:
    """Counts the rows of the leak that this version alone may be the source of; `None` if that is unknown."""
    if version not in evidence.held:
        return None
    rows = evidence.held[version] & evidence.ours
    for (which, sets), codes in zip(evidence.knowledge.columns, evidence.leak.codes, strict=True):
        rows = rows & sets[:, version][which[codes]]
    return evidence.rows(rows)


def framed_by(
    issued: IssuedVersions, version: HeldVersion, imprint: Imprint | None = None
) -> SmallestCoalition | None:
    """Returns the smallest coalition of other recipients that could build a whole version, all its columns.

    Without an imprint the coalition must also know the nodes of the cut that no row of the version shows.
    """
    if version.cuts is None:
        return None
    trees: list[ReadingTree] = [
        issued.trees[pair] for pair in zip(version.columns, version.digests, strict=True)
    ]
    cuts = dict(zip(version.columns, map(list, version.cuts), strict=True))
    if imprint is not None:
        cuts |= {key.name: np.unique(imprint.nodes[:, j]).tolist() for j, key in enumerate(imprint.keys)}
    marks = [tree.marks[cuts[tree.name]] for tree in trees]
    knowledge = RecipientKnowledge(issued, MarkedTexts(version.columns, marks))
    return Coalitions(issued.recipients, knowledge.demands()).smallest(without=version.recipient)
