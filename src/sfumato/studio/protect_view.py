"""The work of the page Protect: a lattice that answers any k, and solutions side by side."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, one_step
from sfumato.journey.choices import (
    CountedChoices,
    CountedLattice,
    LatticeMap,
    Solutions,
    counted_choices,
    risk_map,
)
from sfumato.journey.model_scores import ModelScores, model_scores
from sfumato.policy.policy import Policy
from sfumato.studio.question import Question
from sfumato.studio.table_view import ChartView


@dataclass(frozen=True)
class SolutionsView:
    """Solutions, and the picture of what a larger k costs."""

    solutions: Solutions
    chart: ChartView | None


@dataclass(frozen=True)
class LatticeView:
    """A counted lattice, and the map of it where it is small enough to be looked at."""

    counted: CountedLattice
    map: LatticeMap | None


class LastTable:
    """The table that was counted last, kept by the worker: several jobs ask about the same one."""

    def __init__(self) -> None:
        self._question: Question | None = None
        self._choices: CountedChoices | None = None
        self._lattice: CountedLattice | WrongCall | None = None

    def choices(self, question: Question, progress: Progress) -> CountedChoices:
        """Returns the counted table, counted now unless it was counted last."""
        if self._choices is None or self._question != question:
            self._question = self._choices = self._lattice = None
            policy = question.policy()
            against = question.against if policy.promises.looks_back else None
            self._choices = counted_choices(question.data, policy, against=against, progress=progress)
            self._question = question
        return self._choices

    def lattice(self, question: Question, progress: Progress) -> CountedLattice | WrongCall:
        """Returns the counted lattice of the table, or why there is none."""
        choices = self.choices(question, progress)
        if self._lattice is None:
            try:
                self._lattice = choices.lattice(progress=progress)
            except WrongCall as reason:
                self._lattice = reason
        return self._lattice


_last = LastTable()


def count_lattice(question: Question, *, progress: Progress) -> LatticeView:
    """Returns the counted lattice; raises `WrongCall` where there can be none."""
    lattice = _last.lattice(question, progress)
    if isinstance(lattice, WrongCall):
        raise lattice
    return LatticeView(lattice, _last.choices(question, progress).lattice_map(progress=progress))


def train_models(
    question: Question, searches: tuple[str, ...], target: str, *, progress: Progress
) -> ModelScores:
    """Returns how well models tell a column that learnt from each solution."""
    return model_scores(question.data, question.policy(), searches, target, progress=progress)


def find_solutions(question: Question, *, progress: Progress) -> SolutionsView:
    """Returns what the policy's search finds, with the picture."""
    lattice = _last.lattice(question, progress)
    choices = _last.choices(question, progress)
    solutions = choices.solutions(progress=progress)
    with one_step(progress, "drawing"):
        counted = None if isinstance(lattice, WrongCall) else lattice
        return SolutionsView(solutions, _drawn(choices.policy, counted, solutions))


def _drawn(policy: Policy, lattice: CountedLattice | None, solutions: Solutions) -> ChartView | None:
    chart = risk_map(policy, lattice, solutions.compared)
    return None if chart is None else ChartView.of(chart)
