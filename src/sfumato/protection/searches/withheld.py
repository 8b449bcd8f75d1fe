"""Suppression by searches that make no class which breaks a promise: some rows are withheld beforehand.

A row is worth withholding where the others lose so much less without it that this outweighs its price. Which
rows these are is guessed in two ways, and tried: those whose departure frees most in the result without
suppression, and those that top-down suppresses. Whatever is tried is measured with the price; the least loss
is taken, and of equal ones the result that suppresses less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import isclose

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.kernels.local.key_classes import fill
from sfumato.kernels.local.proposals import reliefs
from sfumato.protection.boxes import boxes_of
from sfumato.protection.controls import spared_rows, spares_all
from sfumato.protection.searches.key_groups import WHOLE_PRICE, KeyGroups
from sfumato.protection.searches.search import Aim, Outcome, Search, unproved_if_suppressed
from sfumato.protection.searches.top_down import specialize
from sfumato.protection.suppression import recoded

Truths = NDArray[np.bool_]

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
    ranked: Callable[[int], Iterator[Truths]] | None,
    *,
    by_top_down: bool,
) -> Iterator[Truths]:
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
            other = specialize(table, promises, replace(aim, suppress=share))
        except Infeasible:
            continue
        gone = other.recoding.class_of == SUPPRESSED
        if gone.any():
            yield gone


def _by_relief(
    table: Microdata, plain: Outcome, aim: Aim, spared: Truths | None
) -> Callable[[int], Iterator[Truths]]:
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

    def choose(limit: int) -> Iterator[Truths]:
        few = int(np.searchsorted(rows, limit, side="right"))
        for count in dict.fromkeys((min(few, pays), few)):
            if count and sums[count - 1] * WORTH_TRYING >= rows[count - 1] * float(price) * WHOLE_PRICE:
                chosen = np.zeros(len(groups), dtype=bool)
                chosen[order[:count]] = True
                yield chosen[groups.group_of]

    return choose


def _costs_more(table: Microdata, aim: Aim, rows: Truths, best: Outcome | None) -> bool:
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


def _is_better(one: Outcome, other: Outcome | None) -> bool:
    if other is None:
        return True
    if isclose(one.loss, other.loss, rel_tol=1e-12):
        return one.recoding.suppressed < other.recoding.suppressed
    return one.loss < other.loss


def _without(
    search: Search,
    table: Microdata,
    promises: Promises,
    aim: Aim,
    withheld: tuple[Truths, Truths | None],
    progress: Progress,
) -> Outcome | None:
    """Returns what the search finds without some rows, or `None`; who fits a published class is put back.

    `withheld` are these rows, and those that may not be suppressed.
    """
    rows, spared = withheld
    kept, gone = ~rows, int(table.counts[rows].sum())
    less = replace(
        table,
        words=np.ascontiguousarray(table.words[:, kept]),
        counts=table.counts[kept],
        dropped=table.dropped + gone,
    )
    exactly = Fraction(less.dropped, less.rows + less.dropped)
    try:
        outcome = search(less, promises, replace(aim, suppress=exactly), progress=progress)
    except Infeasible:
        return None
    class_of = np.full(table.distinct, SUPPRESSED, np.int32)
    class_of[kept] = outcome.recoding.class_of
    found = [replace(outcome.recoding, table=table, class_of=class_of)]
    if outcome.recoding.cuts is not None:
        found.append(recoded(table, outcome.recoding.cuts, promises))
    else:
        found.append(_with_those_who_fit(found[0], promises))
    allowed = [one for one in found if one.suppressed <= aim.allowed(table) and spares_all(one, spared)]
    if not allowed:
        return None
    losses = [aim.loss_of(one) for one in allowed]
    place = min(range(len(allowed)), key=lambda i: (losses[i], allowed[i].suppressed))
    return Outcome(allowed[place], losses[place], checked=outcome.checked)


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
        some = slice(begin, begin + together)
        fits = np.ones((len(gone[some]), recoding.count), dtype=bool)
        for j, code in enumerate(codes[:, some, None]):
            fits &= (low[j] <= code) & (code < high[j])
        class_of[gone[some]] = np.where(fits.any(axis=1), order[fits.argmax(axis=1)], SUPPRESSED)
    gone = gone[class_of[gone] != SUPPRESSED]
    kept = promises.holds_on(Classes.of(table, class_of, sensitive=promises.sensitive))
    back = gone[kept[class_of[gone]]]
    final = recoding.class_of.copy()
    final[back] = class_of[back]
    if not promises.holds_on(Classes.of(table, final, sensitive=promises.sensitive)).all():
        return recoding
    return replace(recoding, class_of=final)
