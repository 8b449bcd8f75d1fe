"""The best of all searches: whatever the policy allows is tried, and the least loss is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import islice
from math import isclose, prod
from time import process_time

import numpy as np

from sfumato.kernels.local_moves import fill, reliefs
from sfumato.models.contract import (
    AdjustablePromise,
    Promise,
    Promises,
    TablePromise,
    Truth,
    with_least_people,
    with_least_values,
)
from sfumato.policy.searches import BUILT_IN, COMPARED, Ability, losses_with
from sfumato.search import contract as registry
from sfumato.search.contract import (
    MOST_LEVEL_VECTORS,
    Aim,
    ComparedSearch,
    Descents,
    Outcome,
    Preparations,
    Search,
    Steps,
    TableSize,
    Work,
    built_in_search,
    unproved_if_suppressed,
    work_of,
)
from sfumato.search.controls import spared_rows, spares_all
from sfumato.search.key_groups import WHOLE_PRICE, KeyGroups
from sfumato.search.loss import lost_columns, shape_of
from sfumato.search.suppression import boxes_of, recoded
from sfumato.search.top_down import specialize
from sfumato.system.errors import Infeasible, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding, classes_under

ORDER = COMPARED
LADDER_OF_PEOPLE = (2, 3, 5, 10, 20, 50, 100)
LADDER_OF_VALUES = (2, 3, 4, 5, 8)
LADDER_OF_SUPPRESSION = tuple(Fraction(percent, 100) for percent in (0, 1, 2, 5, 10))
MOST_BOXES_OF_RUNGS = 60_000_000
"""The same for the boxes that local recoding walks through: distinct rows times combinations of levels."""
MOST_STEPS_OF_OPTIMUM = 30_000
"""Steps of the exact search for cuts for what was asked, and as many for all requests for more together."""
MOST_RUNGS = 200
"""Requests for more that a search is asked for: all of k, of one promise of values and of suppression."""
MOST_ROWS_KEPT = 30_000
"""Distinct rows up to which what one search made or found is kept for other searches and rungs."""


@built_in_search(
    "best",
    "tries all that fit the policy, and takes the best result",
    place=6,
    ability=Ability(
        losses=losses_with(),
        relaxes=True,
        whole_table=True,
        whole_columns=False,
        beside_others=False,
        any_loss=True,
    ),
    work=Work(),
)
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
    results: list[tuple[float, int, int, Outcome]] = []
    refused: dict[str, Infeasible] = {}
    few = table.distinct <= MOST_ROWS_KEPT
    if few:
        aim = replace(aim, descents=Descents(table), prepared=Preparations(table))
    for number, name in enumerate(names):
        if name in left_out:
            continue
        begin = process_time()
        progress("searches", number, len(names))
        try:
            least = min((loss for loss, *_ in results), default=None)
            outcome = _best_rung(name, table, promises, replace(aim, beat=least), progress)
        except Infeasible as reason:
            refused[name] = reason
            continue
        except UsageError as reason:  # such as weights that are too fine for whole numbers
            left_out[name] = reason.message
            continue
        rank = outcome.loss, outcome.recoding.suppressed, len(results)
        results.append((*rank, replace(outcome, search=name)))
        compared.append(_compared(name, outcome, process_time() - begin))
    progress("searches", len(names), len(names))
    if not results:
        raise _nearest_refusal(refused)
    chosen = min(results, key=lambda entry: entry[:3])[3]
    checked = sum(entry[3].checked for entry in results)
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
    ability, of_class = BUILT_IN[name], promises.of_class
    reasons = (
        (not ability.can_keep_small(aim.loss), f"it does not keep {aim.loss} small"),
        (promises.of_table and not ability.whole_table, "a promise is about the table as a whole"),
        (not ability.any_promise and not all(p.monotone for p in of_class), "a promise is not monotone"),
        (aim.together and not ability.levels, "it does not publish columns at levels, which move together"),
        (
            any(p.searches is not None and name not in p.searches for p in promises),
            "a promise asks for another search",
        ),
    )
    unfit = next((reason for holds, reason in reasons if holds), "")
    return unfit or registry.work_of(name).too_much(table, promises)


def _best_rung(name: str, table: Microdata, promises: Promises, aim: Aim, progress: Progress) -> Outcome:
    """Returns the best result of one search, asked for what is promised and, unless exact, for more.

    The bound is that of what is promised: requests for more rule out what this allows.
    """
    search = registry.find(name)
    outcome, refused, bound = None, None, None
    # What else is suppressed may decide if a class may stay: then asking for less may suppress more.
    depends_on_rest = aim.suppress > 0 and bool(promises.relative)
    first_steps, more = Steps(MOST_STEPS_OF_OPTIMUM), Steps(MOST_STEPS_OF_OPTIMUM)
    for stricter, less in _rungs(name, table, promises, aim):
        as_asked = stricter is promises and less is aim
        steps = first_steps if as_asked else more
        try:
            result = search(table, stricter, replace(less, steps=steps), progress=progress)
        except Infeasible as reason:
            if less is aim and aim.allowed(table) <= table.dropped:
                raise  # more cannot be kept either
            refused = refused or reason
            continue
        bound = result.bound if as_asked else bound
        rank = result.loss, result.recoding.suppressed
        if outcome is None or rank < (outcome.loss, outcome.recoding.suppressed):
            outcome = replace(result, optimal=result.optimal and as_asked)
        if result.optimal and stricter is promises and not depends_on_rest:
            break
    if outcome is None:
        raise refused or Infeasible("nothing is left to publish", remedy="Ask for less.")
    return replace(outcome, bound=bound)


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
        rung = Promises(tuple(ladder[i] for ladder, i in zip(ladders, chosen, strict=True)))
        yield rung if any(chosen) else promises, replace(aim, suppress=shares[share])


def _most_rungs(name: str, table: Microdata, promises: Promises) -> int:
    """Returns how many requests for more fit the budget of a search."""
    work = registry.work_of(name)
    most = min(MOST_RUNGS, work.rows_of_rungs // max(1, table.distinct))
    if work.cells_of_rungs is None:
        return most
    values = max(1, sum(not promise.by_size for promise in promises))
    cells = table.distinct * len(table.keys) * values
    most = min(most, work.cells_of_rungs // max(1, cells))
    if not work.walks_levels:
        return most
    nodes = min(MOST_LEVEL_VECTORS, prod(column.taxonomy.height + 1 for column in table.keys))
    return min(most, max(1, MOST_BOXES_OF_RUNGS // max(1, nodes * table.distinct)))


def _stricter(promise: Promise, table: Microdata) -> list[Promise]:
    """Returns the promise with more people, or more values, than it asks for: the rungs above it.

    A promise about the table as a whole says itself what is stricter: beside earlier releases nothing is, for
    more may be impossible.
    """
    if isinstance(promise, TablePromise):
        return list(promise.stricter) if isinstance(promise, AdjustablePromise) else []
    if promise.by_size:
        people = [k for k in LADDER_OF_PEOPLE if promise.least_people < k <= table.rows]
        return [with_least_people(promise, k) for k in people]
    leaves = min((len(table.column(name).taxonomy.leaves) for name in promise.sensitive), default=0)
    values = [count for count in LADDER_OF_VALUES if promise.least_values < count <= leaves]
    candidates = [with_least_values(promise, count) for count in values]
    return [stricter for stricter in candidates if stricter is not promise]


def _nearest(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields every combination of places in lists of these lengths, by their sum, then in order.

    >>> list(_nearest([2, 2]))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    first = (0,) * len(lengths)
    waiting, queued = [(0, first)], {first}
    while waiting:
        far, places = heappop(waiting)
        yield places
        for i, place in enumerate(places):
            further = (*places[:i], place + 1, *places[i + 1 :])
            if place + 1 < lengths[i] and further not in queued:
                queued.add(further)
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


# Suppression by searches that make no class which breaks a promise: some rows are withheld beforehand.
#
# A row is worth withholding where the others lose so much less without it that this outweighs its price.
# Which rows these are is guessed in two ways, and tried: those whose departure frees most in the result
# without suppression, and those that top-down suppresses. Whatever is tried is measured with the price; the
# least loss is taken, and of equal ones the result that suppresses less.

SHARES = tuple(Fraction(thousandth, 1000) for thousandth in (1, 5, 10, 20, 50, 100))
"""The shares of the rows that are withheld in turn, up to the limit: a larger limit tries no less."""
WORTH_TRYING = 2
"""Rows are tried that free at least their price, divided by this, when each leaves its class alone."""
MOST_PAIRS = 1 << 26
"""Withheld rows times classes, up to which it is asked who fits a class after all."""
PAIRS_TOGETHER = 1 << 18
"""So many of these pairs are looked at together, in little memory."""


def with_suppression(
    search: Search,
    table: Microdata,
    promises: Promises,
    aim: Aim,
    *,
    by_relief: bool,
    by_top_down: bool,
    most: int,
    progress: Progress = silent,
) -> Outcome:
    """Returns what a search that suppresses nothing finds, or what it finds without some rows, if better.

    Rows are withheld only where suppressed rows have a price, and no more than the aim allows: those whose
    departure frees most (`by_relief`), those that top-down suppresses (`by_top_down`, and wherever the search
    finds nothing at first). The searches look at no more than `most` distinct rows together, counted, the
    first one aside. Nothing is proved where rows may be suppressed.
    """
    best, refused = None, None
    try:
        best = search(table, promises, aim, progress=progress)
    except Infeasible as reason:
        refused = reason
    if aim.price is not None and table.keys and 0 < table.distinct <= most:
        checked = 0 if best is None else best.checked
        tried: set[bytes] = set()
        spared = spared_rows(table, aim)
        may_go = aim.allowed(table) > table.dropped
        ranked = _by_relief(table, best, aim, spared) if by_relief and may_go and best is not None else None
        for rows in _guesses(table, promises, aim, ranked, by_top_down=by_top_down or best is None):
            key = np.packbits(rows).tobytes()
            if key in tried or _costs_more(table, aim, rows, best):
                continue
            tried.add(key)
            outcome = _without(search, table, promises, aim, (rows, spared), progress)
            if outcome is not None:
                checked += outcome.checked
                best = outcome if _is_better(outcome, best) else best
            if (len(tried) + 1) * table.distinct > most:
                break
        best = best and replace(best, checked=checked)
    if best is None:
        raise refused or Infeasible("nothing is left to publish", remedy="Ask for less.")
    return unproved_if_suppressed(best, table, aim)


def _guesses(
    table: Microdata,
    promises: Promises,
    aim: Aim,
    ranked: Callable[[int], Iterator[Truth]] | None,
    *,
    by_top_down: bool,
) -> Iterator[Truth]:
    """Yields sets of distinct rows to withhold, no larger than the limit and its smaller shares."""
    shares = [share for share in SHARES if share < aim.suppress] + [aim.suppress]
    limits = [replace(aim, suppress=share).allowed(table) - table.dropped for share in shares]
    before = 0
    for share, limit in zip(shares, limits, strict=True):
        if limit <= before:
            continue
        before = limit
        if ranked is not None:
            yield from ranked(limit)
        if not by_top_down:
            continue
        try:
            coarser = specialize(table, promises, replace(aim, suppress=share))
        except Infeasible:
            continue
        gone = coarser.recoding.class_of == SUPPRESSED
        if gone.any():
            yield gone


def _by_relief(
    table: Microdata, plain: Outcome, aim: Aim, spared: Truth | None
) -> Callable[[int], Iterator[Truth]]:
    """Returns what gives, for a limit, the rows that free most when they leave their classes.

    First those that free more than their price, each by itself, then as many as the limit allows; none that
    is spared.
    """
    groups = KeyGroups.prepared(table, aim)
    _, class_of = boxes_of(plain.recoding)
    of_group = class_of[groups.rows[groups.start[:-1]]]
    classes = groups.no_classes()
    fill(classes, groups.forest, of_group.astype(np.int32))
    freed = reliefs(classes, groups.forest)
    each = freed / groups.weight
    order = np.argsort(-each, kind="stable")
    if spared is not None:
        stays = np.zeros(len(groups), dtype=bool)
        stays[groups.group_of[spared]] = True
        order = order[~stays[order]]
    rows, sums = np.cumsum(groups.weight[order]), np.cumsum(freed[order].astype(np.float64))
    price = aim.price or Fraction(1)
    pays = int(np.count_nonzero(each[order] > float(price) * WHOLE_PRICE))

    def choose(limit: int) -> Iterator[Truth]:
        few = int(np.searchsorted(rows, limit, side="right"))
        for count in dict.fromkeys((min(few, pays), few)):
            if count and sums[count - 1] * WORTH_TRYING >= rows[count - 1] * float(price) * WHOLE_PRICE:
                chosen = np.zeros(len(groups), dtype=bool)
                chosen[order[:count]] = True
                yield chosen[groups.group_of]

    return choose


def _costs_more(table: Microdata, aim: Aim, rows: Truth, best: Outcome | None) -> bool:
    """Whether the price of these rows alone is more than what is lost already; also if no row were left."""
    gone = int(table.counts[rows].sum())
    if gone >= table.rows:
        return True
    if best is None or aim.price is None:
        return False
    whole = table.rows + table.dropped
    priced = float(aim.price * (gone + table.dropped))
    lost = {"loss": priced / whole, "discernibility": priced * whole}.get(aim.loss)
    return lost is not None and lost >= best.loss


def _is_better(left: Outcome, right: Outcome | None) -> bool:
    if right is None:
        return True
    tie = isclose(left.loss, right.loss, rel_tol=1e-12)
    return left.recoding.suppressed < right.recoding.suppressed if tie else left.loss < right.loss


def _without(
    search: Search,
    table: Microdata,
    promises: Promises,
    aim: Aim,
    withheld: tuple[Truth, Truth | None],
    progress: Progress,
) -> Outcome | None:
    """Returns what the search finds without some rows, or `None`; who fits a published class is put back.

    `withheld` are these rows, and those that may not be suppressed.
    """
    rows, spared = withheld
    remaining, gone = ~rows, int(table.counts[rows].sum())
    less = replace(
        table,
        words=np.ascontiguousarray(table.words[:, remaining]),
        counts=table.counts[remaining],
        dropped=table.dropped + gone,
    )
    exactly = Fraction(less.dropped, less.rows + less.dropped)
    try:
        outcome = search(less, promises, replace(aim, suppress=exactly), progress=progress)
    except Infeasible:
        return None
    class_of = np.full(table.distinct, SUPPRESSED, np.int32)
    class_of[remaining] = outcome.recoding.class_of
    bare = replace(outcome.recoding, table=table, class_of=class_of)
    cuts = outcome.recoding.cuts
    filled = _with_those_who_fit(bare, promises) if cuts is None else recoded(table, cuts, promises)
    most = aim.allowed(table)
    allowed = [each for each in (bare, filled) if each.suppressed <= most and spares_all(each, spared)]
    ranked = [(aim.loss_of(each), each.suppressed, number) for number, each in enumerate(allowed)]
    if not ranked:
        return None
    loss, _, number = min(ranked)
    return Outcome(allowed[number], loss, checked=outcome.checked)


def _with_those_who_fit(recoding: Recoding, promises: Promises) -> Recoding:
    """Returns the recoding with suppressed rows in classes that cover them and still keep the promises."""
    table = recoding.table
    gone = np.flatnonzero(recoding.class_of == SUPPRESSED)
    if not len(gone) or len(gone) * recoding.count > MOST_PAIRS:
        return recoding
    leaves = [max(1, len(c.taxonomy.leaves) - 1) for c in table.keys]
    spread = ((recoding.high - recoding.low - 1) / np.array(leaves)).sum(axis=1)
    order = np.argsort(spread, kind="stable")
    low, high = (np.ascontiguousarray(bound[order].T) for bound in (recoding.low, recoding.high))
    codes = np.stack([table.codes(column.name)[gone] for column in table.keys])
    class_of = recoding.class_of.copy()
    together = max(1, PAIRS_TOGETHER // recoding.count)
    for begin in range(0, len(gone), together):
        batch = slice(begin, begin + together)
        fits = np.ones((len(gone[batch]), recoding.count), dtype=bool)
        for j, code in enumerate(codes[:, batch, None]):
            fits &= (low[j] <= code) & (code < high[j])
        class_of[gone[batch]] = np.where(fits.any(axis=1), order[fits.argmax(axis=1)], SUPPRESSED)
    gone = gone[class_of[gone] != SUPPRESSED]
    keeping = promises.holds_on(Classes.of(table, class_of, sensitive=promises.sensitive))
    back = gone[keeping[class_of[gone]]]
    final = recoding.class_of.copy()
    final[back] = class_of[back]
    if not promises.holds_on(Classes.of(table, final, sensitive=promises.sensitive)).all():
        return recoding
    return replace(recoding, class_of=final)


# Expected times: about how long each search will take, told before it runs and deciding nothing.


SAMPLE = 20_000
"""Rows that are grouped to learn how long a step takes."""


@dataclass(frozen=True)
class ExpectedTime:
    """About how many `seconds` a search will take; `bound` says that it may well be far less."""

    search: str
    steps: int
    seconds: float
    bound: bool = False

    def __str__(self) -> str:
        return f"{self.search}: {'at most' if self.bound else 'about'} {in_words(self.seconds)}"


Foretell = Callable[[Sequence[ExpectedTime]], None]
"""Receives what the searches of a plan will take, before the first begins."""


def expected_times(
    table: Microdata, promises: Promises, aim: Aim, searches: Sequence[str]
) -> tuple[ExpectedTime, ...]:
    """Returns what each of these searches will take on this table; nothing of those that are not built in.

    Of several, which are compared, only those are told of that are tried.
    """
    works = {name: work for name in searches if (work := work_of(name)).steps}
    if not works or not table.distinct:
        return ()
    if len(works) > 1:
        works = {name: work for name, work in works.items() if not too_much(name, table, promises, aim)}
    step = seconds_per_row(table)
    size = TableSize(
        table.distinct,
        len(table.keys),
        sum(c.taxonomy.height for c in table.keys),
        prod(c.taxonomy.ceiling + 1 for c in table.keys),
        max([1, *(p.least_people for p in promises)]),
        aim.price is not None and aim.suppress > 0,
    )
    times = []
    for name, work in works.items():
        steps = max(1, int(work.steps(size) if work.steps else 0))
        longer = work.times_for_values if promises.sensitive else 1
        times.append(ExpectedTime(name, steps, steps * work.step_time * longer * step, work.at_most))
    return tuple(times)


def seconds_per_row(table: Microdata) -> float:
    """Returns how long it takes here to group a row of this table, measured on some of them."""
    sample = Microdata.of_codes(
        list(table.keys), [table.codes(c.name)[:SAMPLE].astype(np.int32) for c in table.keys]
    )
    cuts = {c.name: Cut.level(c.taxonomy, min(1, c.taxonomy.height)) for c in table.keys}
    begin = process_time()
    classes_under(sample, cuts)
    return max(process_time() - begin, 1e-7) / max(1, sample.distinct)


def in_words(seconds: float) -> str:
    """Returns a time as people say it.

    >>> in_words(0.2), in_words(41), in_words(400), in_words(9000)
    ('a second', '41 seconds', '7 minutes', '2.5 hours')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 90:
        return f"{round(seconds)} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"
