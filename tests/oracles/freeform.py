"""FF-anonymity by plain enumeration, straight from the definitions."""

from __future__ import annotations

import itertools
from fractions import Fraction


def cut_plus(guard, shown, *, extended=True):
    """The values that occur, and (extended) all values above them."""
    found = set()
    for node in shown:
        v = int(node)
        while v >= 0:
            found.add(v)
            v = int(guard.taxonomy.parent[v]) if extended else -1
    return found


def attacks(node_table, *, extended=True):
    """Every attack with support: (target, node, given) -> (rows held, rows, threat)."""
    found = {}
    m = len(node_table.guards)
    rows = [tuple(int(node_table.nodes[j, i]) for j in range(m)) for i in range(len(node_table.counts))]
    weight = [int(c) for c in node_table.counts]
    seen = [
        sorted(v for v in cut_plus(g, node_table.nodes[j]) if v == 0 or g.observable[v])
        for j, g in enumerate(node_table.guards)
    ]
    for j, guard in enumerate(node_table.guards):
        aims = [
            v
            for v in cut_plus(guard, node_table.nodes[j], extended=extended)
            if v != 0 and not guard.observable[v]
        ]
        for given in itertools.product(*([0] if i == j else seen[i] for i in range(m))):
            match = [
                i
                for i, row in enumerate(rows)
                if all(g.taxonomy.covers(v, x) for g, v, x in zip(node_table.guards, given, row, strict=True))
            ]
            support = sum(weight[i] for i in match)
            for a in aims if support else ():
                held = sum(weight[i] for i in match if guard.taxonomy.covers(a, rows[i][j]))
                found[j, a, given] = (held, support, Fraction(held, support) * guard.sensitivity[a])
    return found


def breaches(node_table, threat, *, extended=True):
    return {key: fact for key, fact in attacks(node_table, extended=extended).items() if fact[2] > threat}


def worst(node_table, *, extended=True):
    """(target, node) -> the largest threat, of the targets that are sensitive."""
    found = {}
    for (j, a, _), (_, _, threat) in attacks(node_table, extended=extended).items():
        if node_table.guards[j].sensitivity[a]:
            found[j, a] = max(found.get((j, a), Fraction(0)), threat)
    return found
