"""Controls of a search, by plain enumeration: which recodings they permit."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import strategies as st

from oracles.exhaustive_lattice import judged
from sfumato.table.cut import Cut
from sfumato.table.recoding import SUPPRESSED
from strategies import all_recodings


def with_ceilings(table, ceilings):
    """The same rows, their key columns never above these levels (`None`: up to the root)."""
    limits = dict(zip((c.name for c in table.keys), ceilings, strict=True))
    columns = tuple(
        replace(c, taxonomy=replace(c.taxonomy, at_most=limits[c.name])) if c.name in limits else c
        for c in table.columns
    )
    return replace(table, columns=columns)


@st.composite
def limited(draw, some_tables):
    """A table whose key columns have random ceilings."""
    table = draw(some_tables)
    return with_ceilings(
        table, [draw(st.one_of(st.none(), st.integers(0, c.taxonomy.height))) for c in table.keys]
    )


def spared_values(table, aim):
    """For every key column, the leaf ranks whose rows may not be suppressed."""
    spared = {}
    for column in table.keys:
        tree = column.taxonomy
        ranks = set()
        for label in aim.never_suppress.get(column.name, ()):
            node = tree.node(label)
            ranks |= {rank for rank, leaf in enumerate(tree.leaves.tolist()) if tree.covers(node, leaf)}
        spared[column.name] = ranks
    return spared


def spares(recoding, aim):
    """Whether no row is suppressed that holds a spared value."""
    out = recoding.class_of == SUPPRESSED
    return not any(
        rank in ranks
        for name, ranks in spared_values(recoding.table, aim).items()
        for rank in recoding.table.codes(name)[out].tolist()
    )


def level_permitted(table, aim, levels):
    """Whether the controls permit a node of the lattice, apart from suppression."""
    named = dict(zip((c.name for c in table.keys), levels, strict=True))
    height = {c.name: c.taxonomy.height for c in table.keys}
    if any(c.taxonomy.at_most is not None and named[c.name] > c.taxonomy.at_most for c in table.keys):
        return False
    most = max(height.values(), default=0)
    return all(
        any(all(named[name] == min(level, height[name]) for name in group) for level in range(most + 1))
        for group in aim.together
    )


def best_permitted_node(table, promises, aim):
    """The node that the rule of the lattice search names among those that are permitted, or `None`."""
    allowed = [
        node
        for node in judged(table, promises, aim)
        if node.suppressed <= aim.allowed(table)
        and not (table.rows and node.suppressed == table.rows + table.dropped)
        and level_permitted(table, aim, node.levels)
        and spares(node.recoding, aim)
    ]
    if not allowed:
        return None
    least = min(node.score for node in allowed)
    ties = [node for node in allowed if np.isclose(node.score, least, rtol=1e-10, atol=0)]
    return min(ties, key=lambda node: (node.suppressed, node.levels))


def permitted_recodings(table):
    """Every combination of cuts that no column's ceiling forbids."""
    tops = {c.name: Cut.level(c.taxonomy, c.taxonomy.ceiling) for c in table.keys}
    return [cuts for cuts in all_recodings(table) if all(cut <= tops[name] for name, cut in cuts.items())]


def within_ceilings(recoding):
    """Whether every class publishes, in every column, leaves below one node at the column's ceiling."""
    for j, column in enumerate(recoding.table.keys):
        tree = column.taxonomy
        tops = [set(range(tree.low[v], tree.high[v])) for v in set(tree.levels[tree.ceiling].tolist())]
        for low, high in zip(recoding.low[:, j].tolist(), recoding.high[:, j].tolist(), strict=True):
            if not any(set(range(low, high)) <= top for top in tops):
                return False
    return True


def blocks_of(table):
    """The distinct rows, by the nodes that they have where every column is at its ceiling."""
    rows = {}
    for i in range(table.distinct):
        nodes = tuple(int(c.taxonomy.levels[c.taxonomy.ceiling][table.codes(c.name)[i]]) for c in table.keys)
        rows.setdefault(nodes, []).append(i)
    return list(rows.values())


def all_groups_of_levels(table):
    """Every node of the lattice."""
    return list(product(*(range(c.taxonomy.height + 1) for c in table.keys)))
