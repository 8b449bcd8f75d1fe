"""The watch of the promise `continuous`: every step of a search, judged beside all earlier releases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import rows as splits
from sfumato.models.continuous import kernels as parts
from sfumato.models.continuous.chain import (
    ClassTable,
    History,
    NewerRows,
    NodeSplit,
    RefinedBlocks,
    RowLabels,
    by_cut,
    release_under,
)
from sfumato.models.continuous.kernels import NO_OVERLAP
from sfumato.models.continuous.overlap import Overlap, surviving_histograms
from sfumato.models.continuous.worlds import MOST_WORK, Decider, Decision, StepBudget, Worlds, cell_of_rows
from sfumato.models.contract import (
    Answer,
    Cuts,
    IncrementalChecker,
)
from sfumato.system.errors import RefusedByHistory
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Codes, Counts
from sfumato.table.taxonomy import Nodes

Survivors = Callable[[Classes], bool]
"""Whether what survives in every class keeps what is asked of it."""

Caps = NDArray[np.int64]
"""For people of each time, one row: how many rows of each group could be theirs."""

LARGEST = 20_000_000


@dataclass(frozen=True, eq=False)
class Groups:
    """The parts of a step: their rows, and the rows of each value in them, with an example row."""

    branch: Codes
    member: Codes
    start: Counts
    begin: Counts
    value: Codes
    count: Counts
    example: Codes

    @property
    def branch_of_entry(self) -> Codes:
        return np.repeat(self.branch, np.diff(self.begin))


class Continuity(IncrementalChecker):
    """Follows a search; a step is judged on the classes it makes, since every other target keeps its count.

    For people who came with earlier releases, `cells` holds the cells that the releases from then on share,
    with what they allow; people who are new are alone in the release under way. `newer` counts, block by
    block, the rows that earlier releases did not have. Releases with the same cuts are followed together, and
    so are people that the same cuts bind. A target that somebody is behind can only lose candidates
    under further steps: too few of them mean NEVER. A target where nobody is may vanish: too few mean LATER.
    """

    def __init__(
        self, history: History, k: int, survivors: Survivors | None = None, *, proved: bool = False
    ) -> None:
        self.history = history
        self.k = k
        self._survive = survivors
        table = history.table
        self._trees = [c.taxonomy for c in table.keys]
        self._order = [_order(history, c.name, len(c.taxonomy.leaves)) for c in table.keys]
        self._decider = Decider(history, k, proved=proved, budget=StepBudget(MOST_WORK))
        self._targets = self._decider.earlier.kept()
        self._inside = [cell_of_rows(history, cells) for cells in self._targets]
        self._slot = np.empty(max(1, history.values), np.int64)
        self._exactly = False
        self._answers: int | None = None
        self._start_over()

    def _start_over(self) -> None:
        h = self.history
        self._node_of = [np.zeros(len(t.leaves), np.int32) for t in self._trees]
        self._classes = RowLabels(np.zeros(h.table.distinct, np.int32), 1)
        self._cells = [RefinedBlocks(self._trees, cells.table, h.value, h.values) for cells in self._targets]
        self._newer = [NewerRows(h, releases) for releases in by_cut(h.releases)]
        self._pending: NodeSplit | None = None

    @property
    def left_before(self) -> int:
        """The fewest candidates that somebody keeps beside the earlier releases alone."""
        left = [cells.candidates for cells in self._targets]
        return min((int(n[n > 0].min(initial=NO_OVERLAP)) for n in left), default=NO_OVERLAP)

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        if step is None:
            self._replay(cuts)
            groups, below = self._whole(), None
        else:
            self._pending = below = self._below(step)
            groups = self._parts(below)
        return self._answer(groups, below, [cuts[c.name].node_of for c in self.history.table.keys])

    def deliberate(self, most: int | None = None) -> None:
        """Answer exactly from now on, also where there are three releases or more, at most so many times."""
        self._exactly, self._answers = len(self.history.releases) > 1, most
        roots = [np.zeros(len(t.leaves), np.int32) for t in self._trees]
        if self._exactly and (root := self._decided(roots)).holds is not True:
            unsure = "it cannot be decided whether the earlier releases together leave everybody"
            certain = "the earlier releases together leave somebody fewer than"
            raise RefusedByHistory(
                f"{unsure if root.holds is None else certain} {self.k} candidates",
                remedy="Promise a smaller k, or start a new chain with the people who came later.",
            )

    def resolve(self, cuts: Cuts) -> bool:
        """Whether everybody keeps k candidates under these cuts, exactly."""
        node_of = [cuts[c.name].node_of for c in self.history.table.keys]
        return len(self.history.releases) < 2 or self._decided(node_of).holds is True

    def accept(self, cuts: Cuts) -> None:
        if self._pending is not None and self._is_next(cuts):
            self._move(self._pending)
        elif not self._is_here(cuts):
            self._replay(cuts)

    def _decided(self, node_of: Sequence[Nodes]) -> Decision:
        table = self.history.table
        cuts = {c.name: Cut(c.taxonomy, n.copy()) for c, n in zip(table.keys, node_of, strict=True)}
        return self._decider.decide(release_under(self.history, cuts))

    def _answer(
        self, groups: Groups, below: NodeSplit | None, node_of: Sequence[Nodes]
    ) -> tuple[Answer, str]:
        caps = self._caps(groups, below)
        now = len(self.history.releases)
        least, real = self._newcomers(groups, caps[now])
        for i in range(len(self._targets)):
            if real < self.k:
                break
            fewest, fewest_real = self._old_ones(groups, caps, i, below)
            least, real = min(least, fewest), min(real, fewest_real)
        if real < self.k:
            return Answer.NEVER, f"somebody would keep fewer than {self.k} candidates beside earlier releases"
        if self._exactly:
            decided = self._decided(node_of) if self._answers != 0 else Decision(0, 1)
            self._answers = max(0, self._answers - 1) if self._answers is not None else None
            if decided.holds is None:
                return Answer.LATER, f"it cannot be decided whether everybody keeps {self.k} candidates"
            least = min(least, 0) if decided.few else self.k
        if least < self.k:
            return Answer.LATER, f"it would look as if somebody kept fewer than {self.k} candidates"
        if self._survive is not None and not self._survivors_keep(groups, caps, below):
            return Answer.LATER, "the candidates that remain for somebody do not keep the other promises"
        return Answer.YES, ""

    def _newcomers(self, groups: Groups, cap: Counts) -> tuple[int, int]:
        """People who are in no earlier release."""
        left = np.add.reduceat(np.append(cap, 0), groups.begin[:-1]) if len(groups.branch) else cap[:0]
        new = self.history.time[groups.member] == len(self.history.releases)
        news = np.append(new, False).astype(np.int64)
        has_new = np.add.reduceat(news, groups.start[:-1]) > 0 if len(left) else new
        nothing = NO_OVERLAP
        return int(left[left > 0].min(initial=nothing)), int(left[has_new].min(initial=nothing))

    def _old_ones(self, groups: Groups, caps: Caps, i: int, below: NodeSplit | None) -> tuple[int, int]:
        """People who came with earlier releases, those that the same cuts bind."""
        cells = self._cells[i]
        least, real = parts.least_of_parts(
            groups.begin,
            cells.of_row[groups.example],
            caps,
            groups.branch,
            self._held(i, below),
            (groups.member, groups.start, self._inside[i]),
            np.zeros(max(1, len(cells.earlier)), np.int64),
            self.k,
        )
        return int(least), int(real)

    def _held(self, i: int, below: NodeSplit | None) -> tuple[Counts, Codes, Counts, Codes, Codes]:
        cells = self._cells[i]
        branch = np.zeros(0, np.int32) if below is None else cells.branch_of_cells(below)
        return cells.begin, cells.cell, cells.held, branch, self._targets[i].times

    def _caps(self, groups: Groups, below: NodeSplit | None) -> Caps:
        """For people of each time: how many rows of each group could be theirs."""
        caps = np.empty((len(self.history.releases) + 1, len(groups.count)), np.int64)
        caps[0] = groups.count
        for newer in self._newer:
            caps[newer.releases + 1] = newer.of(groups.example, groups.branch_of_entry, below)
        return np.minimum.accumulate(caps, axis=0, out=caps)

    def _survivors_keep(self, groups: Groups, caps: Caps, below: NodeSplit | None) -> bool:
        now = len(self.history.releases)
        owner = np.repeat(np.arange(len(groups.branch)), np.diff(groups.begin))
        remains = caps[now] > 0
        if not self._judge(owner[remains], groups.value[remains], caps[now][remains]):
            return False
        for i, cells in enumerate(self._cells):
            survivors = parts.survivors_of_parts(
                groups.begin,
                groups.value,
                cells.of_row[groups.example],
                caps,
                groups.branch,
                self._held(i, below),
                LARGEST,
            )
            if len(survivors[0]) == LARGEST or not self._judge(*survivors):
                return False
        return True

    def _judge(self, pair: Counts, value: Codes, left: Counts) -> bool:
        """The surviving histograms as classes, judged by what the promise asks of them."""
        if self._survive is None or not len(pair):
            return True
        _, ids = np.unique(pair, return_inverse=True)
        return self._survive(surviving_histograms(self.history, ids, value, left, int(ids.max()) + 1))

    def _parts(self, below: NodeSplit) -> Groups:
        part, parent, branch = self._classes.parts(below)
        member, start = splits.rows_by_part(below.order, int(below.bounds[0]), part, len(parent))
        return self._groups(branch, member, start)

    def _whole(self) -> Groups:
        """The classes as they are now."""
        labels = self._classes.of_row
        member = np.argsort(labels, kind="stable").astype(np.int32)
        start = np.searchsorted(labels[member], np.arange(self._classes.count + 1)).astype(np.int64)
        if not len(member):
            start = np.zeros(1, np.int64)
        return self._groups(np.zeros(len(start) - 1, np.int32), member, start)

    def _groups(self, branch: Codes, member: Codes, start: Counts) -> Groups:
        h = self.history
        values = parts.values_of_parts(member, start, h.value, h.table.counts, self._slot)
        return Groups(branch, member, start, *values)

    def _below(self, step: tuple[str, int]) -> NodeSplit:
        column = [c.name for c in self.history.table.keys].index(step[0])
        tree, (order, start) = self._trees[column], self._order[column]
        children = np.array(tree.children(step[1]), dtype=np.int32)
        bounds = np.append(start[tree.low[children]], start[tree.high[children[-1]]])
        return NodeSplit(column, step[1], children, order, bounds)

    def _move(self, below: NodeSplit) -> None:
        tree = self._trees[below.column]
        for blocks in self._cells:
            blocks.accept(below)
        for newer in self._newer:
            newer.accept(below)
        self._classes.split(below)
        for child in below.children.tolist():
            self._node_of[below.column][tree.low[child] : tree.high[child]] = child
        self._pending = None

    def _replay(self, cuts: Cuts) -> None:
        """Go to these cuts, from the present ones if they lie above, else from the roots."""
        if self._is_here(cuts):
            return
        if not self._is_above(cuts):
            self._start_over()
        for column, here in zip(self.history.table.keys, self._node_of, strict=True):
            tree, cut = column.taxonomy, cuts[column.name]
            inside = np.zeros(len(tree.labels), dtype=bool)
            inside[cut.nodes] = True
            waiting = np.unique(here).tolist()
            while waiting:
                node = waiting.pop()
                if not inside[node]:
                    self._move(self._below((column.name, node)))
                    waiting += tree.children(node)

    def _is_here(self, cuts: Cuts) -> bool:
        keys = self.history.table.keys
        return all(np.array_equal(n, cuts[c.name].node_of) for n, c in zip(self._node_of, keys, strict=True))

    def _is_above(self, cuts: Cuts) -> bool:
        """Whether the present cuts can be specialized to these."""
        for column, here in zip(self.history.table.keys, self._node_of, strict=True):
            depth = column.taxonomy.depth
            if np.any(depth[here] > depth[cuts[column.name].node_of]):
                return False
        return True

    def _is_next(self, cuts: Cuts) -> bool:
        below = self._pending
        if below is None:
            return False
        name = self.history.table.keys[below.column].name
        low = self._trees[below.column].low[below.children]
        return bool(np.array_equal(cuts[name].node_of[low], below.children))


def _order(history: History, name: str, leaves: int) -> tuple[Codes, Counts]:
    """Rows by the code of a column, and where each code starts."""
    codes = history.table.codes(name)
    order = np.argsort(codes, kind="stable").astype(np.int32)
    return order, np.searchsorted(codes[order], np.arange(leaves + 1)).astype(np.int64)


# What survives beside three or more releases, for certain.
#
# The refined bound may leave somebody values that no world has. What is asked of surviving histograms is
# then asked of those of worlds, or not known.

Survive = Callable[[Classes], bool]
"""Whether the candidates that remain keep every promise about them."""


def all_survive(history: History, overlap: Overlap, survive: Survive) -> bool | None:
    """Whether the candidates of every target of a chain keep what is asked of them; `None`: not known."""
    releases: list[ClassTable] | None
    if len(overlap.chain) > 2:
        releases = Worlds(overlap).tables(StepBudget())
    else:
        releases = [cells.table for cells in overlap.kept()]
    if releases is None:
        return None
    for release in releases:
        there, owner = np.unique(release.owner, return_inverse=True)
        if not survive(surviving_histograms(history, owner, release.values, release.counts, len(there))):
            return False
    return True


class SurelySurviving(IncrementalChecker):
    """A watch over three or more releases that asks worlds what survives, where it is to answer exactly."""

    def __init__(self, watch: Continuity, survive: Survive) -> None:
        self._watch = watch
        self._survive = survive
        self._exactly = False

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        answer, why = self._watch.ask(cuts, step)
        if self._exactly and answer is Answer.YES and not self._keeps(cuts):
            return Answer.LATER, "what remains for somebody is not known to keep the other promises"
        return answer, why

    def accept(self, cuts: Cuts) -> None:
        self._watch.accept(cuts)

    def resolve(self, cuts: Cuts) -> bool:
        return self._watch.resolve(cuts) and self._keeps(cuts)

    def deliberate(self, most: int | None = None) -> None:
        self._exactly = True
        self._watch.deliberate(most)

    def _keeps(self, cuts: Cuts) -> bool:
        history = self._watch.history
        overlap = Overlap(history.chain_with(release_under(history, cuts)))
        return all_survive(history, overlap, self._survive) is True
