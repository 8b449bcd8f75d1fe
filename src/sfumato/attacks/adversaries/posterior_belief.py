"""The posterior belief of two tables: how likely a value is, if all ways to match rows are equally likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.chain import count_published, read_chain
from sfumato.models.attack_contract import (
    SEVERAL_RELEASES,
    Criterion,
    HeldReleases,
    PublishedTable,
    format_people,
    register,
    worst_first,
)
from sfumato.models.continuous.chain import Chain, ClassTable, match_blocks
from sfumato.policy.policy import Policy
from sfumato.system.errors import UsageError
from sfumato.system.verdict import CERTAINTY, EVENNESS, PROMISED, SHIFT, AttackLimits, Finding
from sfumato.table.keyed_hashes import matching, numbered_together
from sfumato.table.microdata import Codes, Counts, Microdata, Role
from sfumato.table.release_summary import Imprint
from sfumato.table.source import AnyTable, open_source
from sfumato.table.spelling import Spelling, meanings

MOST_PAIRS = 20_000_000
"""So many pairs of entries that two tables share are looked at; more are too many."""

MOST_PAIRS_OF_TABLES = 300

NEAR = 1e-9
"""Measures nearer to what is allowed than this are no breach, unless fractions say so."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellBeliefs:
    """What somebody believes in every cell of two tables: `weight[e]` for the value `value[e]` of a column.

    `total` are all weights of a cell, `most` the people who can be in it at most.
    """

    cell: NDArray[np.int64]
    value: NDArray[np.int64]
    weight: Floats
    total: Floats
    most: Counts

    @property
    def share(self) -> Floats:
        return self.weight / self.total[self.cell]


