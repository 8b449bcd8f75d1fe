"""Answers for classes whose columns are judged together, and each of them alone as well.

The search removes terms for what all columns say together. That may leave what one of them says alone, or two
of three, beyond its limit: none of these implies another. Then columns are dealt with one after the other,
and at last every term goes. Who asks checks what comes out.
"""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.joint_columns import tagged, untagged
from sfumato.protection.term_removal.all_classes import solve_classes
from sfumato.protection.term_removal.cost import RemovalCosts
from sfumato.protection.term_removal.one_class import ClassSolution, TermLimit, Terms

ClassRows = Mapping[int, list[Terms]]


def one_by_one(
    classes: ClassRows, limit: TermLimit, costs: RemovalCosts, method: str, seconds: float
) -> dict[int, ClassSolution]:
    """Returns answers that keep what each column says alone, then what is left says together, where found."""
    kept = {c: list(rows) for c, rows in classes.items()}
    for number, column in enumerate(limit.parts):
        own = {c: [tuple(untagged(number, terms)) for terms in rows] for c, rows in kept.items()}
        found = solve_classes(own, limit.alone(column), costs, method=method, seconds=seconds)
        for c, answer in found.items():
            if answer.found:
                kept[c] = [
                    _with_part(terms, number, left) for terms, left in zip(kept[c], answer.kept, strict=True)
                ]
    together = solve_classes(kept, limit, costs, method=method, seconds=seconds)
    return {c: _answer(classes[c], together[c].kept, costs) for c in classes if together[c].found}


def all_removed(
    classes: ClassRows, limit: TermLimit, costs: RemovalCosts, method: str, seconds: float
) -> dict[int, ClassSolution]:
    """Returns the answers that need no search: every term of every column removed."""
    del limit, method, seconds
    return {c: _answer(rows, tuple(() for _ in rows), costs) for c, rows in classes.items()}


def _with_part(terms: Terms, number: int, left: Terms) -> Terms:
    """Returns joint terms with only these of one part left."""
    stays = {*tagged(number, left)}
    own = {*tagged(number, untagged(number, terms))}
    return tuple(term for term in terms if term not in own or term in stays)


def _answer(rows: list[Terms], kept: tuple[Terms, ...], costs: RemovalCosts) -> ClassSolution:
    cost = sum(costs.paid(row, left) for row, left in zip(rows, kept, strict=True))
    return ClassSolution(kept, cost, 0, found=True, proved=False)
