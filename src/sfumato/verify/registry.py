"""Which promises have a second judge: the module `judge` of every model, and those of other packages.

A promise is known here by its policy key, its kind, and its data. One that has no second judge cannot be
published: `second_judge` is the door for new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData, BrokenPromise, UsageError
from sfumato.system.plugins import offers
from sfumato.system.verdict import Evidence, Measure, Verdict
from sfumato.verify.cells import greatest, over
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.tally import Tally

Judge = Callable[[Tally, PromiseData], Verdict]
"""Judges a promise, known by its data, on the counts of a published table."""

_judges: dict[tuple[str, str | None], Judge] = {}
_loaded: set[str] = set()
"""Packages of which every module has registered what it judges."""

MODELS = "sfumato.models"
"""Where the models are: a folder each, with what judges it in the module `judge`."""

GROUP = "sfumato.second_judges"
"""The entry-point group of modules that register second judges for promises of other packages."""


def second_judge(name: str, kind: str | None = None) -> Callable[[Judge], Judge]:
    """Registers the second judge of a promise; raises `UsageError` where it has another one already."""

    def offer(judge: Judge) -> Judge:
        if not str(judge.__module__).startswith(f"{MODELS}."):
            _load_own()  # nothing replaces what is built in
        there = _judges.get((name, kind), judge)
        if (there.__module__, there.__qualname__) != (judge.__module__, judge.__qualname__):
            raise UsageError(f"{name} has a second judge already", where=judge.__module__)
        _judges[name, kind] = judge
        return judge

    return offer


def judge_of(promise: PromiseData) -> Judge:
    """Returns the second judge of this promise; raises `BrokenPromise` where there is none."""
    _load_own()
    key = (promise.name, promise.kind)
    troubles = [] if key in _judges else _load_plugins()
    judge = _judges.get(key)
    if judge is None:
        raise BrokenPromise(
            "; ".join([f"no second judge for {promise.name}", *troubles]),
            remedy="Register one with sfumato.extend.second_judge.",
        )
    return judge


def _load_own() -> None:
    """Lets the module `judge` of every model register what it judges, in whichever threads ask first."""
    if MODELS in _loaded:
        return
    for folder in iter_modules(import_module(MODELS).__path__):
        if folder.ispkg:
            import_module(f"{MODELS}.{folder.name}.judge")
    _loaded.add(MODELS)


def _load_plugins() -> list[str]:
    """Lets other packages register their judges; returns what is wrong with those that fail."""
    troubles = []
    for offer in offers(GROUP):
        try:
            offer.load()
        except UsageError as trouble:
            troubles.append(trouble.message.rstrip("."))
    return troubles


def verdict(
    promise: PromiseData,
    tally: Tally,
    broken: NDArray[np.bool_],
    *,
    measured: Measure | None,
    limit: Measure,
    worst: int | None = None,
    reason: str = "",
) -> Verdict:
    """Returns the verdict on a promise about classes, of which some are `broken`.

    `worst` is the number of the class in which so much was measured.
    """
    return Verdict(
        promise=str(promise),
        holds=not broken.any(),
        measured=measured,
        limit=limit,
        worst=worst,
        people=int(tally.people[broken].sum(dtype=object)),
        classes=int(broken.sum()),
        evidence=promise.evidence,
        reason=reason if len(tally.people) else "nothing is published",
    )


def people_verdict(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has fewer than k people: what several promises ask among other things."""
    worst = int(tally.people.argmin()) if len(tally.people) else None
    smallest = None if worst is None else int(tally.people[worst])
    return verdict(promise, tally, tally.people < promise.k, measured=smallest, limit=promise.k, worst=worst)


def beyond_shares(
    tally: Tally, promise: PromiseData, most: Callable[[int], Fraction], expected: Callable[[int], Fraction]
) -> tuple[NDArray[np.bool_], int | None, Fraction | None]:
    """Returns where one of the promise's `values` has a larger share than `most` says of it, by its number.

    Shares are of the people of a class who have a value. Then the class in which a share exceeds what is
    `expected` of its value by most, and by how much.
    """
    spread = tally.spreads[promise.of]
    void = spread.meant[spread.value] < 0
    with_value = spread.by_meaning(missing=False)
    largest, without = np.zeros((2, len(tally.people)), dtype=np.int64)
    np.maximum.at(largest, with_value.owner, with_value.count)
    np.add.at(without, spread.owner[void], spread.count[void])
    known = np.maximum(tally.people - without, largest)
    broken = np.zeros(len(known), dtype=bool)
    excess = {0: Fraction(0)} if len(known) else {}
    for number in dict.fromkeys(spread.numbers_of(promise.values)):
        here = with_value.value == number + 1  # 0 stands for cells without a value
        owner, having = with_value.owner[here], with_value.count[here]
        broken[owner[over(having, known[owner], most(number))]] = True
        place, share = greatest(having, known[owner])
        if place is not None and share is not None and number >= 0:
            above = share - expected(number)
            excess = {int(owner[place]): above} if above > max(excess.values()) else excess
    worst = next(iter(excess), None)
    return broken, worst, None if worst is None else excess[worst]


# From counts to verdicts: each promise by its judge, and what the evidence at hand cannot decide.

NEEDS_ORIGINAL = "it compares with the original table: give its reference"
BY_ROWS = "judged on rows: there are at most as many people"
NO_PEOPLE = "counts people, and the person column is not in this file"
NO_ROWS = "there are no rows to judge"
LEVELS = "no text finer than the policy's levels"
DIGITS = "no digits beyond those that the policy publishes"
SPELLINGS = "one spelling of every value, as the policy says"
CONTROLS = "columns at the levels that the policy asks for"
NOT_FROM_THIS = "not decidable from this file"


