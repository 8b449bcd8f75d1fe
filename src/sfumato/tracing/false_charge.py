"""The chance that a charge is false: if recipients made the leak, and if somebody else did."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from sfumato.core.imprint import Imprint
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Microdata
from sfumato.show.card import several
from sfumato.tracing.chance import (
    LEAST_STATED,
    chance_in_original,
    chance_in_versions,
    chance_of_at_least,
    levels_of_one_pattern,
    rows_by_detail,
    upper_limit,
)
from sfumato.tracing.coalition import Explanations
from sfumato.tracing.evidence import LeakEvidence, MarkedTexts, RecipientKnowledge
from sfumato.tracing.guesses import GuessChance
from sfumato.tracing.leak import Flags

OUTSIDER_FACTOR = 2
"""An outsider's chance is stated so many times as large as the assumptions give it."""
MOST_PATTERNS = 100_000
"""Of more patterns than this so many are drawn."""
RECIPIENT_ASSUMPTIONS = (
    "the leak stems from versions that were handed out",
    "not more recipients worked together than were looked for",
    "nobody wrote finer values than they held, by guessing, or rows that they did not hold",
)
COLUMN_ASSUMPTION = (
    "every column that was read is one of our key columns whose values it holds, whatever its name"
)
OUTSIDER_ASSUMPTIONS = (
    "an unrelated table was written in our words: each of its rows fits a record of ours by accident, with"
    " the chance that the margins of our columns give, as if columns were independent",
    "its rows do not depend on each other",
    "its detail, if it may be the same in all rows, is any combination of levels with equal chance",
)


@dataclass(frozen=True)
class OutsiderChance:
    """The chance that an unrelated table would be charged like this, at most `probability`.

    Of `rows` different rows that could be read, `fitting` fit a record of ours (of the original, if that was
    given); a row of somebody else fits by accident with the chance `by_accident`, on average (1 where that is
    not known). `pattern` is the share of patterns that might charge somebody, 1 if the leak has several.
    Stated is the chance of so many fits times that share, and that twice. `as_coarse` is the share among the
    patterns that are as coarse as the leak: it is not part of what is stated, and often much larger.
    """

    probability: float
    rows: int
    fitting: int
    by_accident: float
    pattern: float
    as_coarse: float = 1.0
    assumptions: tuple[str, ...] = OUTSIDER_ASSUMPTIONS

    @classmethod
    def of(
        cls, fitting: int, tries: Sequence[tuple[int, float]], pattern: float, as_coarse: float = 1.0
    ) -> OutsiderChance:
        """Returns the chance for groups of rows, each as its size and the chance that one of its rows fits.

        >>> OutsiderChance.of(10, [(10, 0.5)], 0.1).probability
        0.001
        >>> round(OutsiderChance.of(2, [(3, 0.5)], 0.1).probability, 4)
        0.1
        """
        rows = sum(size for size, _ in tries)
        mean = sum(size * chance for size, chance in tries) / max(1, rows)
        chance = OUTSIDER_FACTOR * chance_of_at_least(fitting, tries) * pattern
        return cls(min(1.0, max(float(LEAST_STATED), chance)), rows, fitting, mean, pattern, as_coarse)


@dataclass(frozen=True)
class FalseCharge:
    """Chances that the charged have nothing to do with a leak; each holds under its own assumptions.

    `probability` is the one if recipients made it. By the definition of an explanation it is zero: the makers
    are one or contain one, and the charged are in all of them; what is stated is the least that ever is. It
    says nothing about a table that stems from no version at all: that chance is `outside`. `guessed` is the
    chance if other recipients made up what they did not hold: the largest for any of the charged.
    """

    outside: OutsiderChance
    guessed: GuessChance | None = None
    probability: float = float(LEAST_STATED)
    assumptions: tuple[str, ...] = RECIPIENT_ASSUMPTIONS

    def as_dict(self) -> JsonObject:
        outside = {**vars(self.outside), "assumptions": list(self.outside.assumptions)}
        return {
            "probability": self.probability,
            "assumptions": list(self.assumptions),
            "guessed": None if self.guessed is None else self.guessed.as_dict(),
            "outside": outside,
        }


