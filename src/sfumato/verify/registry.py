"""Which promises have a second judge: one file each in `judge/promises`, and those of other packages.

A promise is known here by its policy key, its kind, and its data. One that has no second judge cannot be
published: `second_judge` is the door for new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BrokenPromise, WrongCall
from sfumato.core.verdict import Measure, Verdict
from sfumato.judge import promises
from sfumato.judge.policy_data import PromiseData
from sfumato.judge.tables.tally import Tally
from sfumato.system.plugins import offers

Judge = Callable[[Tally, PromiseData], Verdict]
"""Judges a promise, known by its data, on the counts of a published table."""

_judges: dict[tuple[str, str | None], Judge] = {}
_loaded: set[str] = set()
"""Packages of which every module has registered what it judges."""

GROUP = "sfumato.second_judges"
"""The entry-point group of modules that register second judges for promises of other packages."""


def second_judge(name: str, kind: str | None = None) -> Callable[[Judge], Judge]:
    """Registers the second judge of a promise; raises `WrongCall` where it has another one already."""

    def offer(judge: Judge) -> Judge:
        if not str(judge.__module__).startswith(promises.__name__):
            _load_own()  # nothing replaces what is built in
        there = _judges.get((name, kind), judge)
        if (there.__module__, there.__qualname__) != (judge.__module__, judge.__qualname__):
            raise WrongCall(f"{name} has a second judge already", where=judge.__module__)
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
    """Lets every file of `judge/promises` register what it judges, in whichever threads ask first."""
    if promises.__name__ in _loaded:
        return
    for module in walk_packages(promises.__path__, f"{promises.__name__}."):
        import_module(module.name)
    _loaded.add(promises.__name__)


def _load_plugins() -> list[str]:
    """Lets other packages register their judges; returns what is wrong with those that fail."""
    troubles = []
    for offer in offers(GROUP):
        try:
            offer.load()
        except WrongCall as trouble:
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
