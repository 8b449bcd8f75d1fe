"""Tiny chains of a table that people leave and return to, and what the enumeration of worlds says of them.

A person is (leaf label, ..., s number, presence), where presence is the set of releases (from 0) that hold
their row. A world is a multiset of such people that gives every published count and, where the adversary
knows how many people any two releases share, these numbers, too.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sfumato.chains.departures import LivingChain, fixed_columns
from sfumato.chains.presence_cells import PresenceTargets
from sfumato.core.chain import ClassTable
from sfumato.core.cut import Cut
from sfumato.core.imprint import Imprint
from sfumato.core.known_departures import KnownDepartures
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy
from strategies import all_cuts

COUNTED, TOTAL, UNKNOWN = "counted", "total", "unknown"


@dataclass(frozen=True)
class LivingCase:
    """People, the cuts of the releases they were in, and which key columns may change (`moves`).

    With moves, a person's labels are one tuple per release instead of one for all.
    """

    trees: list
    people: list
    cuts: list
    moves: tuple[int, ...] = ()
    returns: bool = False
    kinds: dict = field(default_factory=dict)

    @property
    def count(self):
        return len(self.cuts)

    def label(self, person, j):
        """The class of somebody in release j."""
        labels = person[0][j] if self.moves else person[:-2]
        pairs = zip(self.trees, self.cuts[j], labels, strict=True)
        return tuple(int(cut.node_of[tree.rank(label)]) for tree, cut, label in pairs)

    @cached_property
    def shown(self):
        """Per release the published counts: (class, s) -> rows."""
        return [
            Counter((self.label(p, j), p[-2]) for p in self.people if j in p[-1]) for j in range(self.count)
        ]

    def join(self, q, p):
        """The component of two classes of two releases; `None` if nobody can be in both."""
        found = []
        for c, tree in enumerate(self.trees):
            if c in self.moves:
                continue
            if tree.covers(q[c], p[c]):
                found.append(q[c])
            elif tree.covers(p[c], q[c]):
                found.append(p[c])
            else:
                return None
        return tuple(found)

    @property
    def presences(self):
        """The sets of releases that somebody may be in."""
        every = range(self.count)
        if self.returns:
            return [p for n in every for p in itertools.combinations(every, n + 1)]
        return [tuple(range(a, b + 1)) for a in every for b in range(a, self.count)]

    def on_one_path(self, presence, classes):
        pairs = itertools.combinations(zip(presence, classes, strict=True), 2)
        return all(self.join(q, p) is not None for (i, q), (j, p) in pairs)

    def shared(self, kind, known):
        """What a person of this kind adds to the numbers that the adversary knows."""
        if known == UNKNOWN:
            return ()
        pairs = itertools.combinations(zip(*kind, strict=True), 2)
        return tuple((i, j) if known == TOTAL else (i, j, self.join(q, p)) for (i, q), (j, p) in pairs)

    def kind_of(self, person):
        presence = tuple(sorted(person[-1]))
        return presence, tuple(self.label(person, j) for j in presence)

    def kappa(self, known):
        """How many people any two releases share, as far as the adversary knows."""
        return Counter(key for p in self.people for key in self.shared(self.kind_of(p), known))

    def possible_kinds(self, value):
        """The kinds of people that may have this value: presence, and classes on one path."""
        groups = [sorted(q for q, s in shown if s == value) for shown in self.shown]
        return [
            (presence, classes)
            for presence in self.presences
            for classes in itertools.product(*(groups[j] for j in presence))
            if self.on_one_path(presence, classes)
        ]

    def solutions(self, value, known):
        """Every way to have the people with one value: kind -> how many."""
        kinds = self.possible_kinds(value)
        counts = [Counter({q: n for (q, s), n in shown.items() if s == value}) for shown in self.shown]
        last = {}
        for at, (presence, classes) in enumerate(kinds):
            for j, q in zip(presence, classes, strict=True):
                last[j, q] = at
        limit = self.kappa(known)

        def fill(at, left, shared):
            if at == len(kinds):
                yield {}
                return
            presence, classes = kinds[at]
            places = list(zip(presence, classes, strict=True))
            most = min(left[j][q] for j, q in places)
            keys = self.shared(kinds[at], known)
            for amount in range(most + 1):
                if any(last[j, q] == at and left[j][q] != amount for j, q in places):
                    continue
                if any(shared[key] + amount > limit[key] for key in keys):
                    break
                for j, q in places:
                    left[j][q] -= amount
                for key in keys:
                    shared[key] += amount
                for rest in fill(at + 1, left, shared):
                    yield {**rest, kinds[at]: amount} if amount else rest
                for j, q in places:
                    left[j][q] += amount
                for key in keys:
                    shared[key] -= amount

        return list(fill(0, counts, Counter()))

    def exact(self, known):
        """(presence, classes) -> the exact number of candidates, for every target that some world has."""
        values = sorted({s for shown in self.shown for _, s in shown})
        order = sorted(self.kappa(known))
        goal = tuple(self.kappa(known)[key] for key in order)
        each = []
        for value in values:
            best = {}
            for world in self.solutions(value, known):
                sums = Counter()
                for kind, n in world.items():
                    for key in self.shared(kind, known):
                        sums[key] += n
                if any(key not in order for key in sums):
                    continue
                held = best.setdefault(tuple(sums[key] for key in order), Counter())
                for kind, n in world.items():
                    held[kind] = max(held[kind], n)
            each.append(best)
        before = _sums_from_left(each, len(goal))
        after = _sums_from_left(each[::-1], len(goal))[::-1]
        found = Counter()
        for v, best in enumerate(each):
            held = Counter()
            others = _added(before[v], after[v + 1], goal)
            for sums, most in best.items():
                if tuple(g - s for g, s in zip(goal, sums, strict=True)) in others:
                    for kind, n in most.items():
                        held[kind] = max(held[kind], n)
            found.update(held)
        return {kind: n for kind, n in found.items() if n}

    def realized(self):
        """The targets that somebody is."""
        return {self.kind_of(p) for p in self.people if p[-1]}


def _sums_from_left(each, width):
    """The sums that the first so many values can come to."""
    found = [{(0,) * width}]
    for best in each:
        found.append({tuple(map(sum, zip(a, b, strict=True))) for a in found[-1] for b in best})
    return found


def _added(one, other, goal):
    found = {tuple(map(sum, zip(a, b, strict=True))) for a in one for b in other}
    return {f for f in found if all(x <= g for x, g in zip(f, goal, strict=True))}


def random_case(seed, *, count=2, keys=2, rows=6, values=2, returns=False, moves=()):
    """A random tiny case; nobody is in no release."""
    rng = np.random.default_rng(seed)
    trees = [_random_tree(rng, j) for j in range(keys)]
    cuts = [[all_cuts(t)[rng.integers(len(all_cuts(t)))] for t in trees] for _ in range(count)]
    people = []
    for _ in range(int(rng.integers(2, rows + 1))):
        fixed = [str(rng.choice(list(t.leaf_labels))) for t in trees]
        if returns:
            presence = {j for j in range(count) if rng.integers(2)} or {int(rng.integers(count))}
        else:
            a, b = sorted(int(x) for x in rng.integers(0, count, 2))
            presence = set(range(a, b + 1))
        labels = tuple(fixed)
        if moves:
            labels = (
                tuple(
                    tuple(
                        str(rng.choice(list(t.leaf_labels))) if c in moves else fixed[c]
                        for c, t in enumerate(trees)
                    )
                    for _ in range(count)
                ),
            )
        people.append((*labels, int(rng.integers(values)), frozenset(presence)))
    return LivingCase(trees, people, cuts, tuple(moves), returns)


def _random_tree(rng, j):
    if rng.integers(2):
        return Taxonomy.flat([f"{j}{leaf}" for leaf in "xy"])
    return Taxonomy.grow(["*", f"{j}G", f"{j}x", f"{j}y", f"{j}z"], [-1, 0, 1, 1, 0])


def one_class(*releases, stay):
    """A case of one class: per release value -> rows; `stay` lists (value, presence, how many)."""
    tree = Taxonomy.flat(["x", "y"])
    people = [("x", s, frozenset(presence)) for s, presence, n in stay for _ in range(n)]
    case = LivingCase([tree], people, [[Cut.root(tree)] for _ in releases])
    for shown, asked in zip(case.shown, releases, strict=True):
        assert {s: n for (_, s), n in shown.items()} == {s: n for s, n in asked.items() if n}
    return case


def living_chain(case, known):
    """The case as the chain that is judged: class tables in the columns that cannot change."""
    fixed = [c for c in range(len(case.trees)) if c not in case.moves]
    tables, classes = [], []
    for j, shown in enumerate(case.shown):
        order = sorted({q for q, _ in shown})
        number = {q: n for n, q in enumerate(order)}
        entries = sorted((number[q], s, n) for (q, s), n in shown.items())
        owner, values, counts = ([e[i] for e in entries] for i in range(3))
        nodes = np.array(order, np.int32).reshape(len(order), len(case.trees))
        whole = ClassTable(
            tuple(c.node_of for c in case.cuts[j]),
            nodes,
            np.array(owner, np.int32),
            np.array(values, np.int32),
            np.array(counts, np.int64),
        )
        tables.append(fixed_columns(whole, fixed))
        classes.append(order)
    leavers = Leavers(known)
    shared = {}
    for i, j in itertools.combinations(range(case.count), 2):
        both = [p for p in case.people if i in p[-1] and j in p[-1]]
        met = [(case.join(case.label(p, i), case.label(p, j)), p) for p in both]
        if leavers is Leavers.TOTAL:
            shared[i, j] = np.array([len(both)], np.int64)
        elif leavers is Leavers.COUNTED:
            numbers = Counter(join for join, _ in met)
            shared[i, j] = np.array([_of_class(case, i, q, numbers) for q in classes[j]], np.int64)
    trees = tuple(case.trees[c] for c in fixed)
    return LivingChain(trees, tuple(tables), leavers, shared, case.returns), classes


def _of_class(case, i, q, numbers):
    """How many people of the component of class q of release j are in release i, too."""
    joins = {case.join(p, q) for p, _ in case.shown[i]} - {None}
    assert len(joins) <= 1  # the join theorem
    return numbers[joins.pop()] if joins else 0


def bounds_of(case, known):
    """(presence, classes) -> the candidates by the formulas."""
    chain, classes = living_chain(case, known)
    found = {}
    for cells in PresenceTargets(chain).all_cells():
        for c, n in zip(cells.classes.tolist(), cells.candidates.tolist(), strict=True):
            if n:
                shown = tuple(classes[j][q] for j, q in zip(cells.presence, c, strict=True))
                found[cells.presence, shown] = n
    return found


def imprints(case, known, *, corrected=False):
    """What is remembered of every release of the case."""
    chain, classes = living_chain(case, known)
    values = Taxonomy.flat([f"s{i}" for i in range(6)])
    columns = [Column(f"q{c}", Role.QUASI, t) for c, t in enumerate(case.trees)]
    made = []
    for j in range(case.count):
        there = [p for p in case.people if j in p[-1]]
        labels = [p[0][j] if case.moves else p[:-2] for p in there]
        codes = [np.array([t.rank(x[c]) for x in labels], np.int32) for c, t in enumerate(case.trees)]
        codes.append(np.array([p[-2] for p in there], np.int32))
        data = Microdata.of_codes([*columns, Column("s", Role.SENSITIVE, values)], codes)
        named = {f"q{c}": cut for c, cut in enumerate(case.cuts[j])}
        plain = Imprint.of(Recoding.of_cuts(data, named), ["s"])
        place = [classes[j].index(tuple(nodes)) for nodes in plain.nodes.tolist()]
        shared = [chain.shared[i, j] for i in range(j)] if known != UNKNOWN else []
        ordered = tuple(numbers if known == TOTAL else numbers[place] for numbers in shared)
        moves = tuple(f"q{c}" for c in case.moves)
        said = KnownDepartures(Leavers(known), ordered, case.returns, moves, corrected)
        after = [imprint.digest for imprint in made]
        made.append(Imprint.of(Recoding.of_cuts(data, named), ["s"], after=after, departures=said))
    return made