def false_charge_of(
    evidence: LeakEvidence,
    found: Explanations,
    *,
    charged: Collection[str],
    guessed: GuessChance | None,
    imprints: Mapping[int, Imprint | None],
    original: Microdata | None = None,
) -> FalseCharge:
    """Returns the two chances of a charge; the versions of those who are charged are looked at first."""
    leak, issued = evidence.leak, evidence.knowledge.issued
    known = [(issued.versions[v], i) for v, i in imprints.items() if i is not None and v in evidence.held]
    known.sort(key=lambda pair: pair[0].recipient not in charged)
    levels = levels_of_one_pattern(leak)
    tries = []
    for rows in rows_by_detail(leak) if levels is None else [leak.legible]:
        if original is not None:
            chance = chance_in_original(leak, rows, original)
        else:
            chance = chance_in_versions(leak, rows, issued, known)
        tries.append((leak.different(rows), chance))
    single = any(len(chosen) == 1 for chosen in found.sets)
    shares = (1.0, 1.0) if levels is None else charging_shares(evidence, levels, single=single)
    outside = OutsiderChance.of(leak.different(evidence.ours), tries, *shares)
    return FalseCharge(outside, guessed, assumptions=(*RECIPIENT_ASSUMPTIONS, _about_columns(evidence)))


def _about_columns(evidence: LeakEvidence) -> str:
    """Returns the assumption about what the columns are, and how far it goes."""
    fixed = [name for name in evidence.leak.names if name in evidence.leak.fixed]
    if len(fixed) == len(evidence.leak.names):
        return f"every column is what the caller said: {', '.join(fixed)}"
    said = f", and each of {', '.join(fixed)} is what the caller said" if fixed else ""
    ways = len(evidence.readings)
    also = f" ({several(ways, 'other reading')} taken into account)" if ways else " (no other one fits)"
    return f"{COLUMN_ASSUMPTION}{'' if evidence.uncounted else also}{said}"


def charging_shares(evidence: LeakEvidence, levels: Sequence[int], *, single: bool) -> tuple[float, float]:
    """Returns upper bounds of the share of patterns that might charge somebody: of all, of equally high ones.

    A pattern is a combination of levels of the columns of the leak; `levels` gives the height. It might
    charge somebody alone if somebody knows some cells of each column, and no two know them all. With `single`
    false it is enough that anybody knows each column: a coalition might be charged.
    """
    columns = [_knowing_recipients(evidence, name) for name in evidence.leak.names]
    heights = [len(surely) for surely, _ in columns]
    total = prod(heights)
    if total <= MOST_PATTERNS:
        drawn = np.stack(np.unravel_index(np.arange(total), heights), axis=1)
    else:
        drawn = np.random.default_rng(1).integers(0, heights, (MOST_PATTERNS, len(heights)))
    recipients = len(evidence.knowledge.issued.recipients)
    knows_all = np.ones((len(drawn), recipients), dtype=bool)
    knows_some = np.ones((len(drawn), recipients), dtype=bool)
    possible = np.ones(len(drawn), dtype=bool)
    for j, (surely, perhaps) in enumerate(columns):
        knows_all &= surely[drawn[:, j]]
        knows_some &= perhaps[drawn[:, j]]
        possible &= np.logical_or.reduce(perhaps, axis=1)[drawn[:, j]]
    known = knows_some.any(axis=1) if single else possible
    might = known & (knows_all.sum(axis=1) <= 1)
    as_coarse = might[drawn.sum(axis=1) == sum(levels)]
    if total <= MOST_PATTERNS:
        return float(might.mean()), float(as_coarse.mean())
    return upper_limit(might), upper_limit(as_coarse)


def _knowing_recipients(evidence: LeakEvidence, name: str) -> tuple[Flags, Flags]:
    """Returns, per level of a column, who surely knows every cell that anybody knows, and who knows some.

    Texts are read as those of a leak are, so that some stand for a coarser level. Where content was looked
    at, a recipient surely knows a row only if each event gave them a version of the whole table: from others
    the row may be missing. Of several trees the last is taken.
    """
    issued = evidence.knowledge.issued
    tree = issued.columns[name][-1]
    holding = [np.ones(len(issued.versions), dtype=bool)]
    if evidence.held:
        events = dict.fromkeys(version.event for version in issued.versions)
        holding = [np.array([v.whole and v.event == event for v in issued.versions]) for event in events]
    surely, perhaps = [], []
    for level in range(tree.height + 1):
        knowledge = RecipientKnowledge(issued, MarkedTexts((name,), (tree.marks[tree.level_nodes(level)],)))
        _, sets = knowledge.columns[0]
        sets = sets[sets.any(axis=1)]
        perhaps.append(knowledge.recipients(sets).any(axis=0))
        known = [knowledge.recipients(sets & holds).all(axis=0) for holds in holding]
        surely.append(np.logical_and.reduce(known) & perhaps[-1])
    return np.array(surely), np.array(perhaps)