@register
@dataclass(frozen=True)
class PosteriorBelief:
    """Of two tables about the same people, whoever knows somebody's key values knows both of their classes.

    Of n people with a matching value in a component that the classes share, a are in the one class and b in
    the other: if all ways to match rows are equally likely, a b / n of them are in both. The belief that
    somebody has a value is its share among these. It is a breach where it exceeds what the promises allow of
    a class; what nobody promised of several tables is told, and is none.

    Silent on: three tables at a time, and adversaries who know how many people are in a cell.
    """

    releases: tuple[Imprint, ...] = ()
    table: Microdata | None = None
    columns: Mapping[str, Spelling] = field(default_factory=dict)
    promised: bool = True

    name: ClassVar[str] = "posterior-belief"
    knows: ClassVar[str] = "two tables that somebody is in, and that person's key columns"
    seeks: ClassVar[str] = "the person's sensitive value"
    needs: ClassVar[str] = f"{SEVERAL_RELEASES} (as tables, since imprints do not tell values)"
    succeeds: ClassVar[str] = "both tables together make a value likelier than is promised"
    criterion: ClassVar[Criterion] = Criterion.LINKABILITY
    threatens: ClassVar[tuple[str, ...]] = (
        "confidence-bounding",
        "alpha-k-anonymity",
        "l-diversity",
        "t-closeness",
        "continuous",
    )

    @classmethod
    def holding(cls, evidence: HeldReleases) -> PosteriorBelief:
        """Returns the attack of somebody who holds these releases, of which nothing is promised together."""
        return cls(evidence.releases, evidence.table, evidence.sought, promised=False)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        if len(self.releases) < 2 or self.table is None:
            return []
        chain = Chain.of(self.releases)
        pairs = list(combinations(range(len(chain)), 2))[-MOST_PAIRS_OF_TABLES:]
        sought = [name for name in self.releases[-1].unchanged if name in self.columns]
        return [self._seek(chain, pairs, name, limits) for name in sought]

    def _seek(
        self, chain: Chain, pairs: Sequence[tuple[int, int]], column: str, limits: AttackLimits
    ) -> Finding:
        codes, overall = self._values(column)
        best, where, people, shifted, even, pairs_tried = Fraction(0), pairs[0], 0, 0.0, np.inf, 0
        allowed = {m: limits.limit(m, column) for m in (CERTAINTY, SHIFT, EVENNESS)}
        for i, j in pairs:
            beliefs = _beliefs(chain, chain.releases[i], chain.releases[j], codes)
            if not len(beliefs.total):
                continue
            pairs_tried += 1
            share, likely = self._largest(chain, (i, j), codes, beliefs)
            best, where = (share, (i, j)) if share > best else (best, where)
            over = likely > float(allowed[CERTAINTY][0]) + NEAR
            away, values = _shift(beliefs, overall), _effective(beliefs)
            over |= (away > float(allowed[SHIFT][0]) + NEAR) & (allowed[SHIFT][1] == PROMISED)
            over |= (values < float(allowed[EVENNESS][0]) - NEAR) & (allowed[EVENNESS][1] == PROMISED)
            people = max(people, int(beliefs.most[over].sum()))
            shifted, even = max(shifted, float(away.max())), min(even, float(values.min()))
        certain = allowed[CERTAINTY]
        breach = self.promised and (people > 0 or (best > certain[0] and certain[1] == PROMISED))
        tables = f"releases {where[0] + 1} and {where[1] + 1}"
        where_few = f"; more than allowed for up to {format_people(people)}" if people else ""
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{column} believed with {best} at best, by {tables} together{where_few}",
            confidence=best,
            people=people,
            breach=breach,
            columns=(*chain.names, column),
            details={
                "best guess": best,
                "chance allowed": certain[0],
                "distance": f"{shifted:.4g}",
                "equally likely values": f"{even:.4g}",
                "pairs of tables": pairs_tried,
            },
            not_tried=self._left_out(len(chain)),
        )

    @staticmethod
    def _left_out(tables: int) -> str:
        """Returns which tables are never put together here, of so many."""
        if tables < 3:
            return ""
        older = comb(tables, 2) - MOST_PAIRS_OF_TABLES
        pairs = f", and {older:,} older pairs" if older > 0 else ""
        return f"three tables or more put together{pairs}; correspondence counts candidates in all of them"

    def _values(self, column: str) -> tuple[Codes, Floats]:
        """Returns the value of the column for every matching value of the chain, and the shares of all.

        Spellings of one value are one, and so are all missing cells.
        """
        if self.table is None:
            raise UsageError("the table whose values are sought is missing")
        marks = matching(self.table, self.releases[0].unchanged)
        numbers, count = numbered_together([marks.marks, *(r.values for r in self.releases)])
        alone, distinct = numbered_together([r.values for r in self.releases])
        of_chain = np.full(count, -1, np.int64)
        for both, own in zip(numbers[1:], alone, strict=True):
            of_chain[both] = own
        codes = np.full(max(1, distinct), -1, np.int64)
        place = of_chain[numbers[0]]
        code = np.zeros(len(marks.marks), np.int64)
        labels = self.table.column(column).taxonomy.leaf_labels
        meant = meanings(labels, self.columns[column]).astype(np.int64)
        known_as = np.where(meant < 0, len(labels), meant)[self.table.codes(column)]
        code[marks.ids] = known_as
        codes[place[place >= 0]] = code[place >= 0]
        overall = np.bincount(known_as, weights=self.table.counts)
        return codes.astype(np.int32), overall / max(1.0, float(overall.sum()))

    def _largest(
        self, chain: Chain, pair: tuple[int, int], codes: Codes, beliefs: CellBeliefs
    ) -> tuple[Fraction, Floats]:
        """Returns the largest share of a value in any cell, exactly, and that of every cell, rounded."""
        likely = np.zeros(len(beliefs.total))
        np.maximum.at(likely, beliefs.cell, beliefs.share)
        cell = int(likely.argmax())
        earlier, later = (chain.releases[t] for t in pair)
        weight_of: dict[int, Fraction] = {}
        entries = _pair_entries(chain, earlier, later)
        for e in np.flatnonzero(entries[0] == cell).tolist():
            code = int(codes[entries[1][e]])
            amount = Fraction(int(entries[2][e]) * int(entries[3][e]), int(entries[4][e]))
            weight_of[code] = weight_of.get(code, Fraction(0)) + amount
        return max(weight_of.values()) / sum(weight_of.values(), Fraction(0)), likely


