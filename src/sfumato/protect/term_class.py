"""One class and its term sets: what has to be kept, and the three ways to find out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.declare.knowledge import Knowledge
from sfumato.declare.promises.prior import Prior
from sfumato.declare.promises.quasi_sensitive import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.protect.term_cost import Tariff
from sfumato.terms.errors import WrongCall

Terms = tuple[str, ...]
QuasiSensitive = QuasiSensitiveDiversity | QuasiSensitiveCloseness

METHODS = ("plain", "adaptive", "exact")
"""plain: depth-first over removed cells; adaptive: the same, most promising cells first; exact: branch and
bound over closed term sets."""

ATOMS = 12
"""Terms of a row that are removed one by one; of more, the commonest go together or not at all."""
LARGEST = 1 << 26
"""Rows of a class times rows of the knowledge: beyond this, all terms go."""


@dataclass(frozen=True, eq=False)
class Limit:
    """A promise in the form that the search works with."""

    promise: QuasiSensitive
    knowledge: Knowledge
    ratio: bool
    c: float = 1.0
    l: int = 1  # noqa: E741  # the name in the paper
    target: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    distance: float = 0.0

    @classmethod
    def of(cls, promise: QuasiSensitive) -> Limit:
        """A closeness must know its prior."""
        labels = promise.knowledge.labels
        if isinstance(promise, QuasiSensitiveDiversity):
            few = min(promise.l, len(labels) + 1)
            return cls(promise, promise.knowledge, True, float(promise.c), few, np.zeros(len(labels)))
        if not isinstance(promise.prior, Prior):
            raise WrongCall("the prior is not known yet", remedy="Bind the promise to the original table.")
        target = np.array([float(share) for share in promise.prior.on(labels)])
        return cls(promise, promise.knowledge, False, 1.0, 1, target, float(promise.t * promise.t))

    def compiled(self, *, strict: bool) -> Any:
        """The same as arrays and numbers; `strict` gives ties that rounding may have made no benefit."""
        from sfumato.kernels import term_limits  # noqa: PLC0415  # compiled

        kind = term_limits.RATIO if self.ratio else term_limits.DISTANCE
        slack = -1.0 if strict else 1.0
        return term_limits.Limit(kind, self.c, self.l - 1, self.target, self.distance, slack)


@dataclass(frozen=True)
class Effort:
    """How hard to try: rounds of multipliers, nodes of the tree, and a flag that another thread may raise."""

    method: str = "exact"
    rounds: int = 60
    nodes: int = 1 << 40
    strict: bool = False
    stop: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32), compare=False)


@dataclass(frozen=True)
class Answer:
    """What is kept in every row of a class.

    `cost` and `bound` are whole units of the tariff: no answer costs less than `bound`. `found` says that the
    limit is kept; `proved` that nothing is cheaper or, where nothing was found, that nothing can be.
    """

    kept: tuple[Terms, ...]
    cost: int
    bound: int
    found: bool
    proved: bool


def solve_class(rows: Sequence[Terms], limit: Limit, tariff: Tariff, effort: Effort) -> Answer:
    """What to keep in each row so that the class keeps the limit, as cheaply as the method finds.

    >>> from sfumato.declare.promises.quasi_sensitive import QuasiSensitiveDiversity
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> limit = Limit.of(QuasiSensitiveDiversity("symptoms", known, l=2, c=Fraction(1)))
    >>> solve_class([("fever", "cough")], limit, Tariff("inverse", 2), Effort()).kept
    (('cough',),)
    """
    from sfumato.kernels import term_solving  # noqa: PLC0415  # compiled

    known = limit.knowledge
    if len(rows) * len(known.rows) > LARGEST:
        return _nothing_left(rows, limit, tariff)
    start, term = known.coded(rows)
    atom, coarse = _atoms(start, term, known.holders[0])
    numbers: dict[frozenset[str], int] = {}
    same = np.array([numbers.setdefault(frozenset(row), len(numbers)) for row in rows], np.int32)
    choice, cost, bound, found, proved = term_solving.solve(
        term_solving.Query(start, atom, term, same),
        term_solving.Holders(*known.holders, known.label_of_row),
        tariff.table,
        limit.compiled(strict=effort.strict),
        METHODS.index(effort.method),
        effort.rounds,
        effort.nodes,
        effort.stop,
    )
    kept = []
    for i, row in enumerate(rows):
        bits = atom[start[i] : start[i + 1]].tolist()
        kept.append(tuple(t for t, b in zip(row, bits, strict=True) if int(choice[i]) >> b & 1))
    sure = bool(proved) and tariff.exact and not coarse and not effort.strict
    return Answer(tuple(kept), int(cost), int(bound) if not coarse else 0, bool(found), sure)


def _atoms(
    start: NDArray[np.int64], term: NDArray[np.int32], first: NDArray[np.int64]
) -> tuple[NDArray[np.int32], bool]:
    """The bit of every term; in rows of very many terms the commonest share one."""
    widths = np.diff(start)
    atom = (np.arange(len(term)) - np.repeat(start[:-1], widths)).astype(np.int32)
    wide = np.flatnonzero(widths > ATOMS)
    for i in wide.tolist():
        span = slice(int(start[i]), int(start[i + 1]))
        held = term[span]
        common = np.where(held >= 0, first[held + 1] - first[held], 0)
        order = np.lexsort((held, common))
        place = np.empty(len(held), np.int32)
        place[order] = np.minimum(np.arange(len(held)), ATOMS - 1)
        atom[span] = place
    return atom, bool(len(wide))


def _nothing_left(rows: Sequence[Terms], limit: Limit, tariff: Tariff) -> Answer:
    """The answer that needs no search: every term gone."""
    labels = len(limit.knowledge.labels)
    even = Fraction(1, labels)
    if isinstance(limit.promise, QuasiSensitiveDiversity):
        found = limit.promise.reachable
    else:
        prior = limit.promise.prior
        assert isinstance(prior, Prior)  # noqa: S101  # Limit.of saw to it
        gaps = [share - even for share in prior.on(limit.knowledge.labels)]
        found = sum((gap * gap for gap in gaps), Fraction(0)) <= limit.promise.t**2
    cost = sum(int(tariff.table[len(row), len(row)]) for row in rows)
    return Answer(((),) * len(rows), cost, 0, found, False)
