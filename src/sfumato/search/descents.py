"""Descents of a top-down search: those that answer alike go down together, and rows are looked at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from sfumato.models.contract import Answer, IncrementalChecker, Promises
from sfumato.search.contract import Aim, Outcome
from sfumato.search.group_counts import ClassedRows
from sfumato.search.key_groups import Ranking
from sfumato.search.refinement import Refinement, Specialization, Split
from sfumato.search.step_check import StepJudge
from sfumato.search.steps import steps_to_ceilings, steps_to_valid
from sfumato.search.wide_lattice import BranchingNodes
from sfumato.system.errors import Infeasible
from sfumato.system.progress import Progress
from sfumato.table.microdata import Microdata


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
