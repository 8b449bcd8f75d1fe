"""Every promise once more, class by class, in fractions and loops."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
from hypothesis import strategies as st

from sfumato.table.classes import Classes, Histogram
from sfumato.table.taxonomy import Taxonomy
from strategies import taxonomies

Counted = dict[int, int]


def classes_of(taxonomy: Taxonomy, groups: list[Counted], *, overall=None, column="s") -> Classes:
    """Classes from one dict rank -> count per class."""
    start = np.cumsum([0, *(len(g) for g in groups)]).astype(np.int64)
    entries = [(v, c) for g in groups for v, c in sorted(g.items())]
    values = np.array([v for v, _ in entries], np.int32)
    counts = np.array([c for _, c in entries], np.int64)
    if overall is None:
        overall = np.zeros(len(taxonomy.leaves), np.int64)
        np.add.at(overall, values, counts)
    people = np.array([sum(g.values()) for g in groups], np.int64)
    return Classes(people, people.copy(), {column: Histogram(taxonomy, start, values, counts, overall)})


@st.composite
def groups(draw, *, leaves=6, count=5, largest=6, ordered=None):
    """A taxonomy and some classes over it."""
    taxonomy = draw(taxonomies(leaves=leaves, ordered=ordered))
    values = st.integers(0, len(taxonomy.leaves) - 1)
    one = st.dictionaries(values, st.integers(1, largest), min_size=1, max_size=leaves)
    return taxonomy, draw(st.lists(one, min_size=1, max_size=count))


def entropy_holds(group: Counted, least: Fraction) -> bool:
    n = sum(group.values())
    return (n * least.denominator) ** n >= least.numerator**n * prod(c**c for c in group.values())


def recursive_ratio(group: Counted, least: int) -> Fraction | None:
    falling = sorted(group.values(), reverse=True)
    return Fraction(falling[0], sum(falling[least - 1 :])) if len(falling) >= least else None


def ground(taxonomy: Taxonomy, occurs: list[int], distance: str) -> dict[tuple[int, int], Fraction]:
    """How far apart any two values are."""
    place = {v: i for i, v in enumerate(occurs)}

    def far(a: int, b: int) -> Fraction:
        if a == b:
            return Fraction(0)
        if distance == "equal":
            return Fraction(1)
        if distance == "ordered":
            return Fraction(abs(place[a] - place[b]), len(occurs) - 1)
        level = next(i for i in range(taxonomy.height + 1) if taxonomy.levels[i][a] == taxonomy.levels[i][b])
        return Fraction(level, taxonomy.height)

    return {(a, b): far(a, b) for a in occurs for b in occurs}


def earth_movers(group: Counted, overall: Counted, far: dict[tuple[int, int], Fraction]) -> Fraction:
    """The least cost of carrying one distribution onto the other: cheapest paths, one after another."""
    n, total = sum(group.values()), sum(overall.values())
    supply = {("from", v): c * total for v, c in group.items()}
    demand = {("to", v): c * n for v, c in overall.items() if c}
    flow: dict[tuple[object, object], int] = {}
    cost = Fraction(0)
    while any(supply.values()):
        best = {s: (Fraction(0), None) for s, left in supply.items() if left}
        for _ in range(len(supply) + len(demand)):
            for s in supply:
                for d in demand:
                    price = far[s[1], d[1]]
                    if s in best and (d not in best or best[s][0] + price < best[d][0]):
                        best[d] = (best[s][0] + price, s)
                    if flow.get((s, d)) and d in best and (s not in best or best[d][0] - price < best[s][0]):
                        best[s] = (best[d][0] - price, d)
        end = min((d for d in demand if demand[d]), key=lambda d: best[d][0])
        path, node = [], end
        while best[node][1] is not None:
            path.append((best[node][1], node))
            node = best[node][1]
        room = [flow[b, a] for a, b in path if a[0] == "to"]
        moved = min([supply[node], demand[end], *room])
        for a, b in path:
            if a[0] == "from":
                flow[a, b] = flow.get((a, b), 0) + moved
            else:
                flow[b, a] -= moved
        supply[node] -= moved
        demand[end] -= moved
        cost += moved * best[end][0]
    return cost / (n * total)


def distance_of(taxonomy: Taxonomy, group: Counted, overall: Counted, distance: str, *, also=()) -> Fraction:
    """t-closeness of one class, from the definition."""
    occurs = sorted({v for v, c in overall.items() if c} | set(group) | set(also))
    return earth_movers(group, overall, ground(taxonomy, occurs, distance))


def added(groups: list[Counted]) -> Counted:
    total: Counted = {}
    for group in groups:
        for v, c in group.items():
            total[v] = total.get(v, 0) + c
    return total
