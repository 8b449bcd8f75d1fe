"""The same terms removed in every version: chosen once, for what all versions say together.

Versions show the same rows at different levels. Whoever puts them together knows, of every row, the finest of
these levels: its *position*. Terms are removed until every position keeps what is promised, so that every
version, and all of them together, keep it, too: beliefs of a union are a mean, and the promises are convex
(rule M). Which versions there may be is decided without the promises about terms, from the table and the
policy alone: who comes later gets a version of the same shortened table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.protection.patterns.patterns import classify
from sfumato.protection.plan import aim_of
from sfumato.protection.recipients.assignment import AvailableVersions
from sfumato.protection.term_removal.phase import suppress_terms
from sfumato.protection.term_removal.report import TermReport
from sfumato.protection.two_phases import key_promises, limits_of


def same_terms_removed(
    table: Microdata, policy: Policy, *, progress: Progress = silent
) -> tuple[Recoding, TermReport] | None:
    """Returns the table as it is, without terms that no version may show, and what became of its terms.

    The promises of the policy must know what they take from the original table. `None` where no version keeps
    the other promises. Raises `Infeasible` where no removal helps.
    """
    others = Promises(tuple(p for p in key_promises(policy.promises) if not p.looks_back))
    patterns = classify(table, others, aim_of(policy), progress=progress)
    if not patterns.allowed.any():
        return None
    rule = policy.recipients or RecipientRule()
    family = AvailableVersions(patterns, rule, rule.quality or policy.protect.loss).family()
    finest = np.min([patterns.levels(int(index)) for index in family], axis=0)
    positions = Recoding.of_cuts(table, patterns.cuts(patterns.index(finest.tolist())))
    shortened, report = suppress_terms(
        positions, limits_of(policy.promises), policy.protect.terms, progress=progress
    )
    unchanged = {column.name: Cut.leaves(column.taxonomy) for column in table.keys}
    return replace(Recoding.of_cuts(table, unchanged), rewritten=shortened.rewritten), report
