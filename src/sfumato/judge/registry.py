"""The second judge of every promise: plain numpy and fractions, written from the definitions alone.

A promise is known here by its policy key, its kind, and its fields. One that has no second judge cannot be
published: `second_judge` is the door for new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from math import exp, log
from pkgutil import iter_modules
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BrokenPromise, WrongCall
from sfumato.core.verdict import Measure, Verdict
from sfumato.judge import promises as judges_of_promises
from sfumato.judge.exact_numbers import greatest, over, sign_of_entropy_margin
from sfumato.judge.reader import Tally, ValueCounts
from sfumato.system.plugins import offers

Judge = Callable[[Tally, Any], Verdict]
"""Judges a promise, known by its fields, on a tally."""

_judges: dict[tuple[str, str | None], Judge] = {}
_loaded: list[str] = []
"""The modules of `judge/promises` that have registered what they judge."""

GROUP = "sfumato.second_judges"
"""The entry-point group of modules that register second judges for promises of other packages."""

UNSURE = 1e-9
"""Entropies nearer to log l than this are compared exactly."""


def second_judge(name: str, kind: str | None = None) -> Callable[[Judge], Judge]:
    """Register the second judge of a promise; raises `WrongCall` where it has another one already."""

    def offer(judge: Judge) -> Judge:
        there = _judges.get((name, kind), judge)
        if (there.__module__, there.__qualname__) != (judge.__module__, judge.__qualname__):
            raise WrongCall(f"{name} has a second judge already", where=judge.__module__)
        _judges[name, kind] = judge
        return judge

    return offer


def judge_of(promise: Any) -> Judge:
    """The second judge of this promise; without one nothing can be confirmed, so nothing is."""
    _load_own()
    key = (promise.name, getattr(promise, "kind", None))
    troubles = [] if key in _judges else _load_plugins()
    judge = _judges.get(key)
    if judge is None:
        raise BrokenPromise(
            "; ".join([f"no second judge for {promise.name}", *troubles]),
            remedy="Register one with sfumato.judge.registry.second_judge.",
        )
    return judge


def _load_own() -> None:
    """Let every file of `judge/promises` register what it judges, once."""
    if _loaded:
        return
    for module in iter_modules(judges_of_promises.__path__, f"{judges_of_promises.__name__}."):
        import_module(module.name)
        _loaded.append(module.name)


def _load_plugins() -> list[str]:
    """Let other packages register their judges; what is wrong with those that fail."""
    troubles = []
    for offer in offers(GROUP):
        try:
            offer.load()
        except WrongCall as trouble:
            troubles.append(trouble.message.rstrip("."))
    return troubles


def verdict(
    promise: object,
    tally: Tally,
    broken: NDArray[np.bool_],
    *,
    measured: Measure | None,
    limit: Measure,
) -> Verdict:
    """Put a judgement into words."""
    return Verdict(
        promise=str(promise),
        holds=not broken.any(),
        measured=measured,
        limit=limit,
        people=int(tally.people[broken].sum()),
        classes=int(broken.sum()),
        evidence=getattr(promise, "evidence"),  # noqa: B009  # any promise has it; here it is just an object
        reason="" if len(tally.people) else "nothing is published",
    )


@second_judge("k-anonymity")
def k_anonymity(tally: Tally, promise: Any) -> Verdict:
    """No class of fewer than k people."""
    smallest = int(tally.people.min()) if len(tally.people) else None
    return verdict(promise, tally, tally.people < promise.k, measured=smallest, limit=promise.k)


@second_judge("continuous")
def continuous(tally: Tally, promise: Any) -> Verdict:
    """The first release of a chain: no class of fewer than k people; a later one needs more than its file."""
    alone = k_anonymity(tally, promise)
    if not promise.earlier or alone.holds is False:
        return alone
    beside = f"not decidable from this file: {len(promise.earlier)} earlier releases count, too"
    return replace(alone, holds=None, measured=None, reason=beside)


@second_judge("l-diversity", "distinct")
def distinct_l_diversity(tally: Tally, promise: Any) -> Verdict:
    """No class with fewer than l values."""
    values = np.bincount(tally.spreads[promise.of].owner, minlength=len(tally.people))
    fewest = int(values.min()) if len(values) else None
    return verdict(promise, tally, values < promise.l, measured=fewest, limit=promise.l)


@second_judge("l-diversity", "entropy")
def entropy_l_diversity(tally: Tally, promise: Any) -> Verdict:
    """No class whose values have an entropy below log l."""
    spread, wanted = tally.spreads[promise.of], Fraction(promise.l)
    totals = np.bincount(spread.owner, weights=spread.count, minlength=len(tally.people))
    share = spread.count / totals[spread.owner]
    entropy = np.bincount(spread.owner, weights=-share * np.log(share), minlength=len(tally.people))
    broken = entropy < log(wanted)
    settled: dict[tuple[int, ...], bool] = {}
    for place in np.flatnonzero(abs(entropy - log(wanted)) <= UNSURE).tolist():
        counts = tuple(sorted(_counts_of(spread, place)))
        if counts not in settled:
            settled[counts] = sign_of_entropy_margin(counts, wanted) < 0
        broken[place] = settled[counts]
    lowest = exp(entropy.min()) if len(entropy) else None
    return verdict(promise, tally, broken, measured=lowest, limit=wanted)


@second_judge("l-diversity", "recursive")
def recursive_l_diversity(tally: Tally, promise: Any) -> Verdict:
    """No class with r1 >= c * (rl + ... + rm), the counts of its values in falling order."""
    spread, classes = tally.spreads[promise.of], len(tally.people)
    order = np.lexsort((-spread.count, spread.owner))
    owner, count = spread.owner[order], spread.count[order]
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    most, rest = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
    most[owner[place == 0]] = count[place == 0]
    late = place >= promise.l - 1
    np.add.at(rest, owner[late], count[late])
    poor = rest == 0
    broken = poor.copy()
    broken[~poor] |= ~over(rest[~poor], most[~poor], 1 / Fraction(promise.c))
    measured = None if poor.any() else greatest(most, rest)
    return verdict(promise, tally, broken, measured=measured, limit=Fraction(promise.c))


@second_judge("confidence-bounding")
def confidence_bounding(tally: Tally, promise: Any) -> Verdict:
    """No class where one value has more than this share."""
    most, everybody = _most_and_all(tally.spreads[promise.of], len(tally.people))
    limit = Fraction(promise.confidence)
    return verdict(
        promise, tally, over(most, everybody, limit), measured=greatest(most, everybody), limit=limit
    )


@second_judge("alpha-k-anonymity")
def alpha_k_anonymity(tally: Tally, promise: Any) -> Verdict:
    """No class of fewer than k people, and none where one value has more than the share alpha."""
    most, everybody = _most_and_all(tally.spreads[promise.of], len(tally.people))
    limit = Fraction(promise.alpha)
    broken = over(most, everybody, limit) | (tally.people < promise.k)
    return verdict(promise, tally, broken, measured=greatest(most, everybody), limit=limit)


def _most_and_all(spread: ValueCounts, classes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The count of the commonest value of every class, and of all its values."""
    most, everybody = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    np.maximum.at(most, spread.owner, spread.count)
    np.add.at(everybody, spread.owner, spread.count)
    return most, everybody


def _counts_of(spread: ValueCounts, place: int) -> Iterable[int]:
    start, stop = np.searchsorted(spread.owner, (place, place + 1))
    return map(int, spread.count[start:stop])
