"""The conformance suite for table promises: run `check_table_promise` on yours before others rely on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.promise import TablePromise
from sfumato.core.taxonomy import ROOT, Taxonomy
from sfumato.core.verdict import Verdict
from sfumato.core.watch import Answer
from sfumato.testing.claims import check_words, require
from sfumato.testing.exhaustive import every_cut

Chosen = tuple[Cut, ...]
"""A recoding: one cut per key column."""


def check_table_promise(
    make: Callable[[Microdata], TablePromise], *, tables: int = 40, steps: int = 12, seed: int = 0
) -> None:
    """Checks a table promise on small random tables; raises `AssertionError` with a sentence if it fails.

    `make(table)` gives the promise for a table with key columns `q0`, `q1`, … and a sensitive column `s`.
    On every table all recodings are tried: a watch says YES exactly where the verdict from scratch holds,
    NEVER only where no finer recoding holds, whatever it was asked before and wherever the search moved;
    and the promise is as monotone as it claims. The same `seed` gives the same tables.

    >>> from fractions import Fraction
    >>> from sfumato.core.freeform.guard import FreeColumn
    >>> from sfumato.promises.freeform.definition import Freeform
    >>> secret = {"q0": FreeColumn(sensitive=("*",))}
    >>> check_table_promise(lambda table: Freeform(Fraction(1, 2), columns=secret), tables=5)
    """
    rng = np.random.default_rng(seed)
    kept = broken = 0
    for _ in range(tables):
        table = _table(rng)
        promise = make(table)
        _check_words(promise)
        names = [c.name for c in table.keys]
        every = list(product(*(list(every_cut(c.taxonomy)) for c in table.keys)))
        before = table.words.tobytes() + table.counts.tobytes()
        holds = [_verdict(promise, table, dict(zip(names, cuts, strict=True))) for cuts in every]
        _check_claims(promise, every, holds)
        _check_answers(promise, table, names, every, holds)
        for _ in range(steps):
            _check_walk(promise, table, names, dict(zip(every, holds, strict=True)), rng)
        require(table.words.tobytes() + table.counts.tobytes() == before, "it changes the table it is given")
        kept, broken = kept + sum(holds), broken + len(holds) - sum(holds)
    require(
        kept > 0, "no recoding of any table keeps the promise; choose parameters that small tables can keep"
    )
    require(broken > 0, "every recoding of every table keeps the promise; choose parameters that some break")


def _check_words(promise: TablePromise) -> None:
    require(
        isinstance(promise, TablePromise),
        "it is no table promise: derive it from sfumato.extend.TablePromise",
    )
    check_words(promise)


def _verdict(promise: TablePromise, table: Microdata, cuts: dict[str, Cut]) -> bool:
    verdict = promise.verdict_on(table, cuts)
    require(isinstance(verdict, Verdict), "verdict_on returns no Verdict")
    require(verdict.holds is not None, "with the table at hand a verdict must be decided")
    require(verdict == promise.verdict_on(table, cuts), "asked again, verdict_on answers differently")
    return bool(verdict.holds)


def _check_claims(promise: TablePromise, every: list[Chosen], holds: list[bool]) -> None:
    """Monotone: what holds still holds when it is generalized further."""
    if not promise.monotone:
        return
    for fine, keeps in zip(every, holds, strict=True):
        if keeps:
            coarser = (truth for cuts, truth in zip(every, holds, strict=True) if _finer(fine, cuts))
            require(
                all(coarser), "it claims to be monotone, but a recoding keeps it and a coarser one does not"
            )


def _check_answers(
    promise: TablePromise, table: Microdata, names: list[str], every: list[Chosen], holds: list[bool]
) -> None:
    for cuts, keeps in zip(every, holds, strict=True):
        answer, reason = promise.watch(table).ask(dict(zip(names, cuts, strict=True)))
        _check_answer(answer, reason, keeps)
        if answer is Answer.NEVER:
            finer = (truth for other, truth in zip(every, holds, strict=True) if _finer(other, cuts))
            require(not any(finer), "it says NEVER, and a finer recoding keeps the promise")


def _check_walk(
    promise: TablePromise,
    table: Microdata,
    names: list[str],
    truth: dict[Chosen, bool],
    rng: np.random.Generator,
) -> None:
    """A search that starts at the roots and takes random steps, those that are allowed."""
    here: Chosen = tuple(Cut.root(c.taxonomy) for c in table.keys)
    if not truth[here]:
        return
    watch = promise.watch(table)
    watch.accept(dict(zip(names, here, strict=True)))
    for j, node in _steps(here, rng):
        if node not in here[j].nodes:
            continue
        there = (*here[:j], here[j].specialize(node), *here[j + 1 :])
        answer, reason = watch.ask(dict(zip(names, there, strict=True)), (names[j], node))
        _check_answer(answer, reason, truth[there])
        if answer is Answer.NEVER:
            finer = (keeps for other, keeps in truth.items() if _finer(other, there))
            require(not any(finer), "on its way it says NEVER, and a finer recoding keeps the promise")
        if answer is Answer.YES and rng.random() < 0.8:
            watch.accept(dict(zip(names, there, strict=True)))
            here = there


def _check_answer(answer: Answer, reason: str, keeps: bool) -> None:
    require(isinstance(answer, Answer) and isinstance(reason, str), "ask returns an Answer and why")
    require((answer is Answer.YES) == keeps, "ask and verdict_on disagree on whether the promise holds")


def _steps(start: Chosen, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Every specialization of every column, parents before children, columns mixed."""
    steps = [
        (j, v) for j, cut in enumerate(start) for v in range(len(cut.taxonomy.labels)) if _parent(cut, v)
    ]
    order = np.argsort([v + 3 * float(rng.random()) for _, v in steps], kind="stable")
    yield from (steps[i] for i in order.tolist())


def _parent(cut: Cut, node: int) -> bool:
    return bool(cut.taxonomy.end[node] > node + 1)


def _finer(one: Chosen, other: Chosen) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _table(rng: np.random.Generator) -> Microdata:
    rows = int(rng.integers(1, 14))
    columns = [Column(f"q{j}", Role.QUASI, _tree(rng)) for j in range(int(rng.integers(1, 3)))]
    columns.append(Column("s", Role.SENSITIVE, Taxonomy.flat(["x", "y", "z"], ordered=True)))
    codes = [rng.integers(0, len(c.taxonomy.leaves), rows).astype(np.int32) for c in columns]
    return Microdata.of_codes(columns, codes)


def _tree(rng: np.random.Generator) -> Taxonomy:
    """At most seven nodes of any shape below the root."""
    size = int(rng.integers(2, 9))
    parent = [-1, *(int(rng.integers(ROOT, v)) for v in range(1, size))]
    return Taxonomy.grow(["*", *(f"v{i}" for i in range(1, size))], parent)
