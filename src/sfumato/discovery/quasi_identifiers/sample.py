"""Keys of very long tables from a sample of their rows, with a stated guarantee, then verified.

**Guarantee.** Take every row with probability ρ, each for itself. A key of the table is a key of every
sample. A set of columns under which more than a share ε of all pairs of rows look alike is *bad*; with
probability at least 1 - δ no bad set is a key of the sample.

*Proof.* Let the groups under a bad set have sizes g, so that the sum of g(g-1) exceeds εn(n-1). At most
one row of a group of size g is sampled with probability (1-ρ)^(g-1)·(1+(g-1)ρ) <= exp(-G(x)) with
x = ρ(g-1) and G(x) = x - ln(1+x) >= x²/(2(1+x)). Groups are sampled independently, so the set is a key
of the sample with probability at most exp(-Q/(2(1+√Q))), where Q is the sum of all x² (each x is at most
√Q). Since (g-1)² >= g(g-1)/2 for g >= 2, Q > y² with y = ρ·√(εn(n-1)/2), and the bound falls with Q.
There are fewer than 2^m bad sets, so it suffices that y²/(2(1+y)) >= L = m·ln 2 + ln(1/δ), which
y = L + √(L²+2L) meets with equality. The expected sample has about y·√(2/ε) rows, whatever n is. ∎
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading, Terms
from sfumato.discovery.quasi_identifiers.enumeration import minimal
from sfumato.discovery.quasi_identifiers.limits import Clock, Limits
from sfumato.discovery.quasi_identifiers.measures import Measures, measure
from sfumato.discovery.quasi_identifiers.question import QuasiIdentifierQuestion


@dataclass(frozen=True)
class SampledSet:
    """A minimal key of the sample, measured on all rows: is it a quasi-identifier of the table?"""

    columns: tuple[str, ...]
    holds: bool
    measures: Measures


@dataclass(frozen=True)
class SampledSets:
    """Minimal keys of a sample. `epsilon` and `delta` state the guarantee, `holds` what is true.

    Every key of the table contains one of the sets, if `complete`. Sets that hold are minimal keys, since no
    part of them is a key of the sample; `verified` says that all sets were measured on all rows before the
    deadline.
    """

    terms: Terms
    epsilon: float
    delta: float
    sampled: int
    sets: tuple[SampledSet, ...]
    complete: bool
    verified: bool
    reason: str = ""


def sampling_rate(rows: int, columns: int, *, epsilon: float, delta: float) -> float:
    """With which probability each row must be taken for the guarantee to hold.

    >>> round(6_000_000 * sampling_rate(6_000_000, 16, epsilon=1e-4, delta=0.01))
    4577
    """
    if not (0 < epsilon < 1 and 0 < delta < 1):
        raise WrongCall("epsilon and delta must lie between 0 and 1")
    if rows < 2:
        return 1.0
    weight = columns * log(2) + log(1 / delta)
    y = weight + sqrt(weight * weight + 2 * weight)
    return min(1.0, y * sqrt(2 / (epsilon * rows * (rows - 1))))


def minimal_by_sample(
    table: Coded,
    reading: Reading,
    *,
    epsilon: float,
    delta: float,
    seed: int,
    max_size: int | None = None,
    max_results: int | None = None,
    deadline: float | None = None,
    progress: Progress = silent,
    clock: Clock = time.monotonic,
) -> SampledSets:
    """Minimal keys of a random sample of the rows, each then measured on all rows."""
    if reading.k != 2 or reading.name not in ("all", "distinct"):
        raise WrongCall(
            "a sample of rows says nothing about the size of groups",
            remedy='Sampling is for keys: use k=2 with mode "all" or "distinct".',
        )
    rate = sampling_rate(table.rows, len(table.names), epsilon=epsilon, delta=delta)
    limits = Limits(max_results, deadline, clock)
    question = QuasiIdentifierQuestion.of(table, reading)
    if question.settled:
        sets = (SampledSet((), True, measure(question.table, (), k=2)),) if question.empty_set else ()
        return SampledSets(question.terms, epsilon, delta, table.rows, sets, True, True, question.reason)
    whole = question.table
    rows = np.flatnonzero(np.random.default_rng(seed).random(whole.rows) < rate)
    found = minimal(
        whole.take(rows),
        Reading.of(k=2, mode="distinct"),
        max_size=max_size,
        max_results=max_results,
        deadline=deadline,
        progress=progress,
        clock=clock,
    )
    candidates = found.sets if len(rows) else ((),)
    checked: list[SampledSet] = []
    for columns in candidates:
        if checked and limits.late:
            break
        measures = measure(whole, columns, k=2)
        checked.append(SampledSet(columns, measures.exposed == whole.rows, measures))
        progress("sets verified on all rows", len(checked), len(candidates))
    return SampledSets(
        question.terms,
        epsilon,
        delta,
        len(rows),
        tuple(checked),
        found.complete,
        len(checked) == len(candidates),
    )
