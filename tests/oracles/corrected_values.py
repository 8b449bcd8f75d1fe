"""Two releases of a table whose values may be corrected, and what the enumeration of worlds says of them.

A person is in one release or in both, and whoever is in both may have another value in the second, if their
place is the same. A world pairs rows of the two releases, each pair being one person; a row without a partner
is that of somebody who left or came. Every world gives the published counts; those that somebody takes for
possible also give the numbers they know.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np

from oracles.living_chains import LivingCase, random_case
from sfumato.chains.departures import LivingChain, fixed_columns
from sfumato.core.chain import ClassTable
from sfumato.core.imprint import Imprint
from sfumato.core.known_departures import KnownDepartures
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy

SAME, SHARED = "people whose value is the same", "people in both"
"""What may be known of two releases, of every component of comparable classes."""


@dataclass(frozen=True)
class CorrectedCase:
    """Two releases as (class, value) -> rows, which pairs of rows are known of whom, and what is allowed.

    `people` are (row of release 1 or None, row of release 2 or None).
    """

    plain: LivingCase
    people: list

    @property
    def shown(self):
        return [Counter(p[j] for p in self.people if p[j] is not None) for j in (0, 1)]

    def may_be_one(self, one, other):
        """Whether two rows can be one person's: nobody moves and is corrected at the same time."""
        fixed = LivingCase(self.plain.trees, [], self.plain.cuts)
        looks_at = self.plain if one[1] == other[1] else fixed
        return looks_at.join(one[0], other[0]) is not None

    def numbers(self, pairs, known):
        """What somebody knows of a world: pairs of rows -> how many people."""
        found = Counter()
        for (one, other), n in pairs.items():
            if known == SHARED or (known == SAME and one[1] == other[1]):
                found[self.plain.join(one[0], other[0])] += n
        return +found

    def worlds(self, known):
        """Every world that gives the counts, and the numbers that are known."""
        (first, second), truth = self.shown, Counter(p for p in self.people if None not in p)
        kinds = [p for p in itertools.product(first, second) if self.may_be_one(*p)]
        goal = self.numbers(truth, known)

        def fill(at, left, right):
            if at == len(kinds):
                yield {}
                return
            one, other = kinds[at]
            for n in range(min(left[one], right[other]) + 1):
                rest = fill(at + 1, left - Counter({one: n}), right - Counter({other: n}))
                yield from ({**some, kinds[at]: n} for some in rest)

        return [w for w in fill(0, first, second) if self.numbers(w, known) == goal]

    def exact(self, known=None):
        """Target -> candidates: classes of somebody in one release, in both unchanged, or corrected.

        Whoever was corrected is looked for among the rows of either release; the fewer candidates count.
        """
        most = Counter()
        for world in self.worlds(known):
            held = Counter()
            alone = [Counter(shown) for shown in self.shown]
            for (one, other), n in world.items():
                alone[0][one] -= n
                alone[1][other] -= n
                if one[1] == other[1]:
                    held["stayed", one[0], other[0], one[1]] += n
                else:
                    held["corrected from", one[0], other[0], one[1]] += n
                    held["corrected to", one[0], other[0], other[1]] += n
            for word, rows in zip(("left", "new"), alone, strict=True):
                held.update({(word, q, None, s): n for (q, s), n in rows.items()})
            for kind, n in held.items():
                most[kind] = max(most[kind], n)
        found = Counter()
        for (word, one, other, _), n in most.items():
            found[word, one, other] += n
        return {target: n for target, n in found.items() if n}

    def least(self, known=None, *, corrected=True):
        """The fewest candidates of anybody who can be: of those alone who were corrected, or of others."""
        found = self.exact(known)
        return min(
            (n for (word, *_), n in found.items() if word.startswith("corrected") == corrected), default=None
        )


def random_corrections(seed, *, keys=1, rows=5, values=3, moves=()):
    """A random tiny table of two releases in which some values are corrected."""
    rng = np.random.default_rng(seed)
    plain = random_case(seed, count=2, keys=keys, rows=rows, values=values, moves=moves)
    people = []
    for person in plain.people:
        rows_of = [(plain.label(person, j), person[-2]) if j in person[-1] else None for j in (0, 1)]
        if None not in rows_of and rng.integers(2):
            whole = LivingCase(plain.trees, [], plain.cuts)
            if whole.join(rows_of[0][0], rows_of[1][0]) is not None:
                rows_of[1] = (rows_of[1][0], int(rng.integers(values)))
        people.append(tuple(rows_of))
    return CorrectedCase(plain, people)


def corrected_chain(case, leavers):
    """The case as the chain that is judged; what two releases share are people whose value is the same."""
    plain = case.plain
    fixed = [c for c in range(len(plain.trees)) if c not in plain.moves]
    tables, classes = [], []
    for cuts, shown in zip(plain.cuts, case.shown, strict=True):
        order = sorted({q for q, _ in shown})
        entries = sorted((order.index(q), s, n) for (q, s), n in shown.items())
        owner, values, counts = (np.array([e[i] for e in entries]) for i in range(3))
        nodes = np.array(order, np.int32).reshape(len(order), len(plain.trees))
        node_of = tuple(cut.node_of for cut in cuts)
        whole = ClassTable(
            node_of, nodes, owner.astype(np.int32), values.astype(np.int32), counts.astype(np.int64)
        )
        tables.append(fixed_columns(whole, fixed))
        classes.append(order)
    same = case.numbers(Counter(p for p in case.people if None not in p), SAME)
    shared = {}
    if leavers is Leavers.TOTAL:
        shared[0, 1] = np.array([sum(same.values())], np.int64)
    if leavers is Leavers.COUNTED:
        shared[0, 1] = np.array([_of_component(case, q, same) for q in classes[1]], np.int64)
    return LivingChain(tuple(plain.trees[c] for c in fixed), tuple(tables), leavers, shared)


def _of_component(case, q, numbers):
    joins = {case.plain.join(p, q) for p, _ in case.shown[0]} - {None}
    return numbers[joins.pop()] if joins else 0


def corrected_imprints(case, leavers):
    """What is remembered of both releases."""
    chain, plain = corrected_chain(case, leavers), case.plain
    values = Taxonomy.flat([f"s{i}" for i in range(6)])
    columns = [Column(f"q{c}", Role.QUASI, t) for c, t in enumerate(plain.trees)]
    made = []
    for j, shown in enumerate(case.shown):
        rows = [(q, s) for (q, s), n in sorted(shown.items()) for _ in range(n)]
        leaves = [[int(t.low[q[c]]) for q, _ in rows] for c, t in enumerate(plain.trees)]
        codes = [np.array(some, np.int32) for some in (*leaves, [s for _, s in rows])]
        data = Microdata.of_codes([*columns, Column("s", Role.SENSITIVE, values)], codes)
        recoding = Recoding.of_cuts(data, {f"q{c}": cut for c, cut in enumerate(plain.cuts[j])})
        order = sorted({q for q, _ in shown})
        place = [order.index(tuple(nodes)) for nodes in Imprint.of(recoding, ["s"]).nodes.tolist()]
        known = [chain.shared[0, 1]] if j and chain.shared else []
        ordered = tuple(numbers if leavers is Leavers.TOTAL else numbers[place] for numbers in known)
        moves = tuple(f"q{c}" for c in plain.moves)
        said = KnownDepartures(leavers, ordered, returns=False, moves=moves, corrected=True)
        after = [imprint.digest for imprint in made]
        made.append(Imprint.of(recoding, ["s"], after=after, departures=said))
    return made