def posterior_belief(tables: Sequence[AnyTable], policy: Policy) -> list[Finding]:
    """Returns what tables, put together two by two, make likely: one finding per sensitive column.

    Each table holds everybody of those before it; the last one tells which values there are.
    """
    if len(tables) < 2:
        raise UsageError("one table alone is nothing to compare", remedy="Give two or more, oldest first.")
    releases = read_chain(tables, policy)
    table = count_published(open_source(tables[-1], expected=policy.form_of_data), releases[-1])
    attack = PosteriorBelief(tuple(releases), table, sought_columns(policy))
    nothing: PublishedTable = None  # type: ignore[assignment]  # the tables are in the attack
    return list(worst_first(attack.strike(nothing, policy.promises.limits)))


def sought_columns(policy: Policy) -> dict[str, Spelling]:
    """Returns the sensitive columns, and how their values are told apart."""
    return {n: rule.spelling for n, rule in policy.columns.items() if rule.role is Role.SENSITIVE}


def _pair_entries(
    chain: Chain, earlier: ClassTable, later: ClassTable
) -> tuple[NDArray[np.int64], Codes, Counts, Counts, Counts]:
    """Returns cell, matching value, both counts and the count of the block, of all that two tables share."""
    blocks = match_blocks(chain.trees, earlier, later)
    newer = blocks.surplus(earlier, later)
    total = np.zeros(blocks.count, np.int64)
    np.add.at(total, blocks.other, later.counts)
    fresh = np.flatnonzero(newer[blocks.other] > 0)
    by_block = np.argsort(blocks.one, kind="stable")
    begin = np.searchsorted(blocks.one[by_block], np.arange(blocks.count + 1))
    lengths = np.diff(begin)[blocks.other]
    if int(lengths.sum()) > MOST_PAIRS:
        raise UsageError(f"two tables share more than {MOST_PAIRS:,} cells", remedy="Look at smaller tables.")
    right = np.repeat(np.arange(len(later.owner)), lengths)
    ahead = np.repeat(begin[blocks.other] - (np.cumsum(lengths) - lengths), lengths)
    left = by_block[ahead + np.arange(len(right))]
    width = np.int64(len(earlier) + 1)
    cells = np.concatenate(
        [later.owner[right] * width + earlier.owner[left], later.owner[fresh] * width + len(earlier)]
    )
    _, cell = np.unique(cells, return_inverse=True)
    second = np.concatenate([right, fresh])
    first = np.concatenate([earlier.counts[left], newer[blocks.other[fresh]]])
    return (
        cell.ravel().astype(np.int64),
        later.values[second],
        first,
        later.counts[second],
        total[blocks.other[second]],
    )


def _beliefs(chain: Chain, earlier: ClassTable, later: ClassTable, codes: Codes) -> CellBeliefs:
    cell, value, first, second, total = _pair_entries(chain, earlier, later)
    code = codes[value].astype(np.int64)
    if np.any(code < 0):  # the table at hand is older than these releases
        nothing = np.zeros(0, np.int64)
        return CellBeliefs(nothing, nothing, np.zeros(0), np.zeros(0), nothing)
    weight = first.astype(np.float64) * second / total
    width = int(code.max(initial=0)) + 1
    distinct, which = np.unique(cell * width + code, return_inverse=True)
    sums = np.zeros(len(distinct))
    np.add.at(sums, which.ravel(), weight)
    count = int(cell.max(initial=-1)) + 1
    whole, most = np.zeros(count), np.zeros(count, np.int64)
    np.add.at(whole, cell, weight)
    np.add.at(most, cell, np.minimum(first, second))
    return CellBeliefs(distinct // width, distinct % width, sums, whole, most)


def _shift(beliefs: CellBeliefs, overall: Floats) -> Floats:
    """Returns half the sum of absolute differences from the whole table, per cell."""
    prior = overall[beliefs.value]
    apart, covered = np.zeros(len(beliefs.total)), np.zeros(len(beliefs.total))
    np.add.at(apart, beliefs.cell, abs(beliefs.share - prior))
    np.add.at(covered, beliefs.cell, prior)
    return (apart + (1 - covered)) / 2


def _effective(beliefs: CellBeliefs) -> Floats:
    """Returns e to the entropy of the belief, per cell: as many equally likely values leave as much doubt."""
    sums = np.zeros(len(beliefs.total))
    np.add.at(sums, beliefs.cell, -beliefs.share * np.log(beliefs.share))
    return np.exp(sums)
