"""Removing terms from one class: what it has to keep, and the cheapest removal that does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb, lcm
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import ClassPromise, Prior, Promises
from sfumato.models.quasi_sensitive.knowledge import (
    DISTANCES,
    BeliefLimit,
    Knowledge,
    LabelCloseness,
    LabelDiversity,
)
from sfumato.system.errors import UsageError
from sfumato.table.classes import Classes
from sfumato.table.microdata import Counts

if TYPE_CHECKING:
    from sfumato.models.quasi_sensitive.kernels import ConvexLimit, Holders, Query


# A clock for compiled searches: it raises their flags when their time is up.

Flag = NDArray[np.int32]
TICK_SECONDS = 0.002


class Clock:
    """Watches deadlines from a thread of its own while it is open."""

    def __init__(self) -> None:
        self._watched: dict[int, tuple[Callable[[], float], float, Flag]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sfumato-clock", daemon=True)

    def __enter__(self) -> Clock:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def flag(self, *, until: float = float("inf"), work: float | None = None) -> Flag:
        """Returns a flag that goes up at this time (`time.monotonic`), or after so many seconds of work.

        Work is what the calling thread does from now on, whatever else the machine is busy with.
        """
        now: Callable[[], float] = time.monotonic
        if work is not None:
            now = _thread_clock()
            until = now() + work
        flag = np.zeros(1, np.int32)
        self._watched[id(flag)] = (now, until, flag)
        return flag

    def forget(self, flag: Flag) -> None:
        """Stops watching a flag: its search is over."""
        self._watched.pop(id(flag), None)

    def _run(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            for now, until, flag in list(self._watched.values()):
                with suppress(OSError):  # the thread of a forgotten flag may be gone
                    if now() >= until:
                        flag[0] = 1


def _thread_clock() -> Callable[[], float]:
    """Returns a clock of the calling thread's work that other threads can read, else of wall time."""
    # `getattr`: not every system has it.
    ask = getattr(time, "pthread_getcpuclockid", None)
    if ask is None:
        return time.monotonic
    clock = ask(threading.get_ident())
    return lambda: time.clock_gettime(clock)


# Costs of removing terms.

EXACT_WIDTH = 36
"""Up to so many terms per row, harmonic sums are whole multiples of a unit that 64 bits hold."""
FINE_UNIT = 1 << 40


def inverse(width: int, gone: int) -> Fraction:
    """Returns the cost where a removal from a row with w terms costs 1/w: its last terms cost the most.

    >>> inverse(3, 1), inverse(3, 2), inverse(3, 3)
    (Fraction(1, 3), Fraction(5, 6), Fraction(11, 6))
    """
    return sum((Fraction(1, w) for w in range(width, width - gone, -1)), Fraction(0))


def each_term(width: int, gone: int) -> Fraction:
    """Returns the cost where every removal costs 1."""
    del width
    return Fraction(gone)


def pairs(width: int, gone: int) -> Fraction:
    """Returns how many terms and pairs of terms a row no longer shows: the first removals cost the most.

    >>> pairs(3, 1), pairs(3, 2), pairs(3, 3)
    (Fraction(3, 1), Fraction(5, 1), Fraction(6, 1))
    """
    return Fraction(comb(width + 1, 2) - comb(width - gone + 1, 2))


def by_term(width: int, gone: int) -> Fraction:
    """Returns nothing: what a removal costs depends on its term alone."""
    del width, gone
    return Fraction(0)


RARITY = "rarity"
COSTS: Mapping[str, Callable[[int, int], Fraction]] = {
    "inverse": inverse,
    "count": each_term,
    "pairs": pairs,
    RARITY: by_term,
}


