"""Expected times: about how long each search will take, told before it runs and deciding nothing.

A search is counted in steps, one for every time that it looks at a distinct row, and a step is timed on this
machine and these rows. Greedy searches take about the time that is told; exact ones at most, since what they
rule out unseen nobody knows beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from time import process_time

import numpy as np

from sfumato.models.contract import Promises
from sfumato.search.best import too_much
from sfumato.search.contract import Aim, TableSize, work_of
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import classes_under

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
