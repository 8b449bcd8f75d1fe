"""Removal from whole classes: a term that goes from one row of a class goes from all of its rows.

Whoever knows that no more is removed than has to be learns from a row that lacks a term which others of its
class still show. Where the term is gone from all rows, which of them had it is not told.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.protection.term_removal.cost import RemovalCosts
from sfumato.protection.term_removal.one_class import (
    ClassSolution,
    SolverBudget,
    TermLimit,
    Terms,
    solve_class,
)

BUDGET = SolverBudget(nodes=20_000)


def removed_from_all(
    rows: Sequence[Terms], answer: ClassSolution, limit: TermLimit, costs: RemovalCosts
) -> ClassSolution:
    """Returns the answer with its terms removed from every row, and further ones where the class then breaks
    a promise: fewer terms may tell more. It is not claimed to be the cheapest of its kind.

    >>> from fractions import Fraction
    >>> from sfumato.core.knowledge import Knowledge
    >>> from sfumato.promises.quasi_sensitive.definition import QuasiSensitiveDiversity
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> limit = TermLimit.of(QuasiSensitiveDiversity("symptoms", known, l=2, c=Fraction(2)))
    >>> rows, costs = [("cough", "fever"), ("cough", "fever"), ("cough",)], RemovalCosts("inverse", 2)
    >>> one = solve_class(rows, limit, costs, SolverBudget())
    >>> one.kept, removed_from_all(rows, one, limit, costs).kept
    ((('cough',), ('cough', 'fever'), ('cough',)), (('cough',), ('cough',), ('cough',)))
    """
    kept, gone = answer.kept, set[str]()
    start: Sequence[Terms] = rows
    while True:
        gone |= {term for row, left in zip(start, kept, strict=True) for term in row if term not in left}
        start = tuple(tuple(term for term in row if term not in gone) for row in rows)
        cost = sum(costs.paid(row, left) for row, left in zip(rows, start, strict=True))
        found = solve_class(start, limit, costs, BUDGET)
        if not found.found or found.kept == start:
            return ClassSolution(tuple(start), cost, answer.bound, found.found, False)
        kept = found.kept
