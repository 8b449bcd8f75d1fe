"""A column of term sets in phase two: its rows, its limit, and the answers so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.recoding import Recoding
from sfumato.protection.term_removal.one_class import ClassSolution, TermLimit, Terms
from sfumato.protection.term_removal.term_rows import TermRows

Numbers = NDArray[np.int64]


@dataclass
class TermColumn:
    """One column of term sets, its limit, and the answers so far, by class."""

    sets: TermRows
    limit: TermLimit
    answers: dict[int, ClassSolution] = field(default_factory=dict)

    def classes(self, recoding: Recoding, gone: Mapping[int, Terms]) -> Classes:
        """Returns the classes when these terms are gone."""
        if gone:
            recoding = replace(recoding, rewritten=self.sets.rewritten(gone))
        return recoding.classes(recoding.class_of, self.limit.promises.sensitive)

    def judged(self, recoding: Recoding, gone: Mapping[int, Terms]) -> NDArray[np.bool_]:
        """Flags the classes that keep the promises when these terms are gone, exactly."""
        return self.limit.holds_on(self.classes(recoding, gone))

    def rows_of(self, recoding: Recoding, chosen: Numbers) -> dict[int, list[Terms]]:
        """Returns the term sets of some classes."""
        members = self.sets.members(recoding)
        terms, code = self.sets.terms, self.sets.code
        return {int(c): [terms[code[row]] for row in members[c].tolist()] for c in chosen.tolist()}

    def gone(self, recoding: Recoding) -> dict[int, Terms]:
        """Returns the terms that the answers remove, by row."""
        removed: dict[int, Terms] = {}
        members = self.sets.members(recoding)
        for c, answer in self.answers.items():
            for row, kept in zip(members[c].tolist(), answer.kept, strict=True):
                all_terms = self.sets.terms[self.sets.code[row]]
                if len(kept) < len(all_terms):
                    removed[row] = tuple(t for t in all_terms if t not in set(kept))
        return removed
