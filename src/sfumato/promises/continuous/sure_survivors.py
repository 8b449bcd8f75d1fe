"""What survives beside three or more releases, for certain.

The refined bound may leave somebody values that no world has. What is asked of surviving histograms is then
asked of those of worlds, or not known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.chains.history import History, release_under
from sfumato.chains.overlap import Overlap
from sfumato.chains.survivors import surviving_histograms
from sfumato.chains.worlds import StepBudget, Worlds
from sfumato.core.chain import ClassTable
from sfumato.core.classes import Classes
from sfumato.core.promise import Cuts
from sfumato.core.watch import Answer, Watch
from sfumato.promises.continuous.watch import Continuity

Survive = Callable[[Classes], bool]
"""Whether the candidates that remain keep every promise about them."""


def all_survive(history: History, overlap: Overlap, survive: Survive) -> bool | None:
    """Whether the candidates of every target of a chain keep what is asked of them; `None`: not known."""
    releases: list[ClassTable] | None
    if len(overlap.chain) > 2:
        releases = Worlds(overlap).tables(StepBudget())
    else:
        releases = [cells.table for cells in overlap.kept()]
    if releases is None:
        return None
    for release in releases:
        there, owner = np.unique(release.owner, return_inverse=True)
        if not survive(surviving_histograms(history, owner, release.values, release.counts, len(there))):
            return False
    return True


class SurelySurviving(Watch):
    """A watch over three or more releases that asks worlds what survives, where it is to answer exactly."""

    def __init__(self, watch: Continuity, survive: Survive) -> None:
        self._watch = watch
        self._survive = survive
        self._exactly = False

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        answer, why = self._watch.ask(cuts, step)
        if self._exactly and answer is Answer.YES and not self._keeps(cuts):
            return Answer.LATER, "what remains for somebody is not known to keep the other promises"
        return answer, why

    def accept(self, cuts: Cuts) -> None:
        self._watch.accept(cuts)

    def settle(self, cuts: Cuts) -> bool:
        return self._watch.settle(cuts) and self._keeps(cuts)

    def deliberate(self, most: int | None = None) -> None:
        self._exactly = True
        self._watch.deliberate(most)

    def _keeps(self, cuts: Cuts) -> bool:
        history = self._watch.history
        overlap = Overlap(history.chain_with(release_under(history, cuts)))
        return all_survive(history, overlap, self._survive) is True
