"""People who are withheld beside earlier releases, so that one exposed row does not cost a whole column.

Whom to withhold is guessed: a descent in which a step is allowed if it keeps the promises without a few
people ends at some cuts, and these people are its guess. Then the policy's own search runs on the table
without them, with every promise, as if they had never been in it. Of what was found with nobody withheld,
with few, and with as many as the policy allows, the least loss is taken; a withheld row counts as suppressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.companion_choice import CompanionChoice
from sfumato.core.cut import Cut
from sfumato.core.errors import Infeasible, RefusedByHistory, SfumatoError
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Cuts, Promises, TablePromise
from sfumato.core.recoding import classes_under
from sfumato.core.verdict import Verdict
from sfumato.core.watch import Answer, Watch
from sfumato.protection.searches.search import Aim, Outcome, Search
from sfumato.protection.searches.top_down import specialize
from sfumato.show.card import several

Truths = NDArray[np.bool_]

FEWER = 4
"""Smaller limits are tried, too: one person, and so many times as many until the limit is reached."""


def set_apart(table: Microdata, promises: Promises) -> Microdata:
    """Returns the table with those withheld who were withheld from earlier releases and stay so."""
    for promise in promises:
        table = promise.set_apart(table)
    return table


def withheld_lines(people: int) -> tuple[str, ...]:
    """Returns what a plan says of people who are withheld, if there are any."""
    if not people:
        return ()
    some = several(people, "of them is a person", "of them are people")
    return (f"{some} withheld so that others are safe beside earlier releases",)


def companion_search(search: Search) -> Search:
    """Returns the same search, which may withhold people where a promise about earlier releases allows it.

    Nothing is proved where it may: whom to withhold is guessed. Where nothing can be published, the refusal
    says how many people would have to be withheld, if that is known.
    """

    def found(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
        best, refused = None, None
        try:
            best = search(table, promises, aim, progress=progress)
        except (Infeasible, RefusedByHistory) as reason:
            refused = reason
        most = min((p.companions for p in promises if p.looks_back), default=0)
        for rows in _guesses(table, promises, aim, most) if most and table.keys else ():
            outcome = _without(search, table.withholding(rows), promises, aim, progress)
            if outcome is not None and (best is None or outcome.loss < best.loss):
                best = outcome
        if best is not None:
            return replace(best, optimal=False, bound=None) if most else best
        raise _with_number(refused, table, promises, most) if refused is not None else _nothing()

    return found


def _nothing() -> Infeasible:
    return Infeasible("nothing is left to publish", remedy="Ask for less.")


def _without(
    search: Search, table: Microdata, promises: Promises, aim: Aim, progress: Progress
) -> Outcome | None:
    """Returns what the search finds in a table without those who are withheld, at what it then loses."""
    try:
        outcome = search(table, promises, aim, progress=progress)
    except (Infeasible, RefusedByHistory):
        return None
    return replace(outcome, loss=aim.loss_of(outcome.recoding, outcome.levels))


def _guesses(table: Microdata, promises: Promises, aim: Aim, most: int) -> list[Truths]:
    """Returns sets of rows to withhold, each of at most so many people."""
    known = _choice(table, promises)
    if known is None:
        return []
    limits, few = [], 1
    while few < most:
        limits.append(few)
        few *= FEWER
    found: dict[bytes, Truths] = {}
    for limit in [*limits, most]:
        relaxed = WithheldPromise(known, limit, Promises(promises.of_class))
        try:
            cuts = specialize(table, Promises((relaxed,)), aim).recoding.cuts
        except Infeasible:
            continue
        rows = None if cuts is None else known.rows(cuts, limit)
        if rows is not None and rows.any():
            found.setdefault(np.packbits(rows).tobytes(), rows)
    return list(found.values())


def _choice(table: Microdata, promises: Promises) -> CompanionChoice | None:
    """Returns who says whom to withhold; `None` where nobody can, or two promises would have to agree."""
    looking = [p for p in promises if p.looks_back]
    return looking[0].companion_choice(table) if len(looking) == 1 else None


def _with_number(refused: SfumatoError, table: Microdata, promises: Promises, most: int) -> SfumatoError:
    """Returns a refusal that also says how many people to withhold, where that helps at the roots."""
    try:
        known = _choice(table, promises) if table.keys else None
        cuts = {c.name: Cut.coarsest(c.taxonomy) for c in table.keys}
        rows = None if known is None else known.rows(cuts, table.rows - 1)
    except SfumatoError:
        rows = None
    needed = 0 if rows is None else int(table.counts[rows].sum())
    if needed <= most:
        return refused
    people = several(needed, "person is", "people are")
    remedy = f"{refused.remedy} Or let people be withheld: it is enough if {people} (companions: {needed})."
    return type(refused)(refused.message, remedy=remedy.strip(), where=refused.where, values=refused.values)


class WithheldPromise(TablePromise):
    """What a descent is held to that guesses whom to withhold: a recoding holds if few people mend it."""

    name: ClassVar[str] = "withheld"
    monotone: ClassVar[bool] = False
    hereditary: ClassVar[bool] = False

    def __init__(self, known: CompanionChoice, most: int, others: Promises) -> None:
        self.known, self.most, self.others = known, most, others

    def watch(self, table: Microdata) -> Watch:
        return WithheldWatch(table, self)

    def holds_under(self, table: Microdata, cuts: Mapping[str, Cut]) -> bool:
        """Whether, without the people who are then withheld, the promises about classes hold."""
        rows = self.known.rows(cuts, self.most)
        if rows is None:
            return False
        less = table.withholding(rows)
        class_of, _ = classes_under(less, cuts)
        classes = Classes.of(less, class_of, sensitive=self.others.sensitive)
        return bool(self.others.holds_on(classes).all())

    def verdict_on(self, table: Microdata, cuts: Cuts) -> Verdict:
        return Verdict(self.name, self.holds_under(table, cuts), None, self.most)

    def __str__(self) -> str:
        return f"{self.name}, at most {self.most}"


class WithheldWatch(Watch):
    """Follows a descent; nothing is remembered from step to step."""

    def __init__(self, table: Microdata, promise: WithheldPromise) -> None:
        self._table, self._promise = table, promise

    def ask(self, cuts: Mapping[str, Cut], step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        del step
        if self._promise.holds_under(self._table, cuts):
            return Answer.YES, ""
        return Answer.LATER, f"more than {self._promise.most} people would have to be withheld"

    def accept(self, cuts: Mapping[str, Cut]) -> None:
        """Nothing is remembered."""
