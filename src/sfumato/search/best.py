"""The best of all searches: whatever the policy allows is tried, and the least loss is taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice
from math import prod
from time import process_time

from sfumato.core.errors import Infeasible, WrongCall
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promise, Promises, TablePromise
from sfumato.policy.searches import BUILT_IN, COMPARED
from sfumato.protection.boxes import boxes_of
from sfumato.protection.column_shape import lost_columns, shape_of
from sfumato.protection.searches import registry
from sfumato.protection.searches.search import (
    MOST_LEVEL_VECTORS,
    Aim,
    ComparedSearch,
    Descents,
    Outcome,
    Preparations,
    Steps,
)

ORDER = COMPARED
LADDER_OF_PEOPLE = (2, 3, 5, 10, 20, 50, 100)
LADDER_OF_VALUES = (2, 3, 4, 5, 8)
LADDER_OF_SUPPRESSION = tuple(Fraction(percent, 100) for percent in (0, 1, 2, 5, 10))
MOST_STEPS = 400_000_000
"""Groups that all nodes of a lattice may have together for the lattice to be tried."""
MOST_ROWS_OF_OPTIMUM = 30_000
"""Distinct rows up to which the exact search for cuts is tried: it looks at all of them again and again."""
MOST_ROWS_OF_RUNGS = {
    "local": 30_000,
    "optimum": 6_000,
    "lattice": 300_000,
    "mondrian": 200_000,
    "top-down": 200_000,
}
"""Distinct rows that a search may look at again, all rungs of the ladders together."""
MOST_CELLS_OF_RUNGS = {"local": 400_000, "mondrian": 700_000, "optimum": 100_000, "top-down": 700_000}
"""The same in cells: distinct rows times key columns times promises about values, at least one."""
MOST_BOXES_OF_RUNGS = 60_000_000
"""The same for the boxes that local recoding walks through: distinct rows times combinations of levels."""
MOST_STEPS_OF_OPTIMUM = 30_000
"""Steps of the exact search for cuts for what was asked, and as many for all requests for more together."""
MOST_RUNGS = 200
"""Requests for more that a search is asked for: all of k, of one promise of values and of suppression."""
MOST_ROWS_KEPT = 30_000
"""Distinct rows up to which what one search made or found is kept for other searches and rungs."""


def best(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the result with the least loss of every search that can keep the promises, and what each gave.

    Which searches are tried, and how far, depends on counts alone, so the same rows give the same result.
    Searches that are not exact are also asked for more than was promised, rung by rung along the ladders of
    k, l, threats and suppression, the nearest first, as far as the budget goes: what keeps more keeps this,
    so a smaller k or l, a larger threat, or more suppression does not give a worse table. Of equal losses the
    one with fewer rows suppressed is taken, then that of the first search.
    """
    names = [name for name in ORDER if aim.compared is None or name in aim.compared]
    left_out = {name: reason for name in names if (reason := too_much(name, table, promises, aim))}
    compared: list[ComparedSearch] = []
    found: list[tuple[float, int, int, Outcome]] = []
    refused: dict[str, Infeasible] = {}
    few = table.distinct <= MOST_ROWS_KEPT
    aim = replace(
        aim, descents=Descents(table) if few else None, prepared=Preparations(table) if few else None
    )
    for number, name in enumerate(names):
        if name in left_out:
            continue
        begin = process_time()
        progress("searches", number, len(names))
        try:
            least = min((loss for loss, *_ in found), default=None)
            outcome = _best_rung(name, table, promises, replace(aim, beat=least), progress)
        except Infeasible as reason:
            refused[name] = reason
            continue
        except WrongCall as reason:  # such as weights that are too fine for whole numbers
            left_out[name] = reason.message
            continue
        found.append((outcome.loss, outcome.recoding.suppressed, len(found), replace(outcome, search=name)))
        compared.append(_compared(name, outcome, process_time() - begin))
    progress("searches", len(names), len(names))
    if not found:
        raise _nearest_refusal(refused)
    chosen = min(found, key=lambda one: one[:3])[3]
    checked = sum(one[3].checked for one in found)
    return replace(chosen, compared=tuple(compared), checked=checked, left_out=left_out)


