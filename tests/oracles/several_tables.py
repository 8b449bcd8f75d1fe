"""Several tables about a few people, and what brute force says of those who put them together.

People are (leaf label, ..., s number, batch), as in `tiny_chains`. Table t holds the batches up to t + 1, or
everybody where all are of batch 1. Worlds are enumerated: all ways to give the values to the people (for
somebody with a register), and all ways to match the rows of two tables (for somebody without).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oracles import beliefs as plain
from oracles.labels_behind_terms import LABELS, TOGETHER, LabelsTogether, label_beliefs
from oracles.tiny_chains import S, all_worlds, imprint, on_one_path, shown, table
from sfumato.models.beta_likeness.promise import BasicBetaLikeness, EnhancedBetaLikeness
from sfumato.models.confidence.promise import AlphaKAnonymity, ConfidenceBounding
from sfumato.models.continuous.people import Pool
from sfumato.models.continuous.promise import Continuous
from sfumato.models.contract import Adversary, Promises, is_relative
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.table.cut import Cut
from sfumato.table.taxonomy import Taxonomy

HALF = Fraction(1, 2)
BELIEFS = (
    ConfidenceBounding("s", HALF),
    ConfidenceBounding("s", Fraction(2, 3)),
    AlphaKAnonymity("s", Fraction(2, 3), 2),
    EntropyLDiversity("s", Fraction(3, 2)),
    RecursiveLDiversity("s", 2, Fraction(2)),
    TCloseness("s", HALF),
    BasicBetaLikeness("s", Fraction(1)),
    EnhancedBetaLikeness("s", Fraction(2)),
)
COUNTS = (KAnonymity(2), KAnonymity(3), DistinctLDiversity("s", 2), DistinctLDiversity("s", 3))


@dataclass(frozen=True)
class Case:
    """People and the cuts of the tables they are in."""

    trees: list
    people: list
    cuts: list

    def label(self, person, t):
        """The class of somebody in table t; none before they came."""
        if person[-1] > t + 1:
            return None
        pairs = zip(self.trees, self.cuts[t], strict=True)
        return tuple(int(cut.node_of[tree.rank(person[j])]) for j, (tree, cut) in enumerate(pairs))

    @property
    def positions(self):
        """The class of everybody, table by table."""
        return [tuple(self.label(p, t) for t in range(len(self.cuts))) for p in self.people]

    def published(self, values):
        """What every table shows if the people have these values."""
        return [
            Counter((q[t], v) for q, v in zip(self.positions, values, strict=True) if q[t] is not None)
            for t in range(len(self.cuts))
        ]


def kept(promise, held, overall):
    """Whether a histogram, value -> weight, keeps a promise: by its written definition."""
    held = {v: Fraction(w) for v, w in held.items() if w}
    size, most = sum(held.values()), max(held.values())
    down = sorted(held.values(), reverse=True)
    found = None
    match promise:
        case KAnonymity():
            found = size >= promise.k
        case DistinctLDiversity():
            found = len(held) >= promise.l
        case ConfidenceBounding():
            found = most <= promise.confidence * size
        case AlphaKAnonymity():
            found = most <= promise.alpha * size
        case EntropyLDiversity():
            shares = [w / size for w in held.values()]
            found = -sum(float(s) * math.log(s) for s in shares) >= math.log(promise.l) - 1e-12
        case RecursiveLDiversity():
            found = len(down) >= promise.l and down[0] < promise.c * sum(down[int(promise.l) - 1 :])
        case TCloseness():
            whole = sum(overall.values())
            every = set(held) | set(overall)
            apart = sum(abs(held.get(v, Fraction(0)) / size - Fraction(overall[v], whole)) for v in every)
            found = apart / 2 <= promise.t
        case BasicBetaLikeness() | EnhancedBetaLikeness():
            found = alike({v: w / size for v, w in held.items()}, shares_of(overall), promise)
        case QuasiSensitiveDiversity():
            found = plain.diverse_beliefs(label_beliefs(held, promise).values(), promise.c, promise.l)
        case QuasiSensitiveCloseness():
            before, after = label_beliefs(overall, promise), label_beliefs(held, promise)
            far = plain.gap([after[label] - before[label] for label in after], promise.distance)
            found = far <= (promise.t**2 if promise.distance == "euclidean" else promise.t)
        case LabelsTogether():
            found = promise.kept(held, overall)
    return found


def shares_of(overall):
    whole = sum(overall.values())
    return {v: Fraction(n) / whole for v, n in overall.items() if n}


def alike(shares, overall, promise):
    """Whether no value gains more than β-likeness allows: by its written definition."""
    enhanced = isinstance(promise, EnhancedBetaLikeness)
    for value, share in shares.items():
        before = overall[value]
        gain = (share - before) / before
        if gain > promise.beta or (enhanced and gain > 0 and float(gain) > -math.log(before) + 1e-12):
            return False
    return True


def keeps_positions(case, promise, values):
    """Rule M in one world: every position keeps the promise, sizes and all."""
    overall = Counter(values)
    cells = {}
    for q, v in zip(case.positions, values, strict=True):
        cells.setdefault(q, Counter())[v] += 1
    large = all(sum(h.values()) >= promise.least_people for h in cells.values())
    return large and all(kept(promise, h, overall) for h in cells.values())


def assignments(case):
    """Every way to give everybody a value so that all tables come out as they were published."""
    true = [p[-2] for p in case.people]
    told = case.published(true)
    for values in set(itertools.permutations(true)):
        if case.published(values) == told:
            yield values


def register_beliefs(case, rule=None):
    """What somebody with a register believes of each person; `rule` is what they know of all worlds."""
    worlds = [w for w in assignments(case) if rule is None or rule(w)]
    return [Counter(w[i] for w in worlds) for i in range(len(case.people))]


def random_worlds(case, i, j):
    """Cell (class in i or none, class in j) -> value -> how many of them are expected there, rows matched at
    random."""
    shown = case.published([p[-2] for p in case.people])
    cells = {}
    for value in {v for _, v in shown[j]}:
        old = [q for (q, v), n in shown[i].items() if v == value for _ in range(n)]
        new = [q for (q, v), n in shown[j].items() if v == value for _ in range(n)]
        sums, count = Counter(), 0
        for chosen in itertools.permutations(range(len(new)), len(old)):
            if not all(on_one_path(case.trees, (q, new[c])) for q, c in zip(old, chosen, strict=True)):
                continue
            count += 1
            sums.update((q, new[c]) for q, c in zip(old, chosen, strict=True))
            sums.update((None, new[c]) for c in range(len(new)) if c not in chosen)
        for cell, n in sums.items():
            cells.setdefault(cell, {})[value] = Fraction(n, count)
    return cells


def brute_accepts(case, promise):
    """Rules M and P, from their definitions."""
    true = [p[-2] for p in case.people]
    if not keeps_positions(case, promise, true):
        return False
    if promise.by_size or promise.by_values:
        return True
    pairs = itertools.combinations(range(len(case.cuts)), 2)
    overall = Counter(true)
    return all(kept(promise, h, overall) for i, j in pairs for h in random_worlds(case, i, j).values())


def breaches(case, promise):
    """How many people are believed too much of in a family that was accepted by M and P, the rule being known
    to who has a register, and unknown to who has none."""
    overall = Counter(p[-2] for p in case.people)
    found = register_beliefs(case, lambda values: keeps_positions(case, promise, values))
    if promise.by_size:
        return 0
    broken = sum(not kept(promise, belief, overall) for belief in found)
    return broken + _broken_cells(case, promise)


def _broken_cells(case, promise):
    if promise.by_values:
        return 0
    overall = Counter(p[-2] for p in case.people)
    pairs = itertools.combinations(range(len(case.cuts)), 2)
    return sum(not kept(promise, h, overall) for i, j in pairs for h in random_worlds(case, i, j).values())


def looks_safe(case, promise):
    """Whether nobody who ignores the rule, with or without a register, believes too much of anybody."""
    overall = Counter(p[-2] for p in case.people)
    if not all(kept(promise, belief, overall) for belief in register_beliefs(case)):
        return False
    return not _broken_cells(case, promise)


def named(cuts):
    return {f"q{j}": cut for j, cut in enumerate(cuts)}


def accepts_family(case, promise, adversary=Adversary.REGISTER):
    """What the software says of versions of one table."""
    if isinstance(promise, LabelsTogether):
        return promise.accepts(table(case.trees, case.people), [named(c) for c in case.cuts])
    data = table(case.trees, case.people)
    bound = promise.given_original(data) if isinstance(promise, QuasiSensitiveCloseness) else promise
    pool = Pool(data, Promises((bound,)), adversary)
    return pool.keeps_all([named(c) for c in case.cuts])


def accepts_chain(case, promise):
    """What the software says of the newest release of a chain, beside the others."""
    earlier = [imprint(case.trees, case.people, cut, i + 1) for i, cut in enumerate(case.cuts[:-1])]
    k = promise.least_people if promise.by_size else 1
    continuous = Continuous(k, since="since", survivors=True, adversary=Adversary.REGISTER)
    bound = (Promises((promise,)) & continuous).given(earlier)
    data = table(case.trees, case.people)
    return bound.of_table[0].verdict_on(data, named(case.cuts[-1])).holds


def random_case(rng, *, chain, tables=2):
    """A few people of up to four kinds, each table with cuts of its own; batches where it is a chain."""
    trees = [Taxonomy.flat([f"q{j}v{i}" for i in range(int(rng.integers(2, 4)))]) for j in range(2)]
    size, values = int(rng.integers(3, 8)), int(rng.integers(2, 5))
    kinds = [
        (
            *(str(rng.choice(t.leaf_labels)) for t in trees),
            int(rng.integers(1, tables + 1)) if chain else 1,
        )
        for _ in range(int(rng.integers(1, 5)))
    ]
    chosen = [kinds[int(rng.integers(len(kinds)))] for _ in range(size)]
    people = [(*kind[:-1], int(rng.integers(values)), kind[-1]) for kind in chosen]
    cuts = [[Cut.leaves(t) if rng.random() < HALF else Cut.root(t) for t in trees] for _ in range(tables)]
    return Case(trees, people, cuts)


def even_case(rng, *, chain, tables=2):
    """One or two kinds of people, two to four of each, whose values are spread nearly evenly: what a promise
    about positions accepts more often than not."""
    drawn = random_case(rng, chain=chain, tables=tables)
    values = int(rng.integers(2, 5))
    kinds = list(dict.fromkeys((*p[:-2], p[-1]) for p in drawn.people))[: int(rng.integers(1, 3))]
    people = []
    for kind in kinds:
        first, size = int(rng.integers(values)), int(rng.integers(2, 5 if len(kinds) == 1 else 4))
        odd = int(rng.integers(4 * size))
        people += [(*kind[:-1], (first if i == odd else first + i) % values, kind[-1]) for i in range(size)]
    return Case(drawn.trees, people, drawn.cuts)


@dataclass
class Figures:
    """What a search came to."""

    tried: int = 0
    accepted: int = 0
    certified_breaches: int = 0
    wrong: int = 0
    refused_though_it_looks_safe: int = 0


def search(count, *, chain, promises, tables=2, seed=0):
    """So many random families or chains, half of them made to be accepted: accepted ones are attacked, and
    every answer is compared with M and P by their definitions."""
    rng, found = np.random.default_rng(seed), Figures()
    while found.tried < count:
        make = even_case if found.tried // len(promises) % 2 else random_case
        case = make(rng, chain=chain, tables=tables)
        promise = promises[found.tried % len(promises)]
        if chain and not case.label(min(case.people, key=lambda p: p[-1]), 0):
            continue  # nobody came with the first release
        found.tried += 1
        said = accepts_chain(case, promise) if chain else accepts_family(case, promise)
        found.wrong += said is not brute_accepts(case, promise)
        if said:
            found.accepted += 1
            found.certified_breaches += breaches(case, promise)
        elif not promise.by_size:
            found.refused_though_it_looks_safe += looks_safe(case, promise)
    return found


def search_one_target(count, *, tables=2, seed=0):
    """So many random families, judged against somebody who knows one target: every cell that some world has
    must keep k candidates, or l values; and what is refused must have one that does not."""
    rng, found = np.random.default_rng(seed), Figures()
    while found.tried < count:
        case = random_case(rng, chain=False, tables=tables)
        promise = COUNTS[found.tried % len(COUNTS)]
        found.tried += 1
        said = accepts_family(case, promise, Adversary.TARGET)
        safe = all(
            kept(promise, held, Counter())
            for size in range(2, tables + 1)
            for some in itertools.combinations(case.cuts, size)
            for held in largest_counts(Case(case.trees, case.people, list(some))).values()
        )
        found.accepted += said
        found.certified_breaches += said and not safe
        found.wrong += said != safe
        found.refused_though_it_looks_safe += safe and not said
    return found


def largest_counts(case):
    """Cell -> value -> how many people with it some world has there."""
    told = shown(case.trees, case.people, case.cuts)
    found = {}
    for value in {p[-2] for p in case.people}:
        kinds, worlds = all_worlds(case.trees, told, value)
        for kind in kinds:
            most = max((w.get(kind, 0) for w in worlds), default=0)
            if most and kind[0] == 0:
                found.setdefault(kind, {})[value] = most
    return found


FIXED = (*(p for p in BELIEFS if not is_relative(p)), *COUNTS)
"""Promises that a chain can keep: none compares with a whole table that grows."""

__all__ = ["BELIEFS", "COUNTS", "FIXED", "LABELS", "TOGETHER", "Case", "S", "search"]
