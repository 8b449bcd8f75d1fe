"""Biographies: people who show values in several rows, grouped by all of them side by side.

A group whose members show m rows each has m classes: the first row of every member, the second of every
member, and so on. Each class keeps every promise by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Promise, Promises
from sfumato.models.registry import make
from sfumato.policy.policy import Policy
from sfumato.search.blind_groups import (
    BLOCK_UNITS,
    GroupedPeople,
    group_people,
    reads_values,
    unit_searches,
)
from sfumato.search.contract import Aim, Outcome, find
from sfumato.search.plan import Plan, aim_of, prove
from sfumato.system.coins import Coins
from sfumato.system.errors import Infeasible
from sfumato.system.progress import Progress, one_step, silent
from sfumato.table.microdata import Codes, Column, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding

Numbers = NDArray[np.int64]

UNITS_OF_A_LEVEL = 10
"""People who show as many rows are at least so many times the smallest group: else they show fewer."""


def rows_shown(counts: Numbers, most: int | None, least: int) -> Numbers:
    """Returns in how many rows each person shows values, by how many rows they have, at most `most`.

    Numbers of rows are cut to levels with people enough; `least` is the size of the smallest group.

    >>> rows_shown(np.array([3] * 20 + [2] * 2 + [1] * 20), None, 2)[[0, 20, 22]].tolist()
    [3, 1, 1]
    """
    capped = counts if most is None else np.minimum(counts, most)
    shown, pool, level = np.zeros_like(capped), np.zeros(0, np.int64), np.zeros(0, np.int64)
    for rows in np.unique(capped)[::-1].tolist():
        pool = np.append(pool, np.flatnonzero(capped == rows))
        shown[pool] = rows
        if len(pool) >= UNITS_OF_A_LEVEL * least:
            pool, level = pool[:0], pool
    if 0 < len(pool) < BLOCK_UNITS * least:
        shown[level] = shown[pool[0]]
    return shown


def plan_of_biographies(
    table: Microdata,
    policy: Policy,
    person: Numbers,
    place: Numbers,
    coins: Coins,
    *,
    progress: Progress = silent,
) -> tuple[Plan, Numbers]:
    """Returns the plan of rows of which people show several, and the first class of each class's group.

    `table` has one entry for each row, told apart by its number; `person` and `place` say of the rows, in
    their order, whose they are, and which of theirs.
    """
    entry = np.argsort(table.person) if table.person is not None else np.arange(table.distinct)
    order = np.lexsort((place, person))
    begin = np.flatnonzero(np.diff(person[order], prepend=-1))
    length = np.diff(np.append(begin, len(order)))
    class_of = np.full(table.distinct, SUPPRESSED, np.int32)
    low, high, homes = list[Codes](), list[Codes](), list[Numbers]()
    aim, grouped, count = aim_of(policy), list[GroupedPeople](), 0
    for rows in np.unique(length).tolist():
        own = entry[order[begin[length == rows][:, None] + np.arange(rows)]]
        recoding, how = _grouped(_side_by_side(table, own), rows, policy, aim, coins.of(str(rows)), progress)
        group = np.full(len(own), SUPPRESSED, np.int64)
        if recoding.table.person is not None:
            group[recoding.table.person] = recoding.class_of
        classes = count + group[:, None] * rows + np.arange(rows)
        class_of[own] = np.where(group[:, None] == SUPPRESSED, SUPPRESSED, classes)
        low.append(recoding.low.reshape(recoding.count * rows, -1))
        high.append(recoding.high.reshape(recoding.count * rows, -1))
        homes.append(count + np.repeat(np.arange(recoding.count) * rows, rows))
        grouped.append(how)
        count += recoding.count * rows
    whole = Recoding(table, class_of, np.concatenate(low), np.concatenate(high))
    loss = aim.loss_of(whole)
    with one_step(progress, "proving"):
        verdicts, smallest = prove(Outcome(whole, loss), policy.promises, aim, one_by_one=True)
    informed = [how for how in grouped if not how.blind]
    plan = Plan(
        policy,
        whole,
        verdicts,
        loss,
        smallest=smallest,
        search=policy.protect.search,
        grouped=(informed or grouped)[0] if reads_values(policy.promises) else None,
        coins=coins,
    )
    return plan, np.concatenate(homes)


def _named(column: str, place: int) -> str:
    return f"{column} (row {place + 1} of a person)"


def _side_by_side(table: Microdata, own: NDArray[np.integer]) -> Microdata:
    """Returns a row for each person, which holds all columns of their rows."""
    columns, codes = list[Column](), list[Codes]()
    for place in range(own.shape[1]):
        for column in table.columns:
            columns.append(replace(column, name=_named(column.name, place)))
            codes.append(table.codes(column.name)[own[:, place]])
    return Microdata.of_codes(columns, codes, person=np.arange(len(own)))


def _grouped(
    wide: Microdata, rows: int, policy: Policy, aim: Aim, coins: Coins, progress: Progress
) -> tuple[Recoding, GroupedPeople]:
    """Returns groups of people with so many rows, each class of which keeps every promise."""
    promises = _of_every_row(policy.promises, rows)
    every = range(rows)
    side = replace(
        aim,
        weights={_named(n, j): weight for n, weight in aim.weights.items() for j in every},
        never_suppress={_named(n, j): values for n, values in aim.never_suppress.items() for j in every},
        compared=unit_searches(aim),
    )
    outcome, how = None, GroupedPeople(False, "as the policy says")
    if policy.protect.grouping != "informed" and reads_values(promises):
        outcome, how = group_people(wide, promises, side, policy.protect.grouping, coins, progress=progress)
    if outcome is None:
        if reads_values(promises):  # who is left out would tell of values
            side = replace(side, suppress=aim.suppress * 0)
        outcome = _searched(wide, promises, side, progress)
    return outcome.recoding, how


def _searched(wide: Microdata, promises: Promises, aim: Aim, progress: Progress) -> Outcome:
    """Returns the classes that lose least; raises what was refused where no search makes any."""
    found, refused = list[Outcome](), list[Infeasible]()
    for name in aim.compared or ():
        try:
            found.append(find(name)(wide, promises, aim, progress=progress))
        except Infeasible as why:
            refused.append(why)
    if not found:
        raise refused[0]
    return min(found, key=lambda outcome: outcome.loss)


def _of_every_row(promises: Promises, rows: int) -> Promises:
    """Returns the promises about the columns of every row: those about people alone are asked once."""
    every = list[Promise]()
    for promise in promises.stated:
        every += _of_rows(promise, range(rows) if promise.sensitive else range(1))
    return Promises(tuple(every))


def _of_rows(promise: Promise, places: Sequence[int]) -> list[Promise]:
    words = promise.parameters()
    if not promise.sensitive:
        return [promise]
    (column,) = promise.sensitive
    return [make(promise.name, {**words, "of": _named(column, place)}) for place in places]
