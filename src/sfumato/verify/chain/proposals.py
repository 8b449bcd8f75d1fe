"""Proposals of a linear solver: numbers that may be a world, and weights that may prove how far one can go.

The solver (HiGHS) calculates in floating point and is believed nothing: `certificates` checks what it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.judge.chain.remembered_release import Numbers

Floats = NDArray[np.float64]

SETTINGS: dict[str, object] = {"output_flag": False, "parallel": "off", "threads": 1, "random_seed": 0}
"""One thread, one seed, and no clock: the same question always gets the same answer."""
NODES = 50
"""So many branches are looked at for whole amounts."""
EXACT, ANY = 1e-4, 10.0
"""So much less than the best may they be worth: hardly anything, or whatever there is."""


@dataclass(frozen=True, eq=False)
class SumSystem:
    """Some unknowns: column u is part of the sums `sums[start[u] : start[u + 1]]`, which come to `total`."""

    start: Numbers
    sums: Numbers
    total: Numbers

    @property
    def columns(self) -> int:
        return len(self.start) - 1

    @property
    def owner(self) -> Numbers:
        """The column of each place in `sums`."""
        return np.repeat(np.arange(self.columns), np.diff(self.start))


@dataclass(frozen=True, eq=False)
class Proposal:
    """What the solver says: `amounts` of the unknowns and `weights` of the sums; either may be missing.

    Without amounts, the weights are meant to prove that there are none. `steps` is how long it took.
    """

    amounts: Floats | None
    weights: Floats | None
    steps: int


class _Solver:
    """A system that is asked about again and again, with other aims."""

    def __init__(self, system: SumSystem, most: Numbers, settings: dict[str, object]) -> None:
        import highspy  # noqa: PLC0415  # heavy, and only chains of three releases and more need it

        self._status, self._integer = highspy.HighsModelStatus, highspy.HighsVarType.kInteger
        self._solver = highspy.Highs()
        for name, value in {**SETTINGS, **settings}.items():
            self._solver.setOptionValue(name, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = system.columns, len(system.total)
        lp.col_cost_ = np.zeros(system.columns)
        lp.col_lower_, lp.col_upper_ = np.zeros(system.columns), most.astype(np.float64)
        lp.row_lower_ = lp.row_upper_ = system.total.astype(np.float64)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = system.start.astype(np.int32)
        lp.a_matrix_.index_ = system.sums.astype(np.int32)
        lp.a_matrix_.value_ = np.ones(len(system.sums))
        lp.sense_ = highspy.ObjSense.kMaximize
        self._finish(lp)
        self._solver.passModel(lp)
        self._cost = np.zeros(system.columns)

    def _finish(self, lp: Any) -> None:  # what the library's model is
        """Says what else the model needs."""

    def _run(self, aim: Numbers, worth: Floats | None) -> tuple[object, int]:
        """Solves for the largest sum over the columns in `aim`, each times its worth; says how that ended."""
        wanted = np.zeros(len(self._cost))
        wanted[aim] = 1.0 if worth is None else worth
        changed = np.flatnonzero(wanted != self._cost).astype(np.int32)
        if len(changed):
            self._solver.changeColsCost(len(changed), changed, wanted[changed])
        self._cost = wanted
        self._solver.run()
        return self._solver.getModelStatus(), max(0, int(self._solver.getInfo().simplex_iteration_count))


class LinearSolver(_Solver):
    """Proposes amounts, perhaps in fractions, and weights that may prove that there are no better ones."""

    def __init__(self, system: SumSystem, most: Numbers) -> None:
        super().__init__(system, most, {"presolve": "off", "solver": "simplex"})

    def propose(self, aim: Numbers, worth: Floats | None = None) -> Proposal:
        """Returns amounts with the largest sum over the columns in `aim`, each times its worth (else 1)."""
        ended, steps = self._run(aim, worth)
        if ended == self._status.kOptimal:
            found = self._solver.getSolution()
            return Proposal(np.array(found.col_value), np.array(found.row_dual), steps)
        if ended == self._status.kInfeasible:
            _, there, ray = self._solver.getDualRay()
            return Proposal(None, np.array(ray) if there else None, steps)
        return Proposal(None, None, steps)

    def bound(self, column: int, least: int, most: int) -> None:
        """Asks for amounts of this column from `least` to `most` from now on."""
        self._solver.changeColBounds(column, float(least), float(most))


class IntegerSolver(_Solver):
    """Proposes whole amounts, good ones, as far as a fixed number of branches shows."""

    def __init__(self, system: SumSystem, most: Numbers) -> None:
        super().__init__(system, most, {"mip_max_nodes": NODES, "mip_heuristic_effort": 0.1})

    def _finish(self, lp: Any) -> None:
        lp.integrality_ = [self._integer] * lp.num_col_

    def propose(self, aim: Numbers, worth: Floats | None = None) -> Proposal:
        """Returns amounts, as above; where columns are of different worth, any will do."""
        self._solver.setOptionValue("mip_rel_gap", EXACT if worth is None else ANY)
        _, steps = self._run(aim, worth)
        found = self._solver.getSolution()
        return Proposal(np.array(found.col_value) if found.value_valid else None, None, steps)
