"""Top-down specialization over subtree cuts."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import (
    Answer,
    Conflict,
    Conflicts,
    Cuts,
    IncrementalChecker,
    Promises,
    TablePromise,
    below,
    most_general,
)
from sfumato.policy.searches import Ability
from sfumato.search import contract as refusal
from sfumato.search.contract import TIMES_DIVIDED_AGAIN, Aim, Outcome, Work, built_in_search
from sfumato.search.key_groups import Ranking
from sfumato.search.lattice import lattice
from sfumato.search.loss import find_measure
from sfumato.search.refinement import ClassedRows, Refinement, Specialization, Split
from sfumato.search.step_check import StepJudge
from sfumato.search.suppression import keep
from sfumato.system.errors import Infeasible
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes, histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding, classes_under
from sfumato.table.taxonomy import ROOT, nodes_above_ceiling

# The first steps: to the ceilings, and to a recoding that keeps every promise.

MOST_RECODINGS = 2_000
"""So many recodings are judged."""

MOST_LATTICE_ROWS = 400_000_000
"""Nodes of the lattice times distinct rows, up to which the best full-domain recoding is looked for."""

State = tuple[Cut, ...]


def steps_to_ceilings(table: Microdata) -> list[Specialization]:
    """Returns the steps from the roots to the coarsest cuts that may be published; often there are none."""
    return [
        Specialization(j, node)
        for j, column in enumerate(table.keys)
        for node in nodes_above_ceiling(column.taxonomy).tolist()
    ]


def steps_to_valid(table: Microdata, promises: Promises, aim: Aim, judge: StepJudge) -> list[Specialization]:
    """Returns the steps from the ceilings to a recoding that keeps every promise; none if the ceilings do.

    Where the ceilings break a class promise that suppression may mend, these lead to the best full-domain
    recoding. Where they break a table promise, they are the fewest: breadth first; what lies below a recoding
    that can never be mended is left out. Raises `Infeasible` where there is none, or none near enough, and
    says which.
    """
    if judge.broken_root is not None:
        return _steps_to_levels(table, promises, aim, judge.broken_root)
    if judge.waiting is None:
        return []
    columns = table.keys
    coarsest = tuple(Cut.coarsest(c.taxonomy) for c in columns)
    queued: set[State] = {coarsest}
    waiting: deque[tuple[State, list[Specialization]]] = deque([(coarsest, [])])
    looked, path = 0, None
    while waiting and path is None and looked < MOST_RECODINGS:
        state, steps = waiting.popleft()
        for step in [Specialization(j, int(v)) for j, cut in enumerate(state) for v in cut.specializations]:
            j = step.column
            finer = (*state[:j], state[j].specialize(step.node), *state[j + 1 :])
            if finer in queued:
                continue
            queued.add(finer)
            looked += 1
            answer = _answer(table, promises, judge, finer)
            if answer is Answer.YES:
                path = [*steps, step]
                break
            if answer is Answer.LATER:
                waiting.append((finer, [*steps, step]))
    for watch in judge.watches:
        watch.accept({c.name: cut for c, cut in zip(columns, coarsest, strict=True)})
    if path is None:
        promise, reason = judge.waiting
        raise refusal.no_recoding_found(promise, reason, looked, all_of_them=not waiting)
    return path


def _steps_to_levels(
    table: Microdata, promises: Promises, aim: Aim, refused: Infeasible
) -> list[Specialization]:
    """Returns the steps to the best full-domain recoding; raises what was refused where that is too far."""
    if prod(c.taxonomy.height + 1 for c in table.keys) * max(1, table.distinct) > MOST_LATTICE_ROWS:
        raise refused
    levels = lattice(table, promises, aim).levels or {}
    steps = []
    for j, column in enumerate(table.keys):
        tree, node = column.taxonomy, np.unique(column.taxonomy.levels[levels[column.name]])
        above: list[NDArray[np.int32]] = []
        while len(node := np.unique(tree.parent[node[node != ROOT]])):
            above.append(node)
        opened = np.unique(np.concatenate(above)).tolist() if above else []
        steps += [Specialization(j, int(v)) for v in opened]
    to_ceilings = set(steps_to_ceilings(table))
    return [step for step in steps if step not in to_ceilings]


def _answer(table: Microdata, promises: Promises, judge: StepJudge, state: State) -> Answer:
    cuts = {c.name: cut for c, cut in zip(table.keys, state, strict=True)}
    recoding = Recoding.of_cuts(table, cuts)
    classes = Classes.of(table, recoding.class_of, sensitive=promises.sensitive)
    if not judge.lasting.holds_on(classes).all():
        return Answer.NEVER
    worst = Answer.YES if keep(classes, promises).all() else Answer.LATER
    for watch in judge.watches:
        answer, _ = watch.ask(cuts)
        if answer is Answer.NEVER:
            return answer
        worst = worst if answer is Answer.YES else answer
    return worst


# Branching nodes of the trees that a top-down search goes through: how many of them are settled.


class BranchingNodes:
    """Counts the nodes that have children and rows below them: each is split, or never reached.

    A step that is made settles its node. One that is refused for good settles all below its node as well.
    """

    def __init__(self, classes: Refinement) -> None:
        self._before = []
        for tree, rows in zip(classes.trees, classes.rows_below, strict=True):
            inner = (tree.end > np.arange(len(tree.end)) + 1) & (rows > 0)
            self._before.append(np.concatenate(([0], np.cumsum(inner))))
        self._end = [tree.end for tree in classes.trees]
        self.total = sum(int(before[-1]) for before in self._before)

    def settled_by(self, step: Specialization, answer: Answer) -> int:
        """Returns how many nodes are settled by an answer: none where the step may be tried again."""
        before = self._before[step.column]
        if answer is Answer.LATER:
            return 0
        last = step.node + 1 if answer is Answer.YES else int(self._end[step.column][step.node])
        return int(before[last] - before[step.node])


# Descents: those that answer alike go down together, and rows are looked at once.


class TopDownDescent:
    """One way down from the roots: its classes, its judge, its candidates, and the steps that it made.

    `number` is that of its aim among those that are tried; `settled` counts nodes (`BranchingNodes`).
    """

    def __init__(
        self,
        classed: ClassedRows,
        table: Microdata,
        promises: Promises,
        aim: Aim,
        *,
        number: int = 0,
        watches: Sequence[IncrementalChecker] | None = None,
    ) -> None:
        self.number, self.aim = number, aim
        self.classes = Refinement(table, classed)
        self.judge = StepJudge(self.classes, promises, aim, watches=watches)
        self._ranking = Ranking(self.classes, aim.loss, aim.weights, skip_empty=not self.judge.watches)
        self.path: list[Specialization] = []
        self.settled = 0
        self._checked = 1

    def best(self) -> Specialization | None:
        """Returns the step to try next; `None`: none is left."""
        return self._ranking.best()

    def make(self, split: Split) -> None:
        """Makes a step that leads to where the search starts."""
        self.judge.force(split)
        self._follow(split)

    def apply_answer(self, split: Split, answer: Answer) -> None:
        """Makes the step that was asked about, sets it aside, or drops it for good."""
        if answer is Answer.YES:
            self.judge.accept(split)
            self._follow(split)
        elif answer is Answer.LATER:
            self._ranking.set_aside(split.step)
        else:
            self._ranking.drop(split.step)
        self._checked += 1

    def outcome(self) -> Outcome:
        """Returns the classes as they are."""
        if not self.judge.watches:
            self.classes.open_empty_nodes()
        recoding = self.judge.recoding()
        return Outcome(recoding, self.aim.loss_of(recoding), checked=self._checked)

    def _follow(self, split: Split) -> None:
        self.classes.accept(split)
        self._ranking.follow(split)
        self.path.append(split.step)


Company = list[TopDownDescent]
"""Descents that have made the same steps, and share their rows."""


def begin(
    table: Microdata, promises: Promises, aims: Sequence[Aim]
) -> tuple[list[Company], dict[int, Infeasible]]:
    """Returns descents for some aims, by number, each where its search starts, or why there is no such place.

    Where the first one is refused all are: it is the one that allows most.
    """
    classed, together, refused = ClassedRows.of(table), Company(), dict[int, Infeasible]()
    for number, aim in enumerate(aims):
        try:
            together.append(TopDownDescent(classed, table, promises, aim, number=number))
        except Infeasible as reason:
            refused[number] = reason
            if number == 0:
                return [], dict.fromkeys(range(len(aims)), reason)
    for step in steps_to_ceilings(table):
        make(together, step)
    started = defaultdict[tuple[Specialization, ...], Company](Company)
    for each in together:
        try:
            each.judge.check_start()
            started[tuple(steps_to_valid(table, promises, each.aim, each.judge))].append(each)
        except Infeasible as reason:
            refused[each.number] = reason
            if each.number == 0:
                return [], dict.fromkeys(range(len(aims)), reason)
    companies = _parted(started.values())
    for steps, company in zip(started, companies, strict=True):
        for step in steps:
            make(company, step)
    return companies, refused


def make(together: Company, step: Specialization) -> None:
    """Makes a step that leads to where the search starts."""
    split = together[0].classes.split(step)
    for each in together:
        each.make(split)


def go_down(companies: list[Company], *, progress: Progress) -> Iterator[TopDownDescent]:
    """Goes down as far as the promises hold; yields each descent where it ends. The list is emptied.

    A step is split once and judged for each descent of a company. Where they answer differently they part,
    and those that answered alike go on together.
    """
    if not companies:
        return
    nodes = BranchingNodes(companies[0][0].classes)
    total, settled = nodes.total * sum(len(company) for company in companies), 0
    while companies:
        together = companies.pop()
        while (step := _next_step(together)) is not None:
            split = together[0].classes.split(step)
            answers = defaultdict[Answer, Company](Company)
            for each in together:
                answers[each.judge.ask(split)].append(each)
            together, *others = _parted(answers.values())
            companies += others
            for answer, company in answers.items():
                for each in company:
                    each.apply_answer(split, answer)
                    each.settled += nodes.settled_by(step, answer)
                    settled += nodes.settled_by(step, answer)
            progress("top-down", settled, total)
        for each in together:
            settled += nodes.total - each.settled
            yield each
    progress("top-down", total, total)


def _next_step(together: Company) -> Specialization | None:
    """Returns the best candidate, which is the same for all; each looks for it, as what waits comes again."""
    steps = [each.best() for each in together]
    return steps[0]


def _parted(companies: Iterable[Company]) -> list[Company]:
    """Gives each company but the first rows of its own; until now they shared them."""
    parted = list(companies)
    for others in parted[1:]:
        classed = others[0].classes.classed.copy()
        for each in others:
            each.classes.classed = classed
    return parted


# The search itself: descents with several limits of suppression, and what is certain of them.

MOST_EXACT_ANSWERS = 16
"""A promise is asked so many times for an exact answer, once its bound proved too high."""


SMALLER_LIMITS = tuple(Fraction(thousandth, 1000) for thousandth in (0, 1, 5, 10, 20, 50, 100))
"""Where suppressed rows have a price, smaller limits are tried, too: less may be better than more."""


@built_in_search(
    "top-down",
    "specializes columns step by step from their roots, the step that gains most first",
    place=1,
    compared=5,
    ability=Ability(
        losses=("loss", "discernibility"),
        any_promise=False,
        whole_table=True,
        why_not="top-down ranks single steps, which only loss and discernibility can price",
    ),
    work=Work(
        steps=lambda size: size.rows * size.levels * (TIMES_DIVIDED_AGAIN if size.priced else 1),
        step_time=0.05,
        times_for_values=3,
        row_bytes=lambda keys, _, named: 4 * keys + (95 if named else 80),
        rows_of_rungs=200_000,
        cells_of_rungs=700_000,
        rows_of_offers=300_000,
    ),
)
def top_down(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best of descents (`specialize`) with the aim's limit of suppression and smaller ones.

    Without a price for suppressed rows there is one descent, which suppresses as far as it may.
    """
    least = Fraction(table.dropped, max(1, table.rows + table.dropped))
    limits = {aim.allowed(table): aim.suppress}
    if aim.price is not None and not promises.of_table:
        for limit in (max(limit, least) for limit in SMALLER_LIMITS if max(limit, least) < aim.suppress):
            limits.setdefault(replace(aim, suppress=limit).allowed(table), limit)
    best, refused, checked = None, None, 0
    for number, outcome in specialize_each(table, promises, aim, tuple(limits.values()), progress=progress):
        if isinstance(outcome, Infeasible):
            refused = outcome if number == 0 else refused
            continue
        checked += outcome.checked
        rank = (outcome.loss, outcome.recoding.suppressed, number)
        if best is None or rank < best[0]:
            best = rank, outcome
    if best is None:
        raise refused or Infeasible("nothing is left to publish", remedy="Ask for less.")
    return replace(best[1], checked=checked)


