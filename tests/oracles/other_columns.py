"""Tiny chains whose releases show other columns of the same people, and what the enumeration of worlds says.

A person is (leaf label, ..., values, presence), where `values` has one value for each column that some
release publishes unchanged. A world says of everybody in which releases they are, their class in each, and
what each shows of their values; it gives every published count and the numbers of shared people that are
known.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oracles.living_chains import LivingCase, random_case
from sfumato.attacks.chain.departed_people import HeldChain
from sfumato.chains.presence_cells import PresenceTargets
from sfumato.core.cut import Cut
from sfumato.core.imprint import Imprint
from sfumato.core.known_departures import KnownDepartures
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy

S = Taxonomy.flat([f"s{i}" for i in range(4)])


@dataclass(frozen=True)
class OtherColumns(LivingCase):
    """A chain in which release j shows the key columns `keys[j]` and the unchanged columns `values[j]`."""

    keys: tuple[tuple[int, ...], ...] = ()
    values: tuple[tuple[int, ...], ...] = ()

    def seen(self, person, j):
        """What release j shows of somebody's values: (column, value) pairs."""
        return tuple((c, person[-2][c]) for c in self.values[j])

    @cached_property
    def common(self):
        return sorted(set.intersection(*map(set, self.values)))

    @cached_property
    def shown(self):
        there = [[p for p in self.people if j in p[-1]] for j in range(self.count)]
        return [Counter((self.label(p, j), self.seen(p, j)) for p in some) for j, some in enumerate(there)]

    @cached_property
    def every_kind(self):
        """(presence, classes, what each release shows), for all that somebody may be."""
        found = []
        for presence in self.presences:
            for rows in itertools.product(*(sorted(self.shown[j]) for j in presence)):
                classes, seen = tuple(q for q, _ in rows), [dict(v) for _, v in rows]
                pairs = itertools.combinations(seen, 2)
                agree = all(a[c] == b[c] for a, b in pairs for c in a if c in b)
                if agree and self.on_one_path(presence, classes):
                    found.append((presence, classes, tuple(v for _, v in rows)))
        return found

    def worlds(self, known):
        """Every world: kind -> how many."""
        kinds, limit = self.every_kind, self.kappa(known)
        places = [list(zip(p, q, v, strict=True)) for p, q, v in kinds]
        last = {place: at for at, some in enumerate(places) for place in some}
        keys = [self.shared((p, q), known) for p, q, _ in kinds]
        last_key = {key: at for at, some in enumerate(keys) for key in some}
        left = {(j, q, v): n for j, shown in enumerate(self.shown) for (q, v), n in shown.items()}
        shared = Counter()

        def fill(at):
            if at == len(kinds):
                if all(shared[key] == n for key, n in limit.items()):
                    yield {}
                return
            most = min(left[place] for place in places[at])
            for amount in range(most + 1):
                if any(last[place] == at and left[place] != amount for place in places[at]):
                    continue
                if any(shared[key] + amount > limit[key] for key in keys[at]):
                    break
                if any(last_key[key] == at and shared[key] + amount < limit[key] for key in keys[at]):
                    continue
                for place in places[at]:
                    left[place] -= amount
                shared.update(dict.fromkeys(keys[at], amount))
                for rest in fill(at + 1):
                    yield {**rest, kinds[at]: amount} if amount else rest
                for place in places[at]:
                    left[place] += amount
                shared.subtract(dict.fromkeys(keys[at], amount))

        yield from fill(0)

    def exact(self, known):
        """(presence, classes) -> the sum over common values of the most people of that kind in any world."""
        best = Counter()
        for world in self.worlds(known):
            held = Counter()
            for (presence, classes, seen), n in world.items():
                matched = tuple(dict(seen[0])[c] for c in self.common)
                held[presence, classes, matched] += n
            for kind, n in held.items():
                best[kind] = max(best[kind], n)
        found = Counter()
        for (presence, classes, _), n in best.items():
            found[presence, classes] += n
        return dict(found)

    def imprints(self, known):
        """What is remembered of every release, with the columns that it shows."""
        made = []
        for j in range(self.count):
            there = [p for p in self.people if j in p[-1]]
            columns = [Column(f"q{c}", Role.QUASI, self.trees[c]) for c in self.keys[j]]
            columns += [Column(f"v{c}", Role.SENSITIVE, S) for c in self.values[j]]
            codes = [[self.trees[c].rank(p[c]) for p in there] for c in self.keys[j]]
            codes += [[p[-2][c] for p in there] for c in self.values[j]]
            data = Microdata.of_codes(columns, [np.array(some, np.int32) for some in codes])
            recoding = Recoding.of_cuts(data, {f"q{c}": self.cuts[j][c] for c in self.keys[j]})
            unchanged = [f"v{c}" for c in self.values[j]]
            plain = Imprint.of(recoding, unchanged)
            shared = () if known == "unknown" else self._shared_numbers(plain, j, known)
            said = KnownDepartures(Leavers(known), shared, self.returns)
            after = [imprint.digest for imprint in made]
            made.append(Imprint.of(recoding, unchanged, after=after, departures=said))
        return made

    def _whole(self, nodes, j):
        """The class of some nodes of the key columns that release j shows, with roots for the others."""
        place = dict(zip(self.keys[j], nodes, strict=True))
        return tuple(int(place.get(c, 0)) for c in range(len(self.trees)))

    def _shared_numbers(self, imprint, j, known):
        found = []
        for i in range(j):
            both = [p for p in self.people if {i, j} <= p[-1]]
            met = Counter(self.join(self.label(p, i), self.label(p, j)) for p in both)
            numbers = []
            for nodes in imprint.nodes.tolist():
                joins = {self.join(p, self._whole(nodes, j)) for p, _ in self.shown[i]} - {None}
                assert len(joins) <= 1  # the join theorem
                numbers.append(met[joins.pop()] if joins else 0)
            found.append(np.array([len(both)] if known == "total" else numbers, np.int64))
        return tuple(found)

    def bounds(self, known):
        """(presence, classes) -> the candidates by the formulas, from what is remembered."""
        imprints = self.imprints(known)
        found = {}
        for cells in PresenceTargets(HeldChain.of(imprints).chain).all_cells():
            for c, n in zip(cells.classes.tolist(), cells.candidates.tolist(), strict=True):
                pairs = zip(cells.presence, c, strict=True)
                classes = tuple(self._whole(imprints[j].nodes[q].tolist(), j) for j, q in pairs)
                if n:
                    found[cells.presence, classes] = n
        return found


def random_other_columns(seed, *, count=2, rows=5):
    """A random tiny case; every unchanged column is in all releases or in one."""
    case = random_case(seed, count=count, keys=2, rows=rows, values=2)
    rng = np.random.default_rng(seed + 1_000_000)
    keys = [tuple(c for c in range(2) if rng.integers(3)) or (0,) for _ in range(count)]
    first = int(rng.integers(4)) > 0
    values = [(0,) if first else () for _ in range(count)]
    for column in (1, 2):
        if rng.integers(2):
            j = int(rng.integers(count))
            values[j] = (*values[j], column)
    cuts = [
        [cut if c in keys[j] else Cut.root(case.trees[c]) for c, cut in enumerate(case.cuts[j])]
        for j in range(count)
    ]
    people = [(*p[:-2], (p[-2], *(int(x) for x in rng.integers(2, size=2))), p[-1]) for p in case.people]
    return OtherColumns(case.trees, people, cuts, (), False, {}, tuple(keys), tuple(values))
