"""The promise `continuous` on a table that people leave: a search, judged beside all earlier releases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.chains.corrections import corrected_candidates
from sfumato.chains.departures import fixed_columns
from sfumato.chains.presence import LivingHistory
from sfumato.chains.presence_cells import MOST_RETURN_RELEASES, PlacedRows, PresenceCells, PresenceTargets
from sfumato.chains.presence_equations import PresenceDecision, decide_targets
from sfumato.chains.survivors import surviving_histograms
from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.errors import HeldBack, RefusedByHistory
from sfumato.core.leavers import Leavers
from sfumato.core.promise import Cuts
from sfumato.core.verdict import Evidence, Verdict
from sfumato.core.watch import Answer, Watch
from sfumato.kernels.chains.overlaps import NO_OVERLAP
from sfumato.show.card import several

Survive = Callable[[Classes], bool]
"""Whether the candidates that remain keep every promise about them."""


@dataclass(frozen=True)
class KeptCandidates:
    """The fewest candidates of anybody who can be, and of anybody who is; NO_OVERLAP where nobody is.

    `narrowest` are the releases that the target with the fewest candidates is in, counted from 0.
    """

    least: int
    real: int
    narrowest: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class LeaversRule:
    """What is asked of a release beside earlier ones that people have left: k candidates for everybody.

    `survive` is asked of what remains for everybody, where the promise asks others, too.
    """

    history: LivingHistory
    k: int
    survive: Survive | None = None
    hold: bool = False

    def __post_init__(self) -> None:
        terms, count = self.history.terms, len(self.history.releases)
        if terms.corrected and count > 1:
            raise RefusedByHistory(
                "beside two earlier releases it is not known how to judge corrected values",
                remedy="Start a new chain with the people who were never published.",
            )
        if terms.returns and count >= MOST_RETURN_RELEASES:
            raise RefusedByHistory(
                f"with returns only {MOST_RETURN_RELEASES} releases of a chain are judged together",
                remedy="Start a new chain with the people who were never published.",
            )
        if self.survive is not None and not self.exact:
            raise RefusedByHistory(
                "what survives beside two earlier releases is bounded, not known, where departures are",
                remedy="Leave survivors out; chains with `leavers: unknown` can have it.",
            )

    @property
    def exact(self) -> bool:
        """Whether formulas alone decide."""
        return len(self.history.releases) < 2 or self.history.terms.leavers is Leavers.UNKNOWN

    @property
    def earlier(self) -> PresenceTargets:
        return self.history.targets

    def targets(self, cuts: Cuts) -> tuple[PresenceTargets, PlacedRows | None]:
        """The targets of the chain with the release under these cuts, and where everybody is."""
        release, class_of = self.history.released(cuts)
        now, shared = (
            fixed_columns(release, self.history.fixed),
            self.history.shared_with(release, class_of),
        )
        return self.earlier.followed_by(now, shared), self.history.placed(class_of)

    def judged_presences(self, targets: PresenceTargets) -> Sequence[tuple[int, ...]]:
        """The presences that the newest release tells something of.

        Where departures are unknown it tells nothing of people who are not in it; they were judged before.
        """
        newest = len(targets.chain) - 1
        every = targets.chain.presences
        if self.history.terms.leavers is Leavers.UNKNOWN:
            return [presence for presence in every if presence[-1] == newest]
        return every

    def candidates(self, cuts: Cuts, *, all_of_them: bool = False) -> KeptCandidates:
        """The fewest candidates beside the earlier releases; by a bound, where formulas are not exact."""
        targets, rows = self.targets(cuts)
        presences = targets.chain.presences if all_of_them else self.judged_presences(targets)
        least, real = NO_OVERLAP, NO_OVERLAP
        narrowest: tuple[int, ...] = ()
        for cells in targets.all_cells(rows, only=presences):
            left = cells.candidates[cells.candidates > 0]
            if len(left) and int(left.min()) < least:
                least, narrowest = int(left.min()), cells.presence
            if rows is not None and cells.presence[-1] == len(targets.chain) - 1 and len(cells.inside):
                real = min(real, int(cells.candidates[cells.inside].min()))
            if self.survive is not None and not self._survives(cells):
                least, narrowest = 0, cells.presence
        if self.history.terms.corrected and len(targets.chain) == 2:
            fewest = corrected_candidates(targets.chain)
            least, narrowest = (fewest, (0, 1)) if fewest < least else (least, narrowest)
        return KeptCandidates(least, real, narrowest)

    def decide(self, cuts: Cuts) -> PresenceDecision:
        """Whether everybody keeps k candidates, exactly or not at all."""
        targets, _ = self.targets(cuts)
        return decide_targets(targets, self.k)

    def refuse_hopeless(self) -> None:
        """Raises where somebody keeps too few candidates with every column at its root: they always will.

        Also where the earlier releases alone leave somebody fewer than k.
        """
        if not self.history.releases:
            return
        before = decide_targets(self.earlier, self.k)
        if before.holds is not True:
            unsure = "it cannot be decided whether the earlier releases together leave everybody"
            known = "the earlier releases together leave somebody fewer than"
            raise RefusedByHistory(
                f"{unsure if before.holds is None else known} {self.k} candidates",
                remedy="Promise a smaller k, or start a new chain with people who were never published.",
            )
        keys = self.history.table.keys
        kept = self.candidates({c.name: Cut.root(c.taxonomy) for c in keys})
        if kept.real >= self.k:
            return
        new = int(self.history.table.counts[~np.any(self.history.present, axis=0)].sum())
        now = len(self.history.releases)
        error = HeldBack if self.hold and kept.narrowest == (now,) else RefusedByHistory
        raise error(
            f"{who_is_in(kept.narrowest, now)} would keep {several(kept.real, 'candidate')} of"
            f" {self.k}, however coarse the release is; {several(new, 'person is', 'people are')} new",
            remedy="Wait until more people have come and left, or start a new chain with people who were"
            " never published.",
        )

    def verdict(self, cuts: Cuts, sentence: str) -> Verdict:
        """The release under these cuts, judged from scratch; the number is a bound where it is not exact."""
        kept = self.candidates(cuts, all_of_them=True)
        least = None if kept.least == NO_OVERLAP else kept.least
        holds: bool | None = kept.least >= self.k
        reason = f"beside {several(len(self.history.releases), 'earlier release')}"
        if not self.exact:
            holds = self.decide(cuts).holds
            reason += f"; at least {self.k} is decided exactly, the number is a bound"
            if holds is None:
                reason = "some targets are too large to decide exactly"
        return Verdict(sentence, holds, least, self.k, evidence=Evidence.EARLIER, reason=reason)

    def _survives(self, cells: PresenceCells) -> bool:
        assert self.survive is not None  # noqa: S101  # asked by the caller
        table = cells.table
        there, owner = np.unique(table.owner, return_inverse=True)
        left = surviving_histograms(self.history, owner, table.values, table.counts, len(there))
        return self.survive(left)


def leavers_watch(rule: LeaversRule) -> Watch:
    """Returns the watch of a search; raises where no release at all can follow."""
    rule.refuse_hopeless()
    return LeaversWatch(rule)


class LeaversWatch(Watch):
    """Follows a search; every proposal is judged from the counts of all releases."""

    def __init__(self, rule: LeaversRule) -> None:
        self.rule = rule
        self._exactly = False
        self._answers: int | None = None

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        k = self.rule.k
        kept = self.rule.candidates(cuts)
        if kept.real < k:
            return Answer.NEVER, f"somebody would keep fewer than {k} candidates beside earlier releases"
        if self._exactly:
            if self._answers == 0:
                return Answer.LATER, f"it cannot be decided whether everybody keeps {k} candidates"
            self._answers = None if self._answers is None else self._answers - 1
            if self.rule.decide(cuts).holds is not True:
                return Answer.LATER, f"it is not proved that everybody keeps {k} candidates"
            return Answer.YES, ""
        if kept.least < k:
            needed = self._needed(cuts) if step is None else ""
            return Answer.LATER, f"{self._who(kept)} would keep fewer than {k} candidates{needed}"
        return Answer.YES, ""

    def _needed(self, cuts: Cuts) -> str:
        """How many more people have to leave or come first, where that is known."""
        targets, _ = self.rule.targets(cuts)
        if len(targets.chain) != 2 or targets.chain.leavers is Leavers.UNKNOWN:
            return ""
        needed = targets.people_lacking(self.rule.k)
        people = several(needed, "more person has", "more people have")
        return f": at least {people} to leave or come first" if needed else ""

    def _who(self, kept: KeptCandidates) -> str:
        return who_is_in(kept.narrowest, len(self.rule.history.releases))

    def accept(self, cuts: Cuts) -> None:
        """Nothing is remembered from step to step."""

    def settle(self, cuts: Cuts) -> bool:
        """Whether everybody keeps k candidates under these cuts, for certain."""
        return self.rule.exact or self.rule.decide(cuts).holds is True

    def deliberate(self, most: int | None = None) -> None:
        """Answer by the exact program from now on, at most so many times."""
        self._exactly, self._answers = not self.rule.exact, most
        keys = self.rule.history.table.keys
        root = self.rule.decide({c.name: Cut.root(c.taxonomy) for c in keys}) if self._exactly else None
        if root is not None and root.holds is not True:
            known = f"a release that follows leaves somebody {several(root.least or 0, 'candidate')}"
            unsure = "it can be neither proved nor refuted that a release leaves everybody enough candidates"
            raise RefusedByHistory(
                f"{known if root.holds is False else unsure}, with every column at its root;"
                f" {self.rule.k} are asked",
                remedy="Wait until more people have come and left, or start a new chain with people who were"
                " never published. Chains with `leavers: unknown` are decided by formulas.",
            )


def who_is_in(presence: Sequence[int], now: int) -> str:
    """Names people by the releases they are in; `now` is the number of the newest, counted from 0.

    >>> who_is_in((0,), 1), who_is_in((1,), 1), who_is_in((0, 1), 1)
    ('somebody who has left', 'somebody who is new', 'somebody who has stayed')
    """
    if not presence or presence[-1] != now:
        return "somebody who has left"
    if len(presence) == 1:
        return "somebody who is new"
    whole = tuple(range(presence[0], now + 1)) == tuple(presence)
    return "somebody who has stayed" if whole else "somebody who has come back"
