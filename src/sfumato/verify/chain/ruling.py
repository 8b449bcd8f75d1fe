"""A chain of releases, judged from what each of them showed: does everybody keep at least k candidates?

Whoever holds all releases knows somebody's classes and when they came. With matching value s, at most as many
records can be theirs as people of that time, those classes and that value there are in some table of people
that gives all published counts: a *world*. The sum over all values is how many candidates somebody keeps. One
release and two are decided by a formula; for more, somebody hands over worlds and bounds, which are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData
from sfumato.system.memory import Memory
from sfumato.system.verdict import Verdict
from sfumato.verify.chain.releases import (
    MarkedTree,
    Numbers,
    ReleaseTable,
    RememberedRelease,
    child_marks,
    on_newest_trees,
    text_marks,
    tuple_marks,
)
from sfumato.verify.chain.worlds import (
    HandedEvidence,
    TooLarge,
    WorldBounds,
    WorldEquations,
    blocks,
    no_world,
)
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.tables import (
    NO_LIMIT,
    FileForm,
    HandedRows,
    Relation,
    TextTable,
    header,
    strictly,
)
from sfumato.verify.trees import Text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


# One release or two, by formula.
#
# Classes of two releases that can hold the same person form blocks: within one, and for one matching value,
# anybody of the first release may be any record of the second, as far as counts go. So of class q of the
# first and class p of the second at most the smaller of both counts are the same people, and of p at most as
# many are new as there are more people in the block than before; both are reached.

LARGEST = 50_000_000
"""Pairs of entries that are looked at together at most."""


def candidates_of_two(releases: Sequence[ReleaseTable]) -> Numbers:
    """Returns the number of candidates of every target of one release, or of two."""
    if len(releases) == 1:
        return _per_class(releases[0], releases[0].count)
    first, second = releases
    first_block, second_block, count = blocks(first, second)
    before, after = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(before, first_block, first.count)
    np.add.at(after, second_block, second.count)
    if np.any(after < before):
        raise no_world()
    new = _per_class(second, np.minimum(second.count, (after - before)[second_block]))
    return np.concatenate([_of_both(first, second, first_block, second_block, count), new[new > 0]])


def _of_both(
    first: ReleaseTable, second: ReleaseTable, first_block: Numbers, second_block: Numbers, count: int
) -> Numbers:
    """Returns the candidates of people who are in both, pair by pair of classes, a few at a time."""
    order = np.argsort(second_block, kind="stable")
    begin = np.searchsorted(second_block[order], np.arange(count + 1))
    lengths = np.diff(begin)[first_block]
    pieces, start = [], 0
    edges = np.searchsorted(first.owner, np.arange(len(first) + 1))
    reach = np.concatenate(([0], np.cumsum(lengths)))[edges]
    while start < len(first):
        stop = max(start + 1, int(np.searchsorted(reach, reach[start] + LARGEST, side="right")) - 1)
        entries = np.arange(edges[start], edges[stop])
        left = np.repeat(entries, lengths[entries])
        ahead = np.repeat(
            begin[first_block[entries]] - (np.cumsum(lengths[entries]) - lengths[entries]), lengths[entries]
        )
        right = order[ahead + np.arange(len(left))]
        pair = first.owner[left] * max(1, len(second)) + second.owner[right]
        distinct, which = np.unique(pair, return_inverse=True)
        sums = np.zeros(len(distinct), np.int64)
        np.add.at(sums, which.ravel(), np.minimum(first.count[left], second.count[right]))
        pieces.append(sums)
        start = stop
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)


def _per_class(table: ReleaseTable, counts: Numbers) -> Numbers:
    sums = np.zeros(len(table), np.int64)
    np.add.at(sums, table.owner, counts)
    return sums


@dataclass(frozen=True)
class ChainRuling:
    """Whether everybody keeps at least k candidates beside all releases of a chain; `None`: not known.

    `least` is the fewest that anybody keeps, exactly if `certain`, else at most; `None` if nobody is there.
    `few` targets are known to keep fewer than k, of `open` ones it is not known.
    """

    holds: bool | None
    least: int | None
    certain: bool
    few: int
    open: int


class ChainCase:
    """Releases of a chain, oldest first, before the judge; each is given as what is remembered of it.

    `settled` are earlier rulings of this judge: the fewest candidates of anybody beside a release and all
    before it; `None` where that was not known. No release shows anything new of people who are in one that
    shows at least as much: from the last settled one on after which no other shows more, only people who came
    later are looked at.

    `question` is what has to be known of worlds; `None` where a formula decides, or it is too large.
    Raises `BadData` where a document is damaged, or where one release contradicts another.
    """

    def __init__(
        self, documents: Sequence[Mapping[str, Any]], k: int, settled: Sequence[int | None] = ()
    ) -> None:
        tables = on_newest_trees([RememberedRelease.of(document) for document in documents])
        start = _last_closing(tables, settled, k)
        self.k, self._others = k, len(documents) - 1
        self._earlier = None if start is None else settled[start]
        self._tables = tables[start or 0 :]
        self.question: WorldEquations | None = None
        if len(self._tables) > 2:
            with suppress(TooLarge):
                self.question = WorldEquations.of(self._tables)

    def rule(self, evidence: HandedEvidence | None = None) -> ChainRuling:
        """Returns what the releases leave to everybody, as far as the evidence shows.

        Whether the fewest of an earlier ruling was exact, or a bound, is not known any more: the number is
        not `certain` then. Raises `BadData` where no table of people gives the counts of all releases.
        """
        ruling = self._rule(evidence)
        if self._earlier is None or ruling.least is None:
            return ruling
        return replace(ruling, least=min(self._earlier, ruling.least), certain=False)

    def _rule(self, evidence: HandedEvidence | None) -> ChainRuling:
        if len(self._tables) <= 2:
            exact = candidates_of_two(self._tables)
            return _ruled(exact, exact, self.k)
        if self.question is None:
            return ChainRuling(None, None, False, 0, 1)
        bounds = WorldBounds(self.question)
        if evidence is not None:
            bounds.take(evidence)
        return _ruled(*bounds.between(), self.k)

    def verdict(
        self, promise: Mapping[str, object], evidence: HandedEvidence | None = None
    ) -> tuple[Verdict, int]:
        """Returns the verdict on a promise, given as its plain data, and how many targets stay open."""
        judged, ruling = PromiseData(promise), self.rule(evidence)
        bound = "" if ruling.certain else "; a bound, not the exact number"
        reason = f"beside {self._others} other {'release' if self._others == 1 else 'releases'}{bound}"
        verdict = Verdict(
            str(judged), ruling.holds, ruling.least, self.k, evidence=judged.evidence, reason=reason
        )
        return verdict, ruling.open


def _last_closing(tables: Sequence[ReleaseTable], settled: Sequence[int | None], k: int) -> int | None:
    """Returns the last release that was settled with k at least, and shows as much as every later one."""
    keys, is_finer = [table.key for table in tables], {}
    for i in reversed(range(len(settled))):
        fewest = settled[i]
        if fewest is None or fewest < k:
            continue
        for j in range(i + 1, len(tables)):
            pair = keys[i], keys[j]
            if pair not in is_finer:
                is_finer[pair] = tables[i].is_finer(tables[j])
            if not is_finer[pair]:
                break
        else:
            return i
    return None


def doubtful(least: Numbers, most: Numbers, k: int) -> NDArray[np.bool_]:
    """Returns the targets of which it is not known whether they exist with fewer than k candidates."""
    is_doubtful: NDArray[np.bool_] = (least < k) & (most >= k) | (least == 0) & (most > 0)
    return is_doubtful


def _ruled(least: Numbers, most: Numbers, k: int) -> ChainRuling:
    few, open_ones = int(((least > 0) & (most < k)).sum()), int(doubtful(least, most, k).sum())
    there, maybe = least > 0, most > 0
    highest = int(most[there].min()) if there.any() else None
    lowest = int(np.maximum(least, 1)[maybe].min()) if maybe.any() else None
    number = highest if highest is not None or lowest is None else int(most[maybe].min())
    holds = False if few else None if open_ones else True
    return ChainRuling(holds, number, lowest == highest, few, open_ones)


# Does a table show the counts that a release is remembered by? Read again, from its bytes or its rows.

AT_ONCE = 1_000_000
"""So many labels times nodes are looked at together."""


def file_shows(
    path: Path,
    document: Mapping[str, Any],
    *,
    notes: bool = False,
    form: Mapping[str, str] | None = None,
    memory: Memory = NO_LIMIT,
) -> bool:
    """Returns whether a published file shows exactly the classes and counts of a release, by its document.

    `form` tells the encoding and the delimiter of a CSV file, where these are not UTF-8 and commas. Raises
    `BadData` where the file cannot be read, or lacks a column that the release has.
    """
    file_form = FileForm.of(form)
    release, names = RememberedRelease.of(document), header(path, notes=notes, form=file_form)
    wanted = _wanted(release, names)

    def ask(db: duckdb.DuckDBPyConnection) -> TextTable:
        return TextTable.of(db, Relation.of_file(db, path, names, file_form), wanted)

    return _same(strictly(path.name, ask, memory), release)


class ShownRows:
    """Rows of a table in memory, to be compared with releases; open while it is used in a `with`.

    `document` is that of some release with the same columns.
    """

    def __init__(
        self, columns: Sequence[str], document: Mapping[str, Any], *, memory: Memory = NO_LIMIT
    ) -> None:
        self.wanted = _wanted(RememberedRelease.of(document), columns)
        self._rows = HandedRows(self.wanted, memory=memory)

    def __enter__(self) -> Self:
        self._rows.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.__exit__()

    def restart(self) -> None:
        """Forgets all rows that were handed over."""
        self._rows.restart()

    def add(self, batch: pa.RecordBatch, counts: pa.Array | None = None) -> None:
        """Takes a batch of the wanted columns; `counts`: how many rows each row stands for, if not one."""
        self._rows.add(batch, counts)

    def show(self, document: Mapping[str, Any]) -> bool:
        """Returns whether the rows show exactly the classes and counts of a release, by its document."""
        table = self._rows.ask(lambda db, table: TextTable.of(db, table, self.wanted))
        return _same(table, RememberedRelease.of(document))


def _wanted(release: RememberedRelease, columns: Sequence[str]) -> tuple[str, ...]:
    wanted = (*release.names, *sorted(release.unchanged))
    absent = [name for name in wanted if name not in columns]
    if absent:
        raise BadData(f"{len(absent)} columns of the earlier releases are not in this table")
    return wanted


def _same(table: TextTable, release: RememberedRelease) -> bool:
    """Returns whether a table has the groups of a release, and nothing else.

    Nodes with the same leaves below them publish the same, whichever of them is named; but a table that names
    two of them in one column tells rows apart that the release has in one class. The table's key columns come
    first, in whatever order.
    """
    release, ranges = release.in_key_order(table.names[: len(release.trees)]), []
    for tree, texts, code in zip(release.trees, table.texts, table.codes, strict=False):
        node = nodes_of(tree, texts)
        spans = np.unique(np.stack((tree.low[node], tree.high[node])), axis=1)
        if np.any(node < 0) or spans.shape[1] < len(texts):
            return False
        ranges += [tree.low[node[code]], tree.high[node[code]]]
    width = len(release.trees)
    own = [
        text_marks(texts)[code] for texts, code in zip(table.texts[width:], table.codes[width:], strict=True)
    ]
    values = tuple_marks(own, len(table.counts))
    theirs = [
        side[release.nodes[release.owner, j]]
        for j, tree in enumerate(release.trees)
        for side in (tree.low, tree.high)
    ]
    return _listed(ranges, values, table.counts) == _listed(theirs, release.values, release.counts)


def nodes_of(tree: MarkedTree, texts: Sequence[Text]) -> Numbers:
    """Returns the highest node with each label; -1 where there is none, or two mean different things."""
    text, node = _named(tree, texts)
    low, high = tree.low[node], tree.high[node]
    nodes = np.full(len(texts), -1, np.int64)
    there, first = np.unique(text, return_index=True)
    nodes[there] = node[first]
    highest = nodes[text]
    nodes[text[(low != tree.low[highest]) | (high != tree.high[highest])]] = -1
    return nodes


def _named(tree: MarkedTree, texts: Sequence[Text]) -> tuple[Numbers, Numbers]:
    """Returns every pair of a text and a node with that label, sorted by text, then node."""
    order = np.argsort(tree.marks, kind="stable")
    sorted_marks = tree.marks[order]
    roots = np.flatnonzero(text_marks(texts)[:, 0] == tree.marks[0])
    which, nodes = [roots], [np.zeros(len(roots), np.int64)]
    inner = np.unique(tree.parent[1:])
    step = max(1, AT_ONCE // max(1, len(texts)))
    for begin in range(0, len(inner) if len(texts) else 0, step):
        marks = child_marks(tree.marks[inner[begin : begin + step]], texts).ravel()
        place = np.minimum(np.searchsorted(sorted_marks, marks), len(sorted_marks) - 1)
        hit = np.flatnonzero(sorted_marks[place] == marks)
        which.append(hit % len(texts))
        nodes.append(order[place[hit]])
    text, node = np.concatenate(which), np.concatenate(nodes)
    sort = np.lexsort((node, text))
    return text[sort], node[sort]


def _listed(columns: Sequence[Numbers], values: NDArray[np.uint64], counts: Numbers) -> tuple[bytes, bytes]:
    """Returns groups with their sums, in an order that depends on nothing else, as bytes to be compared."""
    whole = np.stack([*(c.astype(np.int64) for c in columns), *values.view(np.int64).T], axis=1)
    distinct, which = np.unique(whole, axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, which.ravel(), counts)
    return distinct.tobytes(), sums.tobytes()