@dataclass(frozen=True)
class RemovalCosts:
    """Whole costs for rows of up to `widest` terms, in a unit that makes them exact where there is one.

    `rows_with` says how many rows of the table hold each term, where costs depend on that: removing a term
    from all of them costs 1, however many they are.

    >>> costs = RemovalCosts("inverse", 3)
    >>> costs.share(costs.table[3, 1], [2, 3])
    Fraction(1, 10)
    >>> rare = RemovalCosts("rarity", 2, {"fever": 6, "boils": 2})
    >>> rare.paid(("fever", "boils"), ("boils",)), rare.paid(("fever", "boils"), ("fever",)), rare.unit
    (1, 3, 6)
    """

    cost: str
    widest: int
    rows_with: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cost not in COSTS:
            raise UsageError("there is no cost of this name.", remedy=f"Pick one of {', '.join(COSTS)}.")

    @cached_property
    def _common(self) -> int:
        """The least common multiple of how many rows hold a term."""
        return lcm(1, *set(self.rows_with.values()))

    @property
    def exact(self) -> bool:
        """Whether costs are exact; if not, they are rounded down and nothing is proved by them."""
        if self.cost == RARITY:
            return self._common <= FINE_UNIT
        return self.cost != "inverse" or self.widest <= EXACT_WIDTH

    @cached_property
    def unit(self) -> int:
        """How many whole units make a cost of 1."""
        if self.cost == RARITY:
            return self._common if self.exact else FINE_UNIT
        if self.cost != "inverse":
            return 1
        return lcm(*range(1, self.widest + 1)) if self.exact else FINE_UNIT

    @cached_property
    def table(self) -> Counts:
        """`table[w, v]`: the cost of removing v of w terms, whichever they are."""
        cost = COSTS[self.cost]
        table = np.zeros((self.widest + 1, self.widest + 1), np.int64)
        for width in range(self.widest + 1):
            for gone in range(width + 1):
                table[width, gone] = int(cost(width, gone) * self.unit)
        return table

    def own(self, terms: Iterable[str]) -> list[int]:
        """Returns what the removal of each term costs beside that."""
        if self.cost != RARITY:
            return [0 for _ in terms]
        return [max(1, self.unit // self.rows_with[term]) for term in terms]

    def paid(self, terms: Sequence[str], remaining: Iterable[str]) -> int:
        """Returns what it costs to keep only these terms of a row."""
        stays = set(remaining)
        gone = [term for term in terms if term not in stays]
        return int(self.table[len(terms), len(gone)]) + sum(self.own(gone))

    def whole(self, terms: Sequence[str]) -> int:
        """Returns what it costs to remove every term of a row."""
        return self.paid(terms, ())

    def share(self, spent: int, widths: list[int]) -> Fraction:
        """Returns T where costs depend on numbers alone: what was spent, as a share of the cost of removing
        everything; 0 if that is nothing."""
        whole = sum(int(self.table[width, width]) for width in widths)
        return Fraction(int(spent), whole) if whole else Fraction(0)


# One class and its term sets: what it has to keep, and the cheapest removal of terms that does.

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
        if any(isinstance(limit, LabelCloseness) and not isinstance(limit.prior, Prior) for limit in limits):
            raise UsageError("the prior is not known yet", remedy="Bind the promise to the original table.")
        if len({(limit.column, limit.knowledge.digest) for limit in limits}) != 1:
            raise UsageError("terms are removed for one column and one knowledge at a time")
        return cls(together, limits)

    @classmethod
    def jointly(cls, *promises: ClassPromise) -> TermLimit:
        """Returns what promises say of columns that are judged together, each alone and some of them, too."""
        together = Promises(promises)
        most = max(len(limit.parts) for limit in together.limits.of_kind(BeliefLimit))
        whole = [p for p in promises if any(len(limit.parts) == most for limit in _belief_limits(p))]
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
        return tuple(limit for limit in self.limits if isinstance(limit, LabelDiversity))

    @property
    def distances(self) -> tuple[LabelCloseness, ...]:
        return tuple(limit for limit in self.limits if isinstance(limit, LabelCloseness))

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
        from sfumato.models.quasi_sensitive import kernels as limits  # noqa: PLC0415  # compiled code waits

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
    >>> from sfumato.models.quasi_sensitive.promise import QuasiSensitiveDiversity
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> limit = TermLimit.of(QuasiSensitiveDiversity("symptoms", known, l=2, c=Fraction(1)))
    >>> solve_class([("fever", "cough")], limit, RemovalCosts("inverse", 2), SolverBudget()).kept
    (('cough',),)
    """
    from sfumato.models.quasi_sensitive import kernels as solver  # noqa: PLC0415  # compiled code waits

    knowledge = limit.knowledge
    if len(rows) * len(knowledge.rows) > MOST_ROW_PAIRS:
        return all_terms_removed(rows, limit, costs)
    query, holders, coarse = _compiled(rows, knowledge, costs)
    choice, cost, bound, feasible, proved = solver.solve(
        query,
        holders,
        costs.table,
        limit.compiled(strict=budget.strict),
        METHODS.index(budget.method),
        budget.rounds,
        budget.nodes,
        budget.stop,
    )
    remaining = []
    for i, row in enumerate(rows):
        bits = query.atom[query.start[i] : query.start[i + 1]].tolist()
        remaining.append(tuple(t for t, b in zip(row, bits, strict=True) if int(choice[i]) >> b & 1))
    sure = bool(proved) and costs.exact and not coarse and not budget.strict
    return ClassSolution(tuple(remaining), int(cost), int(bound) if not coarse else 0, bool(feasible), sure)


def out_of_reach(rows: Sequence[Terms], limit: TermLimit, costs: RemovalCosts, budget: SolverBudget) -> bool:
    """Whether no removal keeps the limit, as far as a bound shows before any search.

    Of a diversity the answer is complete where all labels weigh alike: with no term left it holds, or never.
    Of a closeness it is complete for a class of one row; for others the least Euclidean distance of all
    mixtures of removals is a bound, and the other distances have none.

    >>> from fractions import Fraction
    >>> from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> cold = Prior.of({"Cold": Fraction(1)})
    >>> close = QuasiSensitiveCloseness("symptoms", known, t=Fraction(1, 10), prior=cold)
    >>> out_of_reach([("fever", "cough")], TermLimit.of(close), RemovalCosts("inverse", 2), SolverBudget())
    True
    """
    from sfumato.models.quasi_sensitive import kernels as solver  # noqa: PLC0415  # compiled code waits

    knowledge = limit.knowledge
    if limit.surely_unreachable:
        return True
    if limit.kept_without_terms or not limit.distances or len(rows) * len(knowledge.rows) > MOST_ROW_PAIRS:
        return False
    query, holders, coarse = _compiled(rows, knowledge, costs)
    compiled = limit.compiled(strict=False)
    return not coarse and bool(
        solver.unreachable(query, holders, costs.table, compiled, budget.rounds, budget.stop)
    )


def _compiled(
    rows: Sequence[Terms], knowledge: Knowledge, costs: RemovalCosts
) -> tuple[Query, Holders, bool]:
    """Returns rows and knowledge as arrays, and whether terms of a row share a bit."""
    from sfumato.models.quasi_sensitive import kernels as solver  # noqa: PLC0415  # compiled code waits

    start, term = knowledge.coded(rows)
    atom, coarse = _atoms(start, term, knowledge.holders[0])
    numbers: dict[frozenset[str], int] = {}
    group = np.array([numbers.setdefault(frozenset(row), len(numbers)) for row in rows], np.int32)
    own = np.array([cost for row in rows for cost in costs.own(row)], np.int64)
    query = solver.Query(start, atom, term, group, own)
    holders = solver.Holders(*knowledge.holders, knowledge.label_of_row, knowledge.weight_of_label)
    return query, holders, coarse


def _atoms(
    start: NDArray[np.int64], term: NDArray[np.int32], first: NDArray[np.int64]
) -> tuple[NDArray[np.int32], bool]:
    """Returns the bit of every term; in rows of very many terms the commonest share one."""
    widths = np.diff(start)
    few = (a for a in reversed(ATOMS_PER_ROW) if (1 << np.minimum(widths, a)).sum() <= MOST_SUBSETS)
    atoms = next(few, ATOMS_PER_ROW[0])
    atom = (np.arange(len(term)) - np.repeat(start[:-1], widths)).astype(np.int32)
    wide = np.flatnonzero(widths > atoms)
    for i in wide.tolist():
        span = slice(int(start[i]), int(start[i + 1]))
        terms = term[span]
        common = np.where(terms >= 0, first[terms + 1] - first[terms], 0)
        order = np.lexsort((terms, common))
        place = np.empty(len(terms), np.int32)
        place[order] = np.minimum(np.arange(len(terms)), atoms - 1)
        atom[span] = place
    return atom, bool(len(wide))


def all_terms_removed(rows: Sequence[Terms], limit: TermLimit, costs: RemovalCosts) -> ClassSolution:
    """Returns the answer that needs no search: every term removed."""
    cost = sum(costs.whole(row) for row in rows)
    return ClassSolution(((),) * len(rows), cost, 0, limit.kept_without_terms, False)
