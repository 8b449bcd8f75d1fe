"""Choices for a table: solutions side by side, what they change, and a lattice that answers any k at once.

Everything that is returned is plain data without a cell value: it can be shown, and sent between processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.inputs import (
    AnyMemory,
    AnyPolicy,
    bind_earlier,
    count_table,
    load_policy,
    open_original,
    with_name_check,
)
from sfumato.policy.policy import Policy
from sfumato.search.contract import ComparedSearch
from sfumato.search.counted_lattice import (
    CountedLattice,
    LatticeAnswer,
    LatticeMap,
    count_lattice,
    map_lattice,
)
from sfumato.search.plan import OfferedChange, Plan, TableChange, check_need, make_plan
from sfumato.system.presentation.cards import verdict_lines
from sfumato.system.presentation.charts import Lines, Point
from sfumato.system.progress import Progress, one_step, silent
from sfumato.table.microdata import Microdata
from sfumato.table.source import AnyTable
from sfumato.workflows.history import EarlierReleases

if TYPE_CHECKING:
    from sfumato.releases.ledger.ledger import Ledger

__all__ = ["CountedChoices", "CountedLattice", "LatticeAnswer", "LatticeMap", "Solutions", "counted_choices"]


@dataclass(frozen=True)
class Solutions:
    """What each search gave, the chosen one first, and what that one changes.

    `why` says per column why it is not finer; `outlook` what is lost and the cheapest way to get some of it
    back, which is `offer`. `not_tried` says why searches were left out; `optimal` is that of the plan.
    """

    search: str
    compared: tuple[ComparedSearch, ...]
    not_tried: tuple[str, ...]
    verdicts: tuple[tuple[str, ...], ...]
    change: TableChange
    why: dict[str, str]
    outlook: str
    offer: OfferedChange | None
    loss: float
    optimal: bool

    @classmethod
    def of(cls, plan: Plan) -> Solutions:
        levels = None if plan.levels is None else dict(plan.levels)
        change = TableChange.of(plan.recoding, least=least_people(plan.policy), levels=levels)
        shapes = tuple(column.shape for column in change.columns)
        lost = len(plan.outlook.lost)
        alone = ComparedSearch(
            plan.search, plan.loss, plan.suppressed, plan.classes, lost, plan.optimal, 0.0, shapes
        )
        return cls(
            plan.search,
            tuple(sorted(plan.compared, key=lambda solution: solution.search != plan.search)) or (alone,),
            tuple(plan.comparison().notes) if plan.compared else (),
            tuple(verdict_lines(plan.verdicts)),
            change,
            {name: why.sentence for name, why in plan.explain().columns.items()},
            plan.outlook.line,
            plan.outlook.offer,
            plan.loss,
            plan.optimal,
        )


@dataclass(frozen=True, eq=False)
class CountedChoices:
    """A table that was counted under a policy, of which any number of questions may be asked."""

    table: Microdata
    policy: Policy

    def lattice(self, *, progress: Progress = silent) -> CountedLattice:
        """Returns the counted lattice; raises `UsageError` where the policy or the table allows none."""
        return count_lattice(self.table, self.policy, progress=progress)

    def lattice_map(self, *, progress: Progress = silent) -> LatticeMap | None:
        """Returns every combination of levels, to be drawn; `None` where there are too many."""
        return map_lattice(self.table, self.policy, progress=progress)

    def solutions(self, *, progress: Progress = silent) -> Solutions:
        """Returns what the policy's search finds; raises `Infeasible` where nothing keeps the promises."""
        plan = make_plan(self.table, self.policy, progress=progress)
        with one_step(progress, "explaining"):
            return Solutions.of(plan)


def counted_choices(
    data: AnyTable,
    policy: AnyPolicy,
    *,
    against: Ledger | str | None = None,
    chain: str = "main",
    memory: AnyMemory = None,
    progress: Progress | None = None,
) -> CountedChoices:
    """Returns a table counted under a policy, in one pass; beside a chain of releases where one is named."""
    show, rules = progress or silent, load_policy(policy)
    source = with_name_check(open_original(data, memory, rules), rules)
    bound = bind_earlier(rules, EarlierReleases.of((), against, chain).imprints)
    table = count_table(source, bound, progress=show)
    check_need(table, bound, source.memory)
    return CountedChoices(table, bound)


def risk_map(
    policy: Policy, lattice: CountedLattice | None, compared: Sequence[ComparedSearch]
) -> Lines | None:
    """Returns loss by k: full-domain, with no row lost and with as many as the policy allows; each search."""
    series: dict[str, list[Point]] = {}
    if lattice is not None:
        share = min(policy.protect.suppress, lattice.most)
        series["lattice, no row lost"] = _points(lattice, Fraction(0))
        if share:
            series[f"lattice, {float(share):.1%} lost"] = _points(lattice, share)
    k = least_people(policy)
    drawn = [solution for solution in compared if solution.search != "lattice" or lattice is None]
    series |= {solution.search: [(float(k), solution.loss)] for solution in drawn}
    drawn_series = {name: points for name, points in series.items() if points}
    axes = ("k: everybody hides among so many", f"detail lost ({policy.protect.loss})")
    return Lines("risk-and-detail", "What a larger k costs", axes, drawn_series) if drawn_series else None


def least_people(policy: Policy) -> int:
    """Returns how many people every class must have at least, by any promise."""
    return max((promise.least_people for promise in policy.promises), default=1) or 1


def _points(lattice: CountedLattice, share: Fraction) -> list[Point]:
    return [(float(k), loss) for k, loss in lattice.best_losses(share)]
