"""The best of all searches: whatever the policy allows is tried, and the least loss is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import prod
from time import process_time

import numpy as np

from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.policy.searches import BUILT_IN, COMPARED, Ability
from sfumato.protection.boxes import boxes_of
from sfumato.protection.searches import registry
from sfumato.protection.searches.search import Aim, ComparedSearch, Outcome

ORDER = COMPARED
LADDER_OF_PEOPLE = (2, 3, 5, 10, 20, 50, 100)
LADDER_OF_SUPPRESSION = tuple(Fraction(percent, 100) for percent in (0, 1, 2, 5, 10))
MOST_STEPS = 400_000_000
"""Groups that all nodes of a lattice may have together for the lattice to be tried."""
MOST_ROWS_OF_LADDERS = 200_000
"""Distinct rows that the searches of stricter rungs may look at together."""
EXACT = ("lattice", "optimum")
"""Searches whose results cannot get worse when less is asked."""


def best(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the result with the least loss of every search that can keep the promises, and what each gave.

    Which searches are tried, and how far, depends on counts alone, so the same rows give the same result.
    Where the table is small enough, greedy searches are also asked for more than was promised, along the
    ladders of k and of suppression: then a smaller k or more suppression never gives a worse table.
    """
    tried = [name for name in ORDER if aim.compared is None or name in aim.compared]
    names = [name for name in tried if _is_able(BUILT_IN[name], table, promises, aim)]
    compared: list[ComparedSearch] = []
    found: list[tuple[float, int, Outcome]] = []
    refused: Infeasible | None = None
    for name in names:
        begin = process_time()
        progress(f"searching: {name}", 0)
        try:
            outcome = _best_rung(name, table, promises, aim, progress)
        except Infeasible as reason:
            refused = refused or reason
            continue
        found.append((outcome.loss, len(found), replace(outcome, search=name)))
        compared.append(_compared(name, outcome, process_time() - begin))
    if not found:
        raise refused or Infeasible(
            "no search can keep these promises at this size",
            remedy="Name one: top-down, lattice, mondrian, optimum or local.",
        )
    chosen = min(found, key=lambda one: one[:2])[2]
    return replace(chosen, compared=tuple(compared), checked=sum(one[2].checked for one in found))


def _is_able(ability: Ability, table: Microdata, promises: Promises, aim: Aim) -> bool:
    """Whether a search can keep the promises and the loss small, within the budget of steps."""
    if aim.loss not in ability.losses or (aim.relaxed and not ability.relaxes):
        return False
    if promises.of_table and not ability.whole_table:
        return False
    if not ability.any_promise and not all(p.monotone for p in promises.of_class):
        return False
    if table.profiles and not ability.whole_columns:
        return False
    name = next(name for name, built_in in BUILT_IN.items() if built_in is ability)
    if any(p.searches is not None and name not in p.searches for p in promises):
        return False
    nodes = prod(c.taxonomy.height + 1 for c in table.keys)
    return name != "lattice" or nodes * max(1, table.distinct) <= MOST_STEPS


def _best_rung(name: str, table: Microdata, promises: Promises, aim: Aim, progress: Progress) -> Outcome:
    """Returns the best result of one search, asked for what is promised and, if greedy, for more."""
    search = registry.find(name)
    outcome = search(table, promises, aim, progress=progress)
    if name in EXACT:
        return outcome
    for stricter, less in _rungs(name, table, promises, aim):
        try:
            other = search(table, stricter, less, progress=progress)
        except Infeasible:
            continue
        if other.loss < outcome.loss:
            outcome = other
    return outcome


def _rungs(name: str, table: Microdata, promises: Promises, aim: Aim) -> Iterator[tuple[Promises, Aim]]:
    """Yields requests for more people or less suppression, nearest first, within the budget."""
    least = max((p.least_people for p in promises), default=0)
    people = [k for k in LADDER_OF_PEOPLE if k > least and k <= table.rows]
    shares = [aim.suppress]
    if BUILT_IN[name].suppresses:
        shares += [share for share in reversed(LADDER_OF_SUPPRESSION) if share < aim.suppress]
    if not least or len(shares) * (1 + len(people)) * table.distinct > MOST_ROWS_OF_LADDERS:
        return
    for share in shares:
        for k in (0, *people):
            if k or share != aim.suppress:
                asked = promises if not k else _with_people(promises, k)
                yield asked, replace(aim, suppress=share)


def _with_people(promises: Promises, k: int) -> Promises:
    """Returns the promises with a larger k where they have a smaller one."""
    return Promises(tuple(p.with_least_people(k) if p.by_size else p for p in promises))


def _compared(name: str, outcome: Outcome, seconds: float) -> ComparedSearch:
    recoding = outcome.recoding
    lost = sum(_is_lost(recoding, j) for j in range(len(recoding.table.keys)))
    return ComparedSearch(
        name, outcome.loss, recoding.suppressed, len(boxes_of(recoding)[0]), lost, outcome.optimal, seconds
    )


def _is_lost(recoding: Recoding, j: int) -> bool:
    """Whether a key column with several values publishes one group for everybody."""
    column = recoding.table.keys[j]
    published = np.unique(np.stack((recoding.low[:, j], recoding.high[:, j]), axis=1), axis=0)
    return len(published) <= 1 and len(np.unique(recoding.table.codes(column.name))) > 1
