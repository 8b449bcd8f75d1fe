"""All classes of a table: each solved by itself, in parallel, within one deadline."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from sfumato.core.progress import Progress, silent
from sfumato.protection.term_removal.clock import Clock
from sfumato.protection.term_removal.cost import RemovalCosts
from sfumato.protection.term_removal.one_class import (
    ClassSolution,
    SolverBudget,
    TermLimit,
    Terms,
    out_of_reach,
    solve_class,
)

FIRST_PASS = SolverBudget(rounds=60, nodes=20_000)
"""What every class is given; what it proves depends on no clock."""
SECOND_PASS = SolverBudget(rounds=400, nodes=1 << 40)
"""What classes without proof are given while time is left."""
AFTER_DEADLINE = SolverBudget(rounds=10, nodes=0)
"""What a class is given when time is up: an answer that keeps the promise, perhaps a costly one."""

REACH_CHECK = SolverBudget(rounds=100)
"""What a class is given to be found out of reach."""

Rows = Sequence[Terms]


def infeasible_among(
    classes: Mapping[int, Rows], limit: TermLimit, costs: RemovalCosts, *, progress: Progress = silent
) -> list[int]:
    """Returns the classes that no removal can help, as far as a bound shows; searches for nothing."""
    infeasible = []
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        some = sorted(classes)
        results = pool.map(lambda c: out_of_reach(classes[c], limit, costs, REACH_CHECK), some)
        for done, (c, lost) in enumerate(zip(some, results, strict=True), start=1):
            if lost:
                infeasible.append(c)
            progress("reach", done, len(some))
    return infeasible


def solve_classes(
    classes: Mapping[int, Rows],
    limit: TermLimit,
    costs: RemovalCosts,
    *,
    method: str = "exact",
    seconds: float = 60.0,
    each: float | None = None,
    strict: bool = False,
    progress: Progress = silent,
) -> dict[int, ClassSolution]:
    """Returns an answer for every class. `each` gives every class the same seconds of work, whatever else the
    machine is busy with, instead of a share of the time.

    Classes are independent of each other. The exact method works in two passes: the first does the same work
    for every class, the second spends what is left of the time on classes whose answer is not proved. If time
    does not run out, the result depends on nothing but the classes.
    """
    deadline = time.monotonic() + seconds
    workers = max(1, os.cpu_count() or 1)
    answers: dict[int, ClassSolution] = {}
    with Clock() as clock, ThreadPoolExecutor(workers) as pool:

        def one(index: int, budget: SolverBudget, until: Callable[[], float]) -> tuple[int, ClassSolution]:
            stop = clock.flag(until=until(), work=each)
            try:
                tried = replace(budget, method=method, strict=strict, stop=stop)
                return index, solve_class(classes[index], limit, costs, tried)
            finally:
                clock.forget(stop)

        def all_of(some: Sequence[int], budget: SolverBudget, label: str) -> None:
            left = [len(some)]

            def until() -> float:
                now = time.monotonic()
                if method == "exact":
                    return deadline
                return now + max(0.0, deadline - now) * workers / max(1, left[0])

            def task(index: int) -> tuple[int, ClassSolution]:
                late = each is None and time.monotonic() >= deadline
                if late and method == "exact":
                    return one(index, AFTER_DEADLINE, lambda: float("inf"))
                return one(index, budget, until)

            for index, answer in pool.map(task, some):
                left[0] -= 1
                if index not in answers or _better(answer, answers[index]):
                    answers[index] = answer
                progress(label, len(some) - left[0], len(some))

        single = method != "exact" or each is not None
        all_of(sorted(classes), SECOND_PASS if single else FIRST_PASS, "terms")
        open_ = [i for i in sorted(classes) if not answers[i].proved]
        if not single and open_ and time.monotonic() < deadline:
            seconds_each = max(0.05, (deadline - time.monotonic()) * workers / len(open_))

            def again(index: int) -> tuple[int, ClassSolution]:
                now = time.monotonic()
                if now >= deadline:
                    return index, answers[index]
                return one(index, SECOND_PASS, lambda: min(deadline, now + seconds_each))

            for done, (index, answer) in enumerate(pool.map(again, open_), start=1):
                if _better(answer, answers[index]):
                    answers[index] = answer
                progress("proofs", done, len(open_))
    return answers


def _better(new: ClassSolution, old: ClassSolution) -> bool:
    if new.found != old.found:
        return new.found
    if new.proved != old.proved:
        return new.proved
    return new.cost < old.cost or (new.cost == old.cost and new.bound > old.bound)