def rule(tally: Tally, promise: PromiseData, *, by_rows: bool) -> Verdict:
    """Returns what a published table proves about one promise; `holds` is `None` where it cannot decide it.

    `by_rows` says that the promise counts people and the table does not tell who is who. Raises
    `BrokenPromise` where the promise has no second judge.
    """
    if obstacle := _obstacle(tally, promise):
        return undecided(promise, obstacle)
    judge = judge_of(promise)
    if promise.get("judged_on_labels"):
        try:
            return judge(tally, promise)
        except BadData as homeless:
            return undecided(promise, homeless.message)
    ruling = _on_people(tally, promise, judge(tally, promise))
    return on_rows(tally, promise, ruling) if by_rows else ruling


def _obstacle(tally: Tally, promise: PromiseData) -> str:
    """Returns why a table does not decide a promise, whatever it holds; nothing where it may."""
    if absent := [column for column in promise.columns if column not in tally.spreads]:
        return f"column {', '.join(absent)} is not in this file"
    if promise.evidence is Evidence.EARLIER:
        return NOT_FROM_THIS
    if unplaced := [column for column in promise.columns if tally.spreads[column].unplaced]:
        return f"values of {', '.join(unplaced)} are not in its taxonomy"
    return NEEDS_ORIGINAL if promise.get("needs_original") else ""


def rule_all(tally: Tally, *, by_rows: bool) -> tuple[Verdict, ...]:
    """Returns a verdict for every promise; one without a second judge stays undecided, and all on no rows.

    Texts that are finer or coarser than the policy's levels, have more digits or further spellings, break it
    as a promise would be: these verdicts come first.
    """
    if not len(tally.people):
        return tuple(undecided(promise, NO_ROWS) for promise in tally.policy.promises)
    return (
        _counted(LEVELS, "texts that are finer", tally.too_fine)
        + _too_coarse(tally)
        + _counted(DIGITS, "numbers that have more", tally.too_exact)
        + _counted(SPELLINGS, "further spellings", tally.spelled_again)
        + tuple(_or_undecided(tally, promise, by_rows=by_rows) for promise in tally.policy.promises)
    )


def _counted(demand: str, fault: str, counts: Mapping[str, int]) -> tuple[Verdict, ...]:
    """Returns that the policy is broken where some texts of a column are not as it asks."""
    faulty = {column: count for column, count in counts.items() if count}
    if not faulty:
        return ()
    return (Verdict(demand, False, sum(faulty.values()), 0, reason=f"{fault}: {_listed(faulty)}"),)


def _too_coarse(tally: Tally) -> tuple[Verdict, ...]:
    """Returns what the policy asks of levels beyond promises, where the table does not do it."""
    counts = {column: count for column, count in tally.too_coarse.items() if count}
    reasons = [f"texts that are coarser: {_listed(counts)}"] if counts else []
    reasons += [f"at different levels: {', '.join(group)}" for group in tally.apart]
    if not reasons:
        return ()
    measured = sum(counts.values()) + len(tally.apart)
    return (Verdict(CONTROLS, False, measured, 0, reason="; ".join(reasons)),)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {column}" for column, count in counts.items())


def on_rows(tally: Tally, promise: PromiseData, ruling: Verdict) -> Verdict:
    """Returns what rows prove where the promise counts people.

    A class has at least as many rows as people, so too few rows are too few people. Which values occur in a
    class does not depend on who holds them, so with too few of them the promise is broken. Nothing else
    follows: somebody may hold several of the values.
    """
    smallest = int(tally.rows.min(initial=promise.get("least_people") or 0))
    few_rows = smallest < (promise.get("least_people") or 0)
    few_values = any(
        _fewest(tally, column) < (promise.get("least_values") or 0) for column in promise.columns
    )
    if few_rows or few_values:
        return replace(ruling, holds=False, reason=BY_ROWS)
    return replace(ruling, holds=None, measured=None, worst=None, people=0, classes=0, reason=NO_PEOPLE)


def undecided(promise: PromiseData, reason: str) -> Verdict:
    """Returns the verdict on a promise that the evidence does not decide."""
    return Verdict(str(promise), None, None, 0, evidence=promise.evidence, reason=reason)


def _or_undecided(tally: Tally, promise: PromiseData, *, by_rows: bool) -> Verdict:
    try:
        return rule(tally, promise, by_rows=by_rows)
    except BrokenPromise as unjudged:
        return undecided(promise, unjudged.message)


def _on_people(tally: Tally, promise: PromiseData, ruling: Verdict) -> Verdict:
    """Returns a no where people have several values of a column: nobody of them is protected."""
    torn = {column: n for column in promise.columns if (n := tally.spreads[column].several)}
    if not torn:
        return ruling
    who = ", ".join(
        f"{n:,} {'person has' if n == 1 else 'people have'} several values of {column}"
        for column, n in torn.items()
    )
    reason = f"{who}, and it protects only who has one"
    return replace(ruling, holds=False, people=max(torn.values()), classes=0, reason=reason)


def _fewest(tally: Tally, column: str) -> int:
    """Returns the fewest different values of a column in any class; more than any number if there is none."""
    spread = tally.spreads[column].by_meaning(missing=False)
    value_counts = np.bincount(spread.owner, minlength=len(tally.people))
    return int(value_counts.min(initial=np.iinfo(np.int64).max))
