"""The search of a policy, as adversaries know it who ask what it would have done in another world."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato.attacks.worlds.known_search import KnownSearch
from sfumato.attacks.worlds.published_boxes import PublishedBoxes, Republish
from sfumato.attacks.worlds.table_shape import TableShape
from sfumato.core.errors import BadPolicy, Infeasible, WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import GLOBAL_SEARCHES
from sfumato.policy.searches import BEST, BUILT_IN
from sfumato.protection.plan import aim_of
from sfumato.protection.searches.best import strictest_rungs
from sfumato.protection.searches.registry import find
from sfumato.protection.two_phases import removes_terms

LATTICE = "lattice"
BY_CLASS = ("local", "mondrian")
"""Searches that recode classes one by one."""


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
    ability = BUILT_IN.get(policy.protect.search)
    known = KnownSearch(
        _republish(policy.protect.search, policy, policy.promises),
        {coding.name: coding.build for coding in policy.codings if coding.role.is_key},
        recodes_locally=policy.protect.search not in GLOBAL_SEARCHES,
        by_level=ability is not None and ability.levels,
        classes_silent=_silent(policy),
        steps=steps,
        seed=seed,
        suppress=_suppress(policy),
    )
    if policy.protect.search != BEST:
        return known
    return replace(known, by_shape=lambda boxes: _by_shape(policy, known, boxes))


def _republish(name: str, policy: Policy, promises: Promises) -> Republish:
    """Returns what the search of this name would publish of a table."""
    search, aim = find(name), aim_of(policy)
    narrow = replace(aim, weights={})

    def republish(table: Microdata) -> Recoding | None:
        try:
            return search(table, promises, aim if len(table.keys) > 1 else narrow).recoding
        except (Infeasible, BadPolicy):  # also where a value is named that this world lacks
            return None

    return republish


def _by_shape(policy: Policy, known: KnownSearch, boxes: PublishedBoxes) -> KnownSearch:
    """Returns what a table of `best` tells of single classes: its shape shows which searches it may be of.

    Where values become the same everywhere, a column was kept back by some class that shows it, whichever
    search it was. Otherwise classes were recoded one by one: by Mondrian alone if there are ranges, by it
    or `local` if not. They may have been asked for more than was promised, so the most that the table
    keeps is taken: that leaves more classes whole, and excludes fewer worlds.
    """
    shape = TableShape.of(boxes)
    promises = strictest_rungs(policy.promises, int(boxes.sizes.min()), _least_values(boxes))
    if shape.whole_columns:
        republish = _republish(LATTICE, policy, promises)
        return replace(known, republish=republish, recodes_locally=False, by_level=shape.one_level)
    names = [name for name in BY_CLASS if BUILT_IN[name].can_keep_small(policy.protect.loss)]
    names = [name for name in names if not shape.ranges or BUILT_IN[name].ranges]
    searches = [_republish(name, policy, promises) for name in names]
    first, *others = searches or [_republish(BY_CLASS[-1], policy, promises)]
    return replace(known, republish=first, others=tuple(others))


def _least_values(boxes: PublishedBoxes) -> dict[str, int]:
    """Returns, by sensitive column, the fewest different values that a class has."""
    found = {}
    for column, values in enumerate(boxes.values):
        pairs = np.unique(np.stack([boxes.owner, boxes.held[:, column]], axis=1), axis=0)
        found[values.name] = int(np.bincount(pairs[:, 0]).min())
    return found


def _suppress(policy: Policy) -> Fraction:
    """Returns the share of the rows that may be suppressed, if that is done by whole classes.

    Where suppressed rows have a price, a search that recodes class by class withholds single rows, so that
    people with equal keys need not share their fate; nor is it known of a search of another package.
    """
    ability, price = BUILT_IN.get(policy.protect.search), policy.protect.price
    if ability is None or not ability.suppresses or (price is not None and not ability.whole_columns):
        return Fraction(0)
    return policy.protect.suppress


def _silent(policy: Policy) -> str:
    """Returns why nothing is concluded from worlds of single classes; empty where something is."""
    if policy.promises.of_table or any(promise.relative for promise in policy.promises):
        return "a promise compares classes with the whole table"
    if policy.protect.search not in BUILT_IN:
        return f"of the search {policy.protect.search} nothing is known but what it publishes"
    return ""
