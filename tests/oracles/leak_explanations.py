"""The definitions once more, in plain Python: who can have made a leak. Nothing of tracing is imported."""

from __future__ import annotations

from itertools import combinations, product


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
    return _hitting_sets(sorted({who for who, _, _ in versions}), demands, most)


def _hitting_sets(everybody, demands, most):
    """All minimal coalitions of at most so many that have a member in each of the sets."""
    if not demands:
        return set()
    found = []
    for size in range(1, most + 1):
        for chosen in map(frozenset, combinations(everybody, size)):
            if all(chosen & s for s in demands) and not any(less <= chosen for less in found):
                found.append(chosen)
    return set(found)


def readings(trees, leak):
    """Every way to take the columns of a leak that say anything for ours, no two for the same one."""
    columns = sorted({c for row in leak for c in row})
    texts = {c: [row[c] for row in leak] for c in columns}
    telling = [c for c in columns if any(read(trees[c], text) != 0 for text in texts[c])]
    options = [
        [o for o in trees if o == c or any(read(trees[o], text) not in (0, None) for text in texts[c])]
        for c in telling
    ]
    for names in product(*options):
        if len(set(names)) == len(names):
            yield dict(zip(telling, names, strict=True))


def explanations_in_any_reading(trees, versions, leak, most, *, together=False):
    """The same where a cell may come from whoever could have told it in some reading that its row may have.

    Rows are those that are ours as columns are called.
    """
    everybody = sorted({who for who, _, _ in versions})
    demands = []
    for row in leak:
        as_called = possible_sources(trees, versions, row, together)
        if as_called is None:
            continue
        sources = dict(zip(row, map(set, as_called), strict=True))
        for names in readings(trees, leak):
            moved = {names[c]: row[c] for c in row if c in names}
            told = possible_sources(trees, versions, moved, together)
            if told is not None:
                by_name = dict(zip(moved, told, strict=True))
                for c in row:
                    sources[c] |= by_name[names[c]] if c in names else set(everybody)
        demands += sources.values()
    return _hitting_sets(everybody, demands, most)


def explanations_row_by_row(trees, versions, leak, most, *, together=False):
    """Coalitions that can have made every row, all cells of a row in one reading."""
    everybody = sorted({who for who, _, _ in versions})
    ways = []
    for row in leak:
        if possible_sources(trees, versions, row, together) is None:
            continue
        told = [
            possible_sources(trees, versions, {names[c]: row[c] for c in row if c in names}, together)
            for names in readings(trees, leak)
        ]
        ways.append([sources for sources in told if sources is not None])
    coalitions = (frozenset(c) for size in range(1, most + 1) for c in combinations(everybody, size))
    return {
        c for c in coalitions if ways and all(any(all(c & s for s in way) for way in row) for row in ways)
    }
