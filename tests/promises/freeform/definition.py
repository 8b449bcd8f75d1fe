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


def attacks(board, *, extended=True):
    """Every attack with support: (target, node, given) -> (rows held, rows, threat)."""
    found = {}
    m = len(board.guards)
    rows = [tuple(int(board.nodes[j, i]) for j in range(m)) for i in range(len(board.counts))]
    weight = [int(c) for c in board.counts]
    seen = [
        sorted(v for v in cut_plus(g, board.nodes[j]) if v == 0 or g.observable[v])
        for j, g in enumerate(board.guards)
    ]
    for j, guard in enumerate(board.guards):
        aims = [
            v
            for v in cut_plus(guard, board.nodes[j], extended=extended)
            if v != 0 and not guard.observable[v]
        ]
        for given in itertools.product(*([0] if i == j else seen[i] for i in range(m))):
            match = [
                i
                for i, row in enumerate(rows)
                if all(g.taxonomy.covers(v, x) for g, v, x in zip(board.guards, given, row, strict=True))
            ]
            support = sum(weight[i] for i in match)
            for a in aims if support else ():
                held = sum(weight[i] for i in match if guard.taxonomy.covers(a, rows[i][j]))
                found[j, a, given] = (held, support, Fraction(held, support) * guard.sensitivity[a])
    return found


def breaches(board, threat, *, extended=True):
    return {key: fact for key, fact in attacks(board, extended=extended).items() if fact[2] > threat}


def worst(board, *, extended=True):
    """(target, node) -> the largest threat, of the targets that are sensitive."""
    found = {}
    for (j, a, _), (_, _, threat) in attacks(board, extended=extended).items():
        if board.guards[j].sensitivity[a]:
            found[j, a] = max(found.get((j, a), Fraction(0)), threat)
    return found