def specialize(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Specializes from every key column at its ceiling, the root as a rule, as long as every promise holds.

    A candidate is a node of a cut that has children. The best-ranked one (`Ranking`) is tried: if every
    promise still holds it is replaced by its children, in all classes; if not, it is dropped for good where
    no later step can help, and otherwise set aside (`StepJudge` says which). What was set aside is tried
    again when every other candidate is used up, as long as a step was accepted since. The result is minimal:
    no single further specialization is valid.

    With suppression a recoding is valid if the classes that `suppression.keep` does not keep hold at most the
    allowed number of rows. For hereditary promises (k-anonymity, distinct l-diversity) these rows only become
    more from step to step, so a dropped candidate stays invalid. For others (entropy and recursive
    l-diversity, t-closeness) a class may break the promise and its parts keep it: such candidates are
    set aside.

    With a price, a step that suppresses rows worth more than what the others gain is set aside. Where the
    ceilings break a promise that is not hereditary and suppression may mend it, the search starts from the
    best full-domain recoding.

    A table promise may break with every column at its ceiling and hold further down; the search then starts
    from the nearest recoding that keeps every promise (`steps_to_valid`).

    A table promise may answer by a bound while the search runs. If what was found turns out not to be
    certain, as many of the steps as are certain (by bisection) are made again, and the search goes on from
    there with exact answers, `MOST_EXACT_ANSWERS` of them. The result is then certain, and minimal only as
    far as these went.

    Source: Fung, Wang and Yu, *Top-down specialization for information and privacy preservation*, 2005.
    """
    ((_, outcome),) = specialize_each(table, promises, aim, (aim.suppress,), progress=progress)
    if isinstance(outcome, Infeasible):
        raise outcome
    return outcome


def specialize_each(
    table: Microdata,
    promises: Promises,
    aim: Aim,
    shares: Sequence[Fraction],
    *,
    progress: Progress = silent,
) -> Iterator[tuple[int, Outcome | Infeasible]]:
    """Yields what `specialize` finds with each of some limits of suppression, or why it finds nothing.

    The largest limit is the first, and where it is refused all are. Each comes with its place among the
    limits, as soon as it is found.
    """
    find_measure(aim.loss)

    def descend(shares: Sequence[Fraction]) -> Iterator[tuple[int, Outcome | Infeasible]]:
        companies, refused = begin(table, promises, [replace(aim, suppress=share) for share in shares])
        yield from refused.items()
        for ended in go_down(companies, progress=progress):
            yield ended.number, _certain(ended, promises, progress)

    if aim.descents is None or aim.descents.table is not table:
        return descend(shares)
    return iter(enumerate(aim.descents.find(promises, shares, descend)))


def _certain(ended: TopDownDescent, promises: Promises, progress: Progress) -> Outcome:
    """Returns what was found, or as many of its steps as are certain, and what exact answers add to them."""
    table, judge = ended.classes.table, ended.judge
    if not judge.watches or judge.certain(_cuts_after(table, ended.path)):
        return ended.outcome()
    few = _certain_steps(table, ended.path, judge, least=len(steps_to_ceilings(table)))
    again = TopDownDescent(ClassedRows.of(table), table, promises, ended.aim, watches=judge.watches)
    for step in ended.path[:few]:
        make([again], step)
    again.judge.deliberate(MOST_EXACT_ANSWERS)
    (again,) = go_down([[again]], progress=progress)
    return again.outcome()


def _cuts_after(table: Microdata, path: list[Specialization]) -> Cuts:
    node_of = [np.zeros(len(c.taxonomy.leaves), np.int32) for c in table.keys]
    for step in path:
        tree = table.keys[step.column].taxonomy
        node_of[step.column][tree.low[step.node] : tree.high[step.node]] = tree.child_above(step.node)
    return {c.name: Cut(c.taxonomy, nodes) for c, nodes in zip(table.keys, node_of, strict=True)}


def _certain_steps(table: Microdata, path: list[Specialization], judge: StepJudge, *, least: int) -> int:
    """Returns how many of the steps, `least` or more, make a result that is certain; all are too many."""
    few, many = least, len(path)
    while many - few > 1:
        middle = (few + many) // 2
        if judge.certain(_cuts_after(table, path[:middle])):
            few = middle
        else:
            many = middle
    return few


# Sources of conflicts for the exact search: what cannot all stay, by every promise (`core.conflicts`).

MOST_AT_ONCE = 8
"""So many broken classes are turned into conflicts at once."""


def conflict_sources(table: Microdata, promises: Promises) -> list[Conflicts]:
    """Returns one source for all class promises, and one for each promise about the table."""
    sources: list[Conflicts] = [p.conflicts(table) or OpaquePromise(table, p) for p in promises.of_table]
    if promises.of_class:
        sources.insert(0, BrokenClasses(table, Promises(promises.of_class)))
    return sources


class _RowsBelow:
    """Judges the rows below one node per key column as one class, once for the same nodes."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        self._sizes = Promises(tuple(promise for promise in promises.of_class if promise.by_size))
        self.trees = [c.taxonomy for c in table.keys]
        self._leaves = [c.taxonomy.leaves[table.codes(c.name)] for c in table.keys]
        self._codes = {name: table.codes(name) for name in promises.sensitive}
        everybody = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=promises.sensitive)
        self._overall = {name: h.overall for name, h in everybody.histograms.items()}
        self._known: dict[bytes, bool] = {}

    def break_it(self, values: Conflict) -> bool:
        """Whether these rows break a promise; no rows break none."""
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = self._judge(values)
        return self._known[key]

    def _judge(self, values: Conflict) -> bool:
        inside = np.ones(self._table.distinct, dtype=bool)
        for tree, leaves, node in zip(self.trees, self._leaves, values.tolist(), strict=True):
            if node != ROOT:
                inside &= below(tree, leaves, node)
        rows = np.flatnonzero(inside)
        if not len(rows):
            return False
        weight, ids = self._table.counts[rows], np.zeros(len(rows), np.int64)
        person = None if self._table.person is None else self._table.person[rows]
        size = weight.sum(keepdims=True)
        people = size if person is None else np.array([len(np.unique(person))], np.int64)
        if not self._sizes.holds_on(Classes(people, size))[0]:
            return True
        histograms = {}
        for name, codes in self._codes.items():
            tree, overall = self._table.column(name).taxonomy, self._overall[name]
            histograms[name] = histogram(tree, ids, codes[rows], weight, 1, person=person, overall=overall)
        return not bool(self._promises.holds_on(Classes(people, size, histograms))[0])


class BrokenClasses:
    """The classes that break a monotone class promise."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        self._rows = _RowsBelow(table, promises)

    def of(self, cuts: Cuts) -> list[Conflict]:
        class_of, nodes = classes_under(self._table, cuts)
        classes = Classes.of(self._table, class_of, sensitive=self._promises.sensitive)
        broken = np.flatnonzero(~self._promises.holds_on(classes))
        conflicts: list[Conflict] = []
        for values in nodes[broken[:MOST_AT_ONCE]].astype(np.int64):
            conflicts += most_general(values, self._rows.trees, self._rows.break_it, turns=2)
        return conflicts


class OpaquePromise:
    """A promise about the table that only says no: nothing is learned from it beyond the cuts at hand."""

    def __init__(self, table: Microdata, promise: TablePromise) -> None:
        self._watch = promise.watch(table)

    def of(self, cuts: Cuts) -> list[Conflict] | None:
        answer, _ = self._watch.ask(cuts)
        return [] if answer is Answer.YES else None