def _nearest_refusal(refused: Mapping[str, Infeasible]) -> Infeasible:
    """Returns the refusal that helps most: how many rows would have to be suppressed, else the first."""
    for refusal in refused.values():
        if "suppressed rows" in (refusal.remedy or ""):
            return refusal
    return next(iter(refused.values()), None) or Infeasible(
        "no search can keep these promises at this size",
        remedy="Name one: top-down, lattice, mondrian, optimum or local.",
    )


def too_much(name: str, table: Microdata, promises: Promises, aim: Aim) -> str:
    """Returns why a search cannot do this, or not within the budget; nothing if it can."""
    ability, nodes = BUILT_IN[name], prod(c.taxonomy.height + 1 for c in table.keys)
    of_class, rows = promises.of_class, max(1, table.distinct)
    reasons = (
        (not ability.can_keep_small(aim.loss), f"it does not keep {aim.loss} small"),
        (promises.of_table and not ability.whole_table, "a promise is about the table as a whole"),
        (not ability.any_promise and not all(p.monotone for p in of_class), "a promise is not monotone"),
        (
            table.profiles and not ability.whole_columns,
            "what all rows of a person show is judged only where whole columns are recoded",
        ),
        (aim.together and not ability.levels, "it does not publish columns at levels, which move together"),
        (
            any(p.searches is not None and name not in p.searches for p in promises),
            "a promise asks for another search",
        ),
        (
            name == "lattice" and nodes * rows > MOST_STEPS,
            f"{nodes:,} combinations of levels times {rows:,} different rows are too many",
        ),
        (
            name == "optimum" and rows > MOST_ROWS_OF_OPTIMUM,
            f"{rows:,} different rows are too many",
        ),
        (
            name == "optimum" and _teaches_nothing(table, promises),
            "a recoding that fails would not tell it which others do",
        ),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _teaches_nothing(table: Microdata, promises: Promises) -> bool:
    """Whether the exact search would go through recodings one by one, for want of conflicts to learn."""
    return table.profiles or any(promise.conflicts(table) is None for promise in promises.of_table)


def _best_rung(name: str, table: Microdata, promises: Promises, aim: Aim, progress: Progress) -> Outcome:
    """Returns the best result of one search, asked for what is promised and, unless exact, for more.

    The bound is that of what is promised: requests for more rule out what this allows.
    """
    search = registry.find(name)
    outcome, refused, bound = None, None, None
    asked, more = Steps(MOST_STEPS_OF_OPTIMUM), Steps(MOST_STEPS_OF_OPTIMUM)
    for stricter, less in _rungs(name, table, promises, aim):
        as_asked = stricter is promises and less is aim
        steps = asked if as_asked else more
        try:
            other = search(table, stricter, replace(less, steps=steps), progress=progress)
        except Infeasible as reason:
            if less is aim and aim.allowed(table) <= table.dropped:
                raise  # more cannot be kept either
            refused = refused or reason
            continue
        better = outcome is None or (other.loss, other.recoding.suppressed) < (
            outcome.loss,
            outcome.recoding.suppressed,
        )
        bound = other.bound if as_asked else bound
        if better:
            outcome = replace(other, optimal=other.optimal and as_asked)
        if other.optimal and stricter is promises and not _depends_on_rest(promises, aim):
            break
    if outcome is None:
        raise refused or Infeasible("nothing is left to publish", remedy="Ask for less.")
    return replace(outcome, bound=bound)


def _depends_on_rest(promises: Promises, aim: Aim) -> bool:
    """Whether what else is suppressed decides if a class may stay, so that asking less may suppress more."""
    return aim.suppress > 0 and any(promise.relative for promise in promises)


def _rungs(name: str, table: Microdata, promises: Promises, aim: Aim) -> Iterator[tuple[Promises, Aim]]:
    """Yields the request itself, then those for more people or values or less suppression, nearest first."""
    yield promises, aim
    shares = [aim.suppress]
    if BUILT_IN[name].suppresses and aim.price is None:
        # With a price, every search tries smaller limits itself.
        shares += [share for share in reversed(LADDER_OF_SUPPRESSION) if share < aim.suppress]
    ladders: list[Sequence[Promise]] = [(promise, *_stricter(promise, table)) for promise in promises]
    most = _most_rungs(name, table, promises)
    places = _nearest([len(shares), *(len(ladder) for ladder in ladders)])
    for share, *chosen in islice(places, 1, most + 1):
        asked = Promises(tuple(ladder[i] for ladder, i in zip(ladders, chosen, strict=True)))
        yield asked if any(chosen) else promises, replace(aim, suppress=shares[share])


def strictest_rungs(promises: Promises, people: int, values: Mapping[str, int]) -> Promises:
    """Returns the most that a search can have been asked for whose classes have at least so many people, and
    so many different values by column."""
    found: list[Promise] = []
    for promise in promises:
        if isinstance(promise, TablePromise):
            found.append(promise)
        elif promise.by_size:
            rungs = [k for k in LADDER_OF_PEOPLE if promise.least_people < k <= people]
            found.append(promise.with_least_people(rungs[-1]) if rungs else promise)
        else:
            most = min((values.get(name, 0) for name in promise.sensitive), default=0)
            counts = [count for count in LADDER_OF_VALUES if promise.least_values < count <= most]
            found.append(promise.with_least_values(counts[-1]) if counts else promise)
    return Promises(tuple(found))


def _most_rungs(name: str, table: Microdata, promises: Promises) -> int:
    """Returns how many requests for more fit the budget of a search."""
    most = min(MOST_RUNGS, MOST_ROWS_OF_RUNGS[name] // max(1, table.distinct))
    if name not in MOST_CELLS_OF_RUNGS:
        return most
    values = max(1, sum(not promise.by_size for promise in promises))
    cells = table.distinct * len(table.keys) * values
    most = min(most, MOST_CELLS_OF_RUNGS[name] // max(1, cells))
    if name != "local":
        return most
    nodes = min(MOST_LEVEL_VECTORS, prod(column.taxonomy.height + 1 for column in table.keys))
    return min(most, max(1, MOST_BOXES_OF_RUNGS // max(1, nodes * table.distinct)))


def _stricter(promise: Promise, table: Microdata) -> list[Promise]:
    """Returns the promise with more people, or more values, than it asks for: the rungs above it.

    A promise about the table as a whole says itself what is stricter: beside earlier releases nothing is, for
    more may be impossible.
    """
    if isinstance(promise, TablePromise):
        return list(promise.stricter)
    if promise.by_size:
        people = [k for k in LADDER_OF_PEOPLE if promise.least_people < k <= table.rows]
        return [promise.with_least_people(k) for k in people]
    leaves = min((len(table.column(name).taxonomy.leaves) for name in promise.sensitive), default=0)
    values = [count for count in LADDER_OF_VALUES if promise.least_values < count <= leaves]
    made = [promise.with_least_values(count) for count in values]
    return [stricter for stricter in made if stricter is not promise]


def _nearest(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields every combination of places in lists of these lengths, by their sum, then in order.

    >>> list(_nearest([2, 2]))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    first = (0,) * len(lengths)
    waiting, seen = [(0, first)], {first}
    while waiting:
        far, places = heappop(waiting)
        yield places
        for i, place in enumerate(places):
            further = (*places[:i], place + 1, *places[i + 1 :])
            if place + 1 < lengths[i] and further not in seen:
                seen.add(further)
                heappush(waiting, (far + 1, further))


def _compared(name: str, outcome: Outcome, seconds: float) -> ComparedSearch:
    recoding, levels = outcome.recoding, outcome.levels or {}
    return ComparedSearch(
        name,
        outcome.loss,
        recoding.suppressed,
        len(boxes_of(recoding)[0]),
        len(lost_columns(recoding)),
        outcome.optimal,
        seconds,
        tuple(shape_of(recoding, j, levels.get(c.name)) for j, c in enumerate(recoding.table.keys)),
    )
