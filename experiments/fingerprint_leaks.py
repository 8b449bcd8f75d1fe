"""Leaks of Adult, made up by the thousand, and who could have made them without guessing.

Recipients hold versions of about equal height, at k = 5 with up to 5 % of the rows suppressed: fifty an
antichain (no single one can make another's version), six a family of which no three can. A leak is a few rows
of a version, and may be generalized further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.leak import Leak
from sfumato.recipients.pattern_quality import quality_classes
from sfumato.recipients.patterns import Patterns, classify
from sfumato.recipients.trace import Trace
from sfumato.recipients.trace_patterns import trace_leak
from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.recipients.versions import AvailableVersions
from sfumato.search.contract import Aim
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import ReadingTree

K, SUPPRESS = 5, Fraction(5, 100)
SIZES = (1, 10, 100, 1_000)
LEAKS = 2_500
"""Per size; 10,000 together."""
TRIALS = 100
"""Of everything else."""

Rows = NDArray[np.integer]
Row = dict[str, Any]
Levels = Sequence[int]


def nodes_of(table: Microdata, codes: Rows, levels: Levels) -> Rows:
    """What rows of leaf ranks become under a pattern."""
    columns = enumerate(zip(table.keys, levels, strict=True))
    return np.stack([c.taxonomy.levels[i][codes[:, j]] for j, (c, i) in columns], axis=1)


def issued_of(table: Microdata, held: Mapping[Any, Levels]) -> IssuedVersions:
    """Versions of a table as a ledger tells of them."""
    names = tuple(c.name for c in table.keys)
    digests = tuple(c.taxonomy.digest for c in table.keys)
    versions = []
    for who, levels in held.items():
        cuts = [Cut.level(c.taxonomy, i) for c, i in zip(table.keys, levels, strict=True)]
        nodes = tuple(tuple(cut.nodes.tolist()) for cut in cuts)
        versions.append(HeldVersion(str(who), str(who), "event", False, names, digests, nodes))
    trees = {(c.name, c.taxonomy.digest): ReadingTree.of(c.name, c.taxonomy) for c in table.keys}
    return IssuedVersions(tuple(versions), trees)


def traced(table: Microdata, issued: IssuedVersions, nodes: Rows) -> Trace:
    """Whose a leak of these rows is."""
    rows, counts = np.unique(nodes, axis=0, return_counts=True)
    texts, codes = [], []
    for j, column in enumerate(table.keys):
        here, which = np.unique(rows[:, j], return_inverse=True)
        texts.append(tuple(column.taxonomy.labels[v] for v in here.tolist()))
        codes.append(which.ravel().astype(np.int32))
    names = tuple(c.name for c in table.keys)
    leak = Leak(names, names, tuple(texts), tuple(codes), counts, issued.columns)
    return trace_leak(leak, issued, memory=lambda _: None)


@dataclass(frozen=True, eq=False)
class PatternAssignment:
    """What recipients hold: a pattern each."""

    patterns: Patterns
    chosen: Sequence[int]

    @classmethod
    def of(cls, table: Microdata, *, frame_proof: int, recipients: int) -> PatternAssignment:
        patterns = classify(table, Promises((KAnonymity(K),)), Aim(SUPPRESS))
        if frame_proof == 1:
            widest = max(quality_classes(patterns, "height"), key=len).members
            drawn = np.random.default_rng(1).choice(widest, recipients, replace=False)
        else:
            rule = RecipientRule(quality="height", frame_proof=frame_proof)
            drawn = AvailableVersions(patterns, rule, "height").family(Fraction(20, 100))[:recipients]
        return cls(patterns, np.sort(drawn).tolist())

    @property
    def table(self) -> Microdata:
        return self.patterns.table

    @cached_property
    def codes(self) -> Rows:
        """The leaf ranks of every row, one line each."""
        lines = [np.repeat(self.table.codes(c.name), self.table.counts) for c in self.table.keys]
        return np.stack(lines, axis=1)

    @cached_property
    def published(self) -> list[NDArray[np.intp]]:
        """The rows that each version shows."""
        found = []
        for index in self.chosen:
            nodes = nodes_of(self.table, self.codes, self.patterns.levels(index))
            _, which, counts = np.unique(nodes, axis=0, return_inverse=True, return_counts=True)
            found.append(np.flatnonzero(counts[which.ravel()] >= K))
        return found

    def levels(self, who: int) -> tuple[int, ...]:
        return self.patterns.levels(self.chosen[who])

    @cached_property
    def issued(self) -> IssuedVersions:
        return issued_of(self.table, {f"R{who}": self.levels(who) for who in range(len(self.chosen))})

    def trace(self, rows: Rows, levels: Levels) -> Trace:
        return traced(self.table, self.issued, nodes_of(self.table, rows, levels))


def by_size(assignment: PatternAssignment, trials: int) -> Iterator[Row]:
    """One leaker, rows as they are."""
    rng = np.random.default_rng(2)
    for size in SIZES:
        named = [names_its_source(assignment, rng, size, raised=0) for _ in range(trials)]
        yield {"leak": f"rows: {size}", "leaks": trials, "names its source alone": sum(named) / trials}


def by_generalization(assignment: PatternAssignment, trials: int) -> Iterator[Row]:
    """One leaker, 100 rows, some columns a level up."""
    rng = np.random.default_rng(3)
    for raised in range(6):
        named = [names_its_source(assignment, rng, 100, raised=raised) for _ in range(trials)]
        yield {
            "leak": f"columns raised: {raised}",
            "leaks": trials,
            "names its source alone": sum(named) / trials,
        }


def names_its_source(
    assignment: PatternAssignment, rng: np.random.Generator, size: int, *, raised: int
) -> bool:
    """Whether nobody but its source could have made a leak without guessing."""
    who = int(rng.integers(len(assignment.chosen)))
    rows = rng.choice(assignment.published[who], size, replace=False)
    levels = list(assignment.levels(who))
    free = [j for j, n in enumerate(assignment.patterns.shape) if levels[j] + 1 < n]
    for j in rng.permutation(free)[:raised].tolist():
        levels[j] += 1
    return assignment.trace(assignment.codes[rows], levels).alone == (f"R{who}",)
