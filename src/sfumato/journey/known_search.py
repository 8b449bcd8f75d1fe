"""The search of a policy, as adversaries know it who ask what it would have done in another world."""

from __future__ import annotations

from dataclasses import replace

from sfumato.attacks.worlds.known_search import KnownSearch
from sfumato.core.errors import BadPolicy, Infeasible, WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.recoding import Recoding
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import GLOBAL_SEARCHES
from sfumato.policy.searches import BUILT_IN
from sfumato.protection.plan import aim_of
from sfumato.protection.searches.registry import find
from sfumato.protection.two_phases import removes_terms


def known_search(policy: Policy, *, steps: int, seed: int) -> KnownSearch:
    """Returns the policy's search for adversaries who run it on worlds of their own.

    Raises `WrongCall` where what is published depends on more than the table that a world is. Of a search of
    another package nothing is known but what it publishes, so only whole worlds are asked of it.
    """
    for holds, what in (
        (policy.person is not None, "rows of several per person"),
        (policy.promises.looks_back, "earlier releases"),
        (any(p.needs_original for p in policy.promises), "what is kept of the original table"),
        (removes_terms(policy), "terms that are removed"),
    ):
        if holds:
            raise WrongCall(
                f"worlds cannot be listed: the table depends on {what}",
                remedy="Ask for linkage, homogeneity or another attack on the table itself.",
            )
    if steps < 1:
        raise WrongCall("at least one search is needed", where="steps", remedy="As in `--steps 20000`.")
    search, aim = find(policy.protect.search), aim_of(policy)
    narrow, ability = replace(aim, weights={}), BUILT_IN.get(policy.protect.search)

    def republish(table: Microdata) -> Recoding | None:
        try:
            return search(table, policy.promises, aim if len(table.keys) > 1 else narrow).recoding
        except (Infeasible, BadPolicy):  # also where a value is named that this world lacks
            return None

    return KnownSearch(
        republish,
        {coding.name: coding.build for coding in policy.codings if coding.role.is_key},
        recodes_locally=policy.protect.search not in GLOBAL_SEARCHES,
        by_level=ability is not None and ability.levels,
        classes_silent=_silent(policy),
        steps=steps,
        seed=seed,
    )


def _silent(policy: Policy) -> str:
    """Returns why nothing is concluded from worlds of single classes; empty where something is."""
    if policy.promises.of_table or any(promise.relative for promise in policy.promises):
        return "a promise compares classes with the whole table"
    if policy.protect.search == "best":
        return "the table does not tell which search was the best, and each stops for reasons of its own"
    if policy.protect.search not in BUILT_IN:
        return f"of the search {policy.protect.search} nothing is known but what it publishes"
    return ""
