"""How a policy removes terms, as adversaries know it who ask what it would have done in another world."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from sfumato.attacks.worlds.term_removal import KnownRemoval, Rows
from sfumato.core.errors import WrongCall
from sfumato.policy.policy import Policy
from sfumato.protection.term_removal.class_scope import removed_from_all
from sfumato.protection.term_removal.cost import RARITY, RemovalCosts
from sfumato.protection.term_removal.margin import MOST_TRIES
from sfumato.protection.term_removal.one_class import SolverBudget, TermLimit, solve_class
from sfumato.protection.two_phases import limits_of, removes_terms

WIDEST = 36
MOST_CELLS = 14
"""With more terms left in a class, what a margin may remove is not listed."""


def known_removal(policy: Policy, *, steps: int) -> KnownRemoval:
    """Returns how the policy removes terms from a class, with the chance of every outcome.

    Raises `WrongCall` where that depends on more than the class.
    """
    if steps < 1:
        raise WrongCall("at least one world is needed", where="steps", remedy="As in `--steps 20000`.")
    limits = limits_of(policy.promises)
    rule = policy.protect.terms
    for holds, what in (
        (not removes_terms(policy), "the policy removes no term"),
        (len(limits) != 1 or bool(limits and limits[0].parts), "terms of several columns are removed"),
        (rule.cost == RARITY, "what a removal costs depends on the whole table"),
    ):
        if holds:
            raise WrongCall(f"worlds cannot be listed: {what}", remedy="Ask for quasi-sensitive instead.")
    (limit,), costs = limits, RemovalCosts(rule.cost, WIDEST)
    budget = SolverBudget(rule.method, nodes=20_000)

    def outcomes(rows: Rows) -> Mapping[Rows, Fraction]:
        answer = solve_class(rows, limit, costs, budget)
        if answer.found and rule.scope == "class" and answer.cost:
            answer = removed_from_all(rows, answer, limit, costs)
        if not answer.found:
            return {}
        return (
            with_margin(answer.kept, limit, costs, rule.margin) if rule.margin else {answer.kept: Fraction(1)}
        )

    return KnownRemoval(outcomes, steps)


def with_margin(
    kept: Rows, limit: TermLimit, costs: RemovalCosts, margin: Fraction
) -> Mapping[Rows, Fraction]:
    """Returns what a margin makes of a class, with the chance of each: terms are drawn a few times, until
    what is left keeps the promise; if it never does, the class stays."""
    cells = [(i, term) for i, terms in enumerate(kept) for term in terms]
    if len(cells) > MOST_CELLS:
        raise WrongCall(
            f"worlds cannot be listed: of {len(cells)} terms that are left in a class any may be removed"
        )
    fine: dict[Rows, Fraction] = {}
    for chosen in product((False, True), repeat=len(cells)):
        gone = {cell for cell, goes in zip(cells, chosen, strict=True) if goes}
        rows = tuple(tuple(t for t in terms if (i, t) not in gone) for i, terms in enumerate(kept))
        answer = solve_class(rows, limit, costs, SolverBudget(rounds=1, nodes=1))
        if answer.found and answer.kept == rows:
            chance = margin ** len(gone) * (1 - margin) ** (len(cells) - len(gone))
            fine[rows] = fine.get(rows, Fraction(0)) + chance
    refused = 1 - sum(fine.values(), Fraction(0))
    tries = sum((refused**i for i in range(MOST_TRIES)), Fraction(0))
    outcomes = {rows: chance * tries for rows, chance in fine.items()}
    outcomes[kept] = outcomes.get(kept, Fraction(0)) + refused**MOST_TRIES
    return outcomes
