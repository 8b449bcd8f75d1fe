"""Leaks of Adult, made up by the thousand, and who is charged with them.

Recipients hold versions of about equal height, at k = 5 with up to 5 % of the rows suppressed: fifty an
antichain (no single one can make another's version), six a family of which no three can. The holder of the
original traces. A leak is a few rows of a version; they may be generalized further, mixed from several
versions, or put together row by row from everything that several recipients know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from benchmarks.chances import upper_limit
from numpy.typing import NDArray

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.leak import Leak
from sfumato.recipients.pattern_quality import quality_classes
from sfumato.recipients.patterns import Patterns, classify
from sfumato.recipients.trace import Trace, trace_leak
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
STATED = 10
"""The chance of a false charge is worked out for every tenth of them."""
CHANCES = (0.005, 0.01, 0.02, 0.05)
TRIALS = 100
"""Of everything else; twelve times as many where nobody leaked."""

Rows = NDArray[np.integer]
Row = dict[str, Any]
Levels = Sequence[int]


def nodes_of(table: Microdata, codes: Rows, levels: Levels) -> Rows:
    """What rows of leaf ranks become under a pattern."""
    columns = enumerate(zip(table.keys, levels, strict=True))
    return np.stack([c.taxonomy.levels[i][codes[:, j]] for j, (c, i) in columns], axis=1)


def issued_of(table: Microdata, held: Mapping[str, Levels]) -> IssuedVersions:
    """Versions of a table as a ledger tells of them."""
    names = tuple(c.name for c in table.keys)
    digests = tuple(c.taxonomy.digest for c in table.keys)
    versions = []
    for number, (who, levels) in enumerate(held.items(), 1):
        cuts = [Cut.level(c.taxonomy, i) for c, i in zip(table.keys, levels, strict=True)]
        nodes = tuple(tuple(cut.nodes.tolist()) for cut in cuts)
        versions.append(HeldVersion(who, who, "event", "main", number, False, names, digests, nodes))
    trees = {(c.name, c.taxonomy.digest): ReadingTree.of(c.name, c.taxonomy) for c in table.keys}
    return IssuedVersions(tuple(versions), trees)


def traced(table: Microdata, issued: IssuedVersions, nodes: Rows, max_coalition_size: int) -> Trace:
    """Whose a leak of these rows is, for somebody who has the original."""
    rows, counts = np.unique(nodes, axis=0, return_counts=True)
    texts, codes = [], []
    for j, column in enumerate(table.keys):
        here, which = np.unique(rows[:, j], return_inverse=True)
        texts.append(tuple(column.taxonomy.labels[v] for v in here.tolist()))
        codes.append(which.ravel().astype(np.int32))
    names = tuple(c.name for c in table.keys)
    leak = Leak(names, names, tuple(texts), tuple(codes), counts, issued.columns)
    return trace_leak(
        leak, issued, memory=lambda _: None, original=table, max_coalition_size=max_coalition_size
    )


@dataclass(frozen=True, eq=False)
class PatternAssignment:
    """What recipients hold: a pattern each. Coalitions of up to `max_coalition_size` are looked for."""

    patterns: Patterns
    chosen: Sequence[int]
    max_coalition_size: int

    @classmethod
    def of(
        cls, table: Microdata, *, frame_proof: int, recipients: int, max_coalition_size: int
    ) -> PatternAssignment:
        patterns = classify(table, Promises((KAnonymity(K),)), Aim(SUPPRESS))
        if frame_proof == 1:
            widest = max(quality_classes(patterns, "height"), key=len).members
            drawn = np.random.default_rng(1).choice(widest, recipients, replace=False)
        else:
            rule = RecipientRule(quality="height", frame_proof=frame_proof)
            drawn = AvailableVersions(patterns, rule, "height").family(Fraction(20, 100))[:recipients]
        return cls(patterns, np.sort(drawn).tolist(), max_coalition_size)

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
        return self.trace_nodes(nodes_of(self.table, rows, levels))

    def trace_nodes(self, nodes: Rows) -> Trace:
        return traced(self.table, self.issued, nodes, self.max_coalition_size)


def by_size(assignment: PatternAssignment, trials: int) -> Iterator[Row]:
    """One leaker, rows as they are."""
    rng, everything = np.random.default_rng(2), []
    for size in SIZES:
        found = [
            single_leaker(assignment, rng, size, raised=0, stated=i % STATED == 0) for i in range(trials)
        ]
        everything += found
        yield {"leak": f"rows: {size}", **_summed(found)}
    yield {"leak": "all of these", **_summed(everything)}


def by_generalization(assignment: PatternAssignment, trials: int) -> Iterator[Row]:
    """One leaker, 100 rows, some columns a level up."""
    rng = np.random.default_rng(3)
    for raised in range(6):
        found = [single_leaker(assignment, rng, 100, raised=raised) for _ in range(trials)]
        yield {"leak": f"columns raised: {raised}", **_summed(found)}


def by_colluders(assignment: PatternAssignment, trials: int) -> Iterator[Row]:
    """Two to five colluders, 100 rows: some rows of each, or every row from all that they know."""
    rng = np.random.default_rng(4)
    for way in ("mixed", "pooled"):
        for several in range(2, 6):
            found = [_collusion(assignment, rng, several, pooled=way == "pooled") for _ in range(trials)]
            yield {"leak": f"colluders: {several}, {way}", **_summed(found)}


def by_outsiders(assignment: PatternAssignment, trials: int) -> Iterator[Row]:
    """Nobody leaked: rows drawn column by column from the margins, at a pattern drawn from all.

    Then, what is stated beside what was seen: leaks that were charged at such a chance, or a smaller one.
    """
    rng, everything = np.random.default_rng(5), []
    for size in (1, 2, 5, 10, 100):
        found = []
        for _ in range(trials):
            picks = rng.integers(0, len(assignment.codes), (size, len(assignment.patterns.names)))
            rows = np.take_along_axis(assignment.codes, picks, axis=0)
            levels = assignment.patterns.levels(int(rng.integers(assignment.patterns.count)))
            found.append(Seen.of(assignment.trace(rows, levels), set()))
        everything += found
        yield {"leak": f"rows of nobody: {size}", **_summed(found)}
    yield {"leak": "all of these", **_summed(everything)}
    for chance in (*CHANCES, max((one.outside for one in everything if one.outside), default=1.0)):
        wrong = sum(one.outside is not None and one.outside <= chance for one in everything)
        limit = upper_limit(wrong, len(everything))
        yield {
            "leak": f"rows of nobody, stated {chance:.3f} or less",
            "leaks": len(everything),
            "innocent certain": wrong,
            "upper limit": limit,
            "outside at most": chance,
            "below": limit < chance,
        }


@dataclass(frozen=True)
class Seen:
    """What a trace came to, beside the truth."""

    guilty: int
    exact: bool
    known: int
    wrong: bool
    explained: bool
    alone: int
    ours: bool
    stated: float | None
    outside: float | None

    @classmethod
    def of(cls, found: Trace, guilty: set[str], *, stated: bool = True) -> Seen:
        certain = set(found.certain)
        charge = found.false_charge if stated else None
        return cls(
            guilty=len(guilty),
            exact=certain == guilty,
            known=len(certain & guilty),
            wrong=bool(certain - guilty),
            explained=any(set(e) <= guilty for e in found.explanations),
            alone=len(found.alone),
            ours=found.ours,
            stated=None if charge is None else charge.probability,
            outside=None if charge is None else charge.outside.probability,
        )


def single_leaker(
    assignment: PatternAssignment, rng: np.random.Generator, size: int, *, raised: int, stated: bool = True
) -> Seen:
    who = int(rng.integers(len(assignment.chosen)))
    rows = rng.choice(assignment.published[who], size, replace=False)
    levels = list(assignment.levels(who))
    free = [j for j, n in enumerate(assignment.patterns.shape) if levels[j] + 1 < n]
    for j in rng.permutation(free)[:raised].tolist():
        levels[j] += 1
    return Seen.of(assignment.trace(assignment.codes[rows], levels), {f"R{who}"}, stated=stated)


def _collusion(
    assignment: PatternAssignment, rng: np.random.Generator, several: int, *, pooled: bool
) -> Seen:
    who = rng.choice(len(assignment.chosen), several, replace=False).tolist()
    if pooled:
        common = assignment.published[who[0]]
        for other in who[1:]:
            common = np.intersect1d(common, assignment.published[other])
        rows = rng.choice(common, 100, replace=False)
        levels = np.min([assignment.levels(w) for w in who], axis=0).tolist()
        nodes = nodes_of(assignment.table, assignment.codes[rows], levels)
    else:
        parts = []
        for w, part in zip(who, np.array_split(np.arange(100), several), strict=True):
            rows = rng.choice(assignment.published[w], len(part), replace=False)
            parts.append(nodes_of(assignment.table, assignment.codes[rows], assignment.levels(w)))
        nodes = np.concatenate(parts)
    return Seen.of(assignment.trace_nodes(nodes), {f"R{w}" for w in who})


def _summed(found: Sequence[Seen]) -> Row:
    """Leaks taken together.

    `exactly`: the certain are those who leaked, all of them; `leakers certain`: the share of them who are;
    `innocent certain`: leaks with which somebody is charged who had no part, with its 99 % upper limit;
    `stated at most`: the chance of a false charge if recipients made it, `outside` if somebody else did;
    `explained`: some explanation is the leakers or a part of them; `alone`: how many could have made it by
    themselves, on average.
    """
    leaks, members = len(found), sum(one.guilty for one in found)
    wrong = sum(one.wrong for one in found)
    stated = [one.stated for one in found if one.stated is not None]
    outside = [one.outside for one in found if one.outside is not None]
    return {
        "leaks": leaks,
        "exactly": sum(one.exact for one in found) / leaks,
        "leakers certain": sum(one.known for one in found) / members if members else None,
        "innocent certain": wrong,
        "upper limit": upper_limit(wrong, leaks),
        "stated at most": max(stated, default=None),
        "outside at most": max(outside, default=None),
        "outside on average": float(np.mean(outside)) if outside else None,
        "explained": sum(one.explained for one in found) / leaks,
        "alone": sum(one.alone for one in found) / leaks,
        "ours": sum(one.ours for one in found) / leaks,
    }
