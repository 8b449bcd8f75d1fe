"""Expected times: about how long each search will take, told before it runs and deciding nothing.

A search is counted in steps, one for every time that it looks at a distinct row, and a step is timed on this
machine and these rows. Greedy searches take about the time that is told; exact ones at most, since what they
rule out unseen nobody knows beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2, prod
from time import process_time

import numpy as np

from sfumato.models.contract import Promises
from sfumato.search.best import too_much
from sfumato.search.contract import MOST_LEVEL_VECTORS, Aim
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import classes_under

SAMPLE = 20_000
"""Rows that are grouped to learn how long a step takes."""
STATES = 50_000
"""Recodings that the exact search of cuts looks at, at most."""
VALUES_JUDGED = {"top-down": 3, "mondrian": 2}
"""So much longer a step of a search takes that splits classes, where promises are about values in them."""
DESCENTS = 6
"""Limits of suppression that are tried where suppressed rows have a price."""


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


@dataclass(frozen=True)
class _Size:
    rows: int
    keys: int
    levels: int
    nodes: int
    least: int
    descents: int
    divided: int


STEPS: Mapping[str, tuple[Callable[[_Size], float], float, bool]] = {
    "top-down": (lambda s: s.rows * s.levels * s.descents, 0.05, False),
    "lattice": (lambda s: s.rows * s.nodes, 0.15, True),
    "mondrian": (lambda s: s.rows * s.keys * log2(2 + s.rows / s.least) * s.divided, 0.04, False),
    "optimum": (lambda s: s.rows * STATES, 1.0, True),
    "local": (lambda s: s.rows * (1000 + min(s.nodes, MOST_LEVEL_VECTORS) / 4), 0.2, False),
}
"""Per search: its steps, how long one is beside the grouping of a row, and whether these are the most."""


def expected_times(
    table: Microdata, promises: Promises, aim: Aim, searches: Sequence[str]
) -> tuple[ExpectedTime, ...]:
    """Returns what each of these searches will take on this table; nothing of those that are not built in.

    Of several, which are compared, only those are told of that are tried.
    """
    known = [name for name in searches if name in STEPS]
    if not known or not table.distinct:
        return ()
    if len(known) > 1:
        known = [name for name in known if not too_much(name, table, promises, aim)]
    step = seconds_per_row(table)
    priced = aim.price is not None and aim.suppress > 0
    size = _Size(
        table.distinct,
        len(table.keys),
        sum(c.taxonomy.height for c in table.keys),
        prod(c.taxonomy.ceiling + 1 for c in table.keys),
        max([1, *(p.least_people for p in promises)]),
        DESCENTS if priced else 1,
        1 + _times_divided_again(table) if priced and "mondrian" in known else 1,
    )
    told = []
    for name in known:
        count, factor, bound = STEPS[name]
        steps = max(1, int(count(size)))
        judged = VALUES_JUDGED.get(name, 1) if promises.sensitive else 1
        told.append(ExpectedTime(name, steps, steps * factor * judged * step, bound))
    return tuple(told)


def _times_divided_again(table: Microdata) -> int:
    """Returns how often Mondrian may divide the table again, without some rows."""
    from sfumato.search.mondrian import MOST_WITHHELD_TRIED  # noqa: PLC0415  # it is compiled

    return min(DESCENTS, MOST_WITHHELD_TRIED // max(1, table.distinct))


def seconds_per_row(table: Microdata) -> float:
    """Returns how long it takes here to group a row of this table, measured on some of them."""
    some = Microdata.of_codes(
        list(table.keys), [table.codes(c.name)[:SAMPLE].astype(np.int32) for c in table.keys]
    )
    cuts = {c.name: Cut.level(c.taxonomy, min(1, c.taxonomy.height)) for c in table.keys}
    begin = process_time()
    classes_under(some, cuts)
    return max(process_time() - begin, 1e-7) / max(1, some.distinct)


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
