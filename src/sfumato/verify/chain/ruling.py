"""A chain of releases, judged from what each of them showed: does everybody keep at least k candidates?

Whoever holds all releases knows somebody's classes and when they came. With matching value s, at most as many
records can be theirs as people of that time, those classes and that value there are in some table of people
that gives all published counts: a *world*. The sum over all values is how many candidates somebody keeps. One
release and two are decided by a formula; for more, worlds are looked for (`world_bounds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.core.verdict import Verdict
from sfumato.judge.chain.files_alone import NOT_FROM_FILES
from sfumato.judge.chain.remembered_release import (
    Numbers,
    ReleaseTable,
    RememberedRelease,
    on_newest_trees,
)
from sfumato.judge.chain.two_releases import candidates_of_two
from sfumato.judge.chain.world_bounds import Chosen, WorldBounds
from sfumato.judge.chain.world_equations import TooLarge, WorldEquations
from sfumato.judge.policy_data import PromiseData
from sfumato.judge.rulings import undecided


@dataclass(frozen=True)
class ChainRuling:
    """Whether everybody keeps at least k candidates beside all releases of a chain; `None`: not known.

    `least` is the fewest that anybody keeps, exactly if `certain`, else at most; `None` if nobody is there.
    `few` targets are known to keep fewer than k, of `open` ones it is not known.
    """

    holds: bool | None
    least: int | None
    certain: bool
    few: int
    open: int


def judge_chain(
    documents: Sequence[Mapping[str, Any]], k: int, settled: Sequence[int | None] = ()
) -> ChainRuling:
    """Returns what releases, oldest first, leave to everybody; each is given as what is remembered of it.

    `settled` are earlier rulings of this judge: the fewest candidates of anybody beside a release and all
    before it; `None` where that was not known. No release shows anything new of people who are in one that
    shows at least as much: from the last settled one on after which no other shows more, only people who came
    later are looked at. Whether the fewest of an earlier ruling was exact, or a bound, is not known any more:
    the number is not `certain` then.

    Raises `BadData` where a document is damaged, or no table of people gives the counts of all releases.
    """
    tables = on_newest_trees([RememberedRelease.of(document) for document in documents])
    start = _last_closing(tables, settled, k)
    known = None if start is None else settled[start]
    ruling = _judge_tables(tables[start or 0 :], k)
    if known is None or ruling.least is None:
        return ruling
    return replace(ruling, least=min(known, ruling.least), certain=False)


def _judge_tables(tables: Sequence[ReleaseTable], k: int) -> ChainRuling:
    """Returns what these releases leave to everybody, as if there were no others."""
    if len(tables) <= 2:
        exact = candidates_of_two(tables)
        return _ruled(exact, exact, k)
    try:
        bounds = WorldBounds(WorldEquations.of(tables))
    except TooLarge:
        return ChainRuling(None, None, False, 0, 1)
    bounds.narrow(lambda: doubtful(*bounds.between(), k)[bounds.equations.target])
    bounds.narrow(lambda: _perhaps_lowest(*bounds.between())[bounds.equations.target])
    return _ruled(*bounds.between(), k)


def _last_closing(tables: Sequence[ReleaseTable], settled: Sequence[int | None], k: int) -> int | None:
    """Returns the last release that was settled with k at least, and shows as much as every later one."""
    keys, known = [table.key for table in tables], {}
    for i in reversed(range(len(settled))):
        fewest = settled[i]
        if fewest is None or fewest < k:
            continue
        for j in range(i + 1, len(tables)):
            pair = keys[i], keys[j]
            if pair not in known:
                known[pair] = tables[i].is_finer(tables[j])
            if not known[pair]:
                break
        else:
            return i
    return None


def chain_verdict(
    documents: Sequence[Mapping[str, Any]],
    promise: Mapping[str, object],
    settled: Sequence[int | None] = (),
) -> tuple[Verdict, int]:
    """Returns the verdict on a promise about earlier releases, given as its plain data, beside all of them.

    Its k is what is judged; a promise that has none stays undecided. The number tells how many targets stay
    open. `settled` are earlier rulings, as in `judge_chain`, and what that raises is raised here. A promise
    that is kept against a register is not about candidates: see `files_alone`.
    """
    told = PromiseData(promise)
    if told.get("adversary") == "register":
        return undecided(told, NOT_FROM_FILES), 1
    k = told.get("k")
    if not isinstance(k, int):
        return undecided(told, f"no second judge for {told.name} beside earlier releases"), 1
    ruling = judge_chain(documents, k, settled)
    bound = "" if ruling.certain else "; a bound, not the exact number"
    others = len(documents) - 1
    reason = f"beside {others} other {'release' if others == 1 else 'releases'}{bound}"
    found = Verdict(str(told), ruling.holds, ruling.least, k, evidence=told.evidence, reason=reason)
    return found, ruling.open


def doubtful(least: Numbers, most: Numbers, k: int) -> Chosen:
    """Returns the targets of which it is not known whether they exist with fewer than k candidates."""
    found: Chosen = (least < k) & (most >= k) | (least == 0) & (most > 0)
    return found


def _perhaps_lowest(least: Numbers, most: Numbers) -> Chosen:
    """Returns the targets that may keep fewer candidates than all that are known exactly."""
    lowest = int(most[least > 0].min(initial=np.iinfo(np.int64).max))
    found: Chosen = (least < most) & ((least < lowest) | (most == lowest))
    return found


def _ruled(least: Numbers, most: Numbers, k: int) -> ChainRuling:
    few, open_ones = int(((least > 0) & (most < k)).sum()), int(doubtful(least, most, k).sum())
    there, maybe = least > 0, most > 0
    highest = int(most[there].min()) if there.any() else None
    lowest = int(np.maximum(least, 1)[maybe].min()) if maybe.any() else None
    number = highest if highest is not None or lowest is None else int(most[maybe].min())
    holds = False if few else None if open_ones else True
    return ChainRuling(holds, number, lowest == highest, few, open_ones)
