"""One class and its term sets: what it has to keep, and the cheapest removal of terms that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.beliefs import DISTANCES, BeliefLimit, LabelCloseness, LabelDiversity
from sfumato.core.classes import Classes
from sfumato.core.errors import WrongCall
from sfumato.core.knowledge import Knowledge
from sfumato.core.prior import Prior
from sfumato.core.promise import ClassPromise, Promises
from sfumato.protection.term_removal.cost import RemovalCosts

if TYPE_CHECKING:
    from sfumato.kernels.term_sets.limits import ConvexLimit
    from sfumato.kernels.term_sets.solver import Holders, Query

Terms = tuple[str, ...]

METHODS = ("plain", "adaptive", "exact")
"""plain: depth-first over removed cells; adaptive: the same, most promising cells first; exact: branch and
bound over closed term sets."""

ATOMS_PER_ROW = range(12, 17)
"""So many terms of a row are removed one by one, the more the smaller the class; of further terms, the
commonest go together or not at all."""
MOST_SUBSETS = 1 << 20
"""So many subsets of rows may be enumerated in a class."""
MOST_ROW_PAIRS = 1 << 26
"""With more rows of a class times rows of the knowledge, all terms go."""


@dataclass(frozen=True, eq=False)
class TermLimit:
    """Promises about one column and one knowledge, in the form that the search works with.

    Where several columns are judged together the search works with what all of them say together; `promises`
    are then all that concern any of them, and `parts` names the columns.
    """

    promises: Promises
    limits: tuple[BeliefLimit, ...]

    @classmethod
    def of(cls, *promises: ClassPromise) -> TermLimit:
        """Returns what promises say of beliefs in labels; a closeness must know its prior."""
        together = Promises(promises)
        limits = together.limits.of_kind(BeliefLimit)
        if any(isinstance(one, LabelCloseness) and not isinstance(one.prior, Prior) for one in limits):
            raise WrongCall("the prior is not known yet", remedy="Bind the promise to the original table.")
        if len({(one.column, one.knowledge.digest) for one in limits}) != 1:
            raise WrongCall("terms are removed for one column and one knowledge at a time")
        return cls(together, limits)

    @classmethod
    def jointly(cls, *promises: ClassPromise) -> TermLimit:
        """Returns what promises say of columns that are judged together, each alone and some of them, too."""
        together = Promises(promises)
        most = max(len(one.parts) for one in together.limits.of_kind(BeliefLimit))
        whole = [p for p in promises if any(len(one.parts) == most for one in _belief_limits(p))]
        return cls(together, cls.of(*whole).limits)

    @property
    def parts(self) -> tuple[str, ...]:
        """The columns that are judged together; none where there is one."""
        return self.limits[0].parts

    def alone(self, column: str) -> TermLimit:
        """Returns what is promised of one of the columns by itself."""
        return TermLimit.of(*(p for p in self.promises.of_class if p.sensitive == (column,)))

    @property
    def knowledge(self) -> Knowledge:
        return self.limits[0].knowledge

    @property
    def column(self) -> str:
        return self.limits[0].column

    @property
    def ratios(self) -> tuple[LabelDiversity, ...]:
        return tuple(one for one in self.limits if isinstance(one, LabelDiversity))

    @property
    def distances(self) -> tuple[LabelCloseness, ...]:
        return tuple(one for one in self.limits if isinstance(one, LabelCloseness))

    @cached_property
    def kept_without_terms(self) -> bool:
        """Whether a class keeps every promise when all its terms are gone: labels are as likely as common."""
        near = all(p.kept_without_terms(_prior(p)) for p in self.distances)
        return near and all(p.kept_without_terms for p in self.ratios)

    @property
    def surely_unreachable(self) -> bool:
        """Whether no removal helps any class that breaks a promise, whatever its terms.

        Where all labels weigh alike, nothing mixes them as well as having no term; otherwise a few terms may.
        """
        if not all(p.reachable for p in self.ratios):
            return True
        return not self.knowledge.weights and not all(p.kept_without_terms for p in self.ratios)

    def holds_on(self, classes: Classes) -> NDArray[np.bool_]:
        """Flags the classes that keep every promise, exactly."""
        return self.promises.holds_on(classes)

    def compiled(self, *, strict: bool) -> ConvexLimit:
        """Returns the limit as arrays; `strict` gives ties that rounding may have made no benefit."""
        from sfumato.kernels.term_sets import limits  # noqa: PLC0415  # compiled code waits

        labels = self.knowledge.labels
        targets = [[float(share) for share in _prior(p).on(labels)] for p in self.distances]
        return limits.ConvexLimit(
            np.array([float(p.c) for p in self.ratios], np.float64),
            np.array([min(p.l, len(labels) + 1) - 1 for p in self.ratios], np.int64),
            np.array(targets, np.float64).reshape(len(targets), len(labels)),
            np.array([float(p.most) for p in self.distances], np.float64),
            np.array([DISTANCES.index(p.distance) for p in self.distances], np.int64),
            -1.0 if strict else 1.0,
        )

    def __str__(self) -> str:
        return " and ".join(str(p) for p in self.promises)


def _belief_limits(promise: ClassPromise) -> tuple[BeliefLimit, ...]:
    return Promises((promise,)).limits.of_kind(BeliefLimit)


def _prior(limit: LabelCloseness) -> Prior:
    assert isinstance(limit.prior, Prior)  # noqa: S101  # TermLimit.of saw to it
    return limit.prior


@dataclass(frozen=True)
class SolverBudget:
    """What a search may spend: rounds of multipliers, nodes of the tree; another thread may raise `stop`."""

    method: str = "exact"
    rounds: int = 60
    nodes: int = 1 << 40
    strict: bool = False
    stop: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32), compare=False)


@dataclass(frozen=True)
class ClassSolution:
    """The terms that are kept in every row of a class.

    `cost` and `bound` are whole units of the costs: no answer costs less than `bound`. `found` says that the
    limit is kept; `proved` that nothing is cheaper or, where nothing was found, that nothing can be.
    """

    kept: tuple[Terms, ...]
    cost: int
    bound: int
    found: bool
    proved: bool


def solve_class(
    rows: Sequence[Terms], limit: TermLimit, costs: RemovalCosts, budget: SolverBudget
) -> ClassSolution:
    """Returns what to keep in each row so that the class keeps the limit, as cheaply as the method finds.

    >>> from fractions import Fraction
    >>> from sfumato.promises.quasi_sensitive.definition import QuasiSensitiveDiversity
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> limit = TermLimit.of(QuasiSensitiveDiversity("symptoms", known, l=2, c=Fraction(1)))
    >>> solve_class([("fever", "cough")], limit, RemovalCosts("inverse", 2), SolverBudget()).kept
    (('cough',),)
    """
    from sfumato.kernels.term_sets import solver  # noqa: PLC0415  # compiled code waits

    known = limit.knowledge
    if len(rows) * len(known.rows) > MOST_ROW_PAIRS:
        return _all_terms_removed(rows, limit, costs)
    query, holders, coarse = _compiled(rows, known, costs)
    choice, cost, bound, found, proved = solver.solve(
        query,
        holders,
        costs.table,
        limit.compiled(strict=budget.strict),
        METHODS.index(budget.method),
        budget.rounds,
        budget.nodes,
        budget.stop,
    )
    kept = []
    for i, row in enumerate(rows):
        bits = query.atom[query.start[i] : query.start[i + 1]].tolist()
        kept.append(tuple(t for t, b in zip(row, bits, strict=True) if int(choice[i]) >> b & 1))
    sure = bool(proved) and costs.exact and not coarse and not budget.strict
    return ClassSolution(tuple(kept), int(cost), int(bound) if not coarse else 0, bool(found), sure)


def out_of_reach(rows: Sequence[Terms], limit: TermLimit, costs: RemovalCosts, budget: SolverBudget) -> bool:
    """Whether no removal keeps the limit, as far as a bound shows before any search.

    Of a diversity the answer is complete where all labels weigh alike: with no term left it holds, or never.
    Of a closeness it is complete for a class of one row; for others the least Euclidean distance of all
    mixtures of removals is a bound, and the other distances have none.

    >>> from fractions import Fraction
    >>> from sfumato.promises.quasi_sensitive.definition import QuasiSensitiveCloseness
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> cold = Prior.of({"Cold": Fraction(1)})
    >>> close = QuasiSensitiveCloseness("symptoms", known, t=Fraction(1, 10), prior=cold)
    >>> out_of_reach([("fever", "cough")], TermLimit.of(close), RemovalCosts("inverse", 2), SolverBudget())
    True
    """
    from sfumato.kernels.term_sets import solver  # noqa: PLC0415  # compiled code waits

    known = limit.knowledge
    if limit.surely_unreachable:
        return True
    if limit.kept_without_terms or not limit.distances or len(rows) * len(known.rows) > MOST_ROW_PAIRS:
        return False
    query, holders, coarse = _compiled(rows, known, costs)
    compiled = limit.compiled(strict=False)
    return not coarse and bool(
        solver.unreachable(query, holders, costs.table, compiled, budget.rounds, budget.stop)
    )


def _compiled(rows: Sequence[Terms], known: Knowledge, costs: RemovalCosts) -> tuple[Query, Holders, bool]:
    """Returns rows and knowledge as arrays, and whether terms of a row share a bit."""
    from sfumato.kernels.term_sets import solver  # noqa: PLC0415  # compiled code waits

    start, term = known.coded(rows)
    atom, coarse = _atoms(start, term, known.holders[0])
    numbers: dict[frozenset[str], int] = {}
    same = np.array([numbers.setdefault(frozenset(row), len(numbers)) for row in rows], np.int32)
    own = np.array([cost for row in rows for cost in costs.own(row)], np.int64)
    query = solver.Query(start, atom, term, same, own)
    return query, solver.Holders(*known.holders, known.label_of_row, known.weight_of_label), coarse


def _atoms(
    start: NDArray[np.int64], term: NDArray[np.int32], first: NDArray[np.int64]
) -> tuple[NDArray[np.int32], bool]:
    """Returns the bit of every term; in rows of very many terms the commonest share one."""
    widths = np.diff(start)
    atoms = next(
        (a for a in reversed(ATOMS_PER_ROW) if (1 << np.minimum(widths, a)).sum() <= MOST_SUBSETS),
        ATOMS_PER_ROW[0],
    )
    atom = (np.arange(len(term)) - np.repeat(start[:-1], widths)).astype(np.int32)
    wide = np.flatnonzero(widths > atoms)
    for i in wide.tolist():
        span = slice(int(start[i]), int(start[i + 1]))
        held = term[span]
        common = np.where(held >= 0, first[held + 1] - first[held], 0)
        order = np.lexsort((held, common))
        place = np.empty(len(held), np.int32)
        place[order] = np.minimum(np.arange(len(held)), atoms - 1)
        atom[span] = place
    return atom, bool(len(wide))


def _all_terms_removed(rows: Sequence[Terms], limit: TermLimit, costs: RemovalCosts) -> ClassSolution:
    """Returns the answer that needs no search: every term removed."""
    cost = sum(costs.whole(row) for row in rows)
    return ClassSolution(((),) * len(rows), cost, 0, limit.kept_without_terms, False)
