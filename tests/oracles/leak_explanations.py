"""The definitions once more, in plain Python: who can have made a leak. Nothing of tracing is imported."""

from __future__ import annotations

from itertools import combinations


def below(tree, node, top):
    """Whether a node is `top` or lies below it."""
    while node != top and node >= 0:
        node = int(tree.parent[node])
    return node == top


def nodes_of(tree):
    return range(len(tree.labels))


def read(tree, text):
    """The lowest node above all that carry the text; none if there is none."""
    if text is None or text == "*":
        return 0
    same = [v for v in nodes_of(tree) if tree.labels[v] == text]
    above = [v for v in nodes_of(tree) if same and all(below(tree, w, v) for w in same)]
    return max(above, default=None)


def knows(tree, cut, node):
    """Whether every leaf of the node is published at or below it."""
    leaves = [leaf for leaf in nodes_of(tree) if leaf not in tree.parent and below(tree, leaf, node)]
    return all(any(below(tree, leaf, v) and below(tree, v, node) for v in cut) for leaf in leaves)


def comparable(tree, a, b):
    return below(tree, a, b) or below(tree, b, a)


def holds(trees, version_rows, row):
    """Whether a version has a record that may be this row: on a path with it in every column."""
    return any(
        all(comparable(trees[c], held[c], read(trees[c], row[c])) for c in row) for held in version_rows
    )


def possible_sources(trees, versions, row, together):
    """Per column of a row, the recipients who may have told its cell; `None` if the row is no row of ours.

    `versions` are triples: recipient, the nodes of the cut of each column, rows as nodes. If they were made
    `together`, of one table, a row of it is in all of them.
    """
    nodes = {c: read(trees[c], text) for c, text in row.items()}
    if None in nodes.values():
        return None
    holding = [holds(trees, rows, row) for _, _, rows in versions]
    if together:
        holding = [all(holding)] * len(versions)
    found = []
    for c, node in nodes.items():
        pairs = zip(versions, holding, strict=True)
        found.append({who for (who, cuts, _), held in pairs if held and knows(trees[c], cuts[c], node)})
    return found if all(found) else None


def explanations(trees, versions, leak, most, *, together=False):
    """All minimal coalitions of at most so many that cover every row that is ours."""
    demands = [s for row in leak for s in possible_sources(trees, versions, row, together) or ()]
    if not demands:
        return set()
    everybody = sorted({who for who, _, _ in versions})
    found = []
    for size in range(1, most + 1):
        for chosen in map(frozenset, combinations(everybody, size)):
            if all(chosen & s for s in demands) and not any(less <= chosen for less in found):
                found.append(chosen)
    return set(found)
