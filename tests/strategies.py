"""Random taxonomies, cuts and tables, small enough for exhaustive oracles."""

from __future__ import annotations

import itertools
import os

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy


def cases(count):
    """Settings of a test whose cases take long: so many of them, a hundred times as many in a soak."""
    times = 100 if os.environ.get("SFUMATO_HYPOTHESIS") == "soak" else 1
    return settings(max_examples=count * times, deadline=None)


@st.composite
def taxonomies(draw, *, leaves=4, prefix="v", ordered=None):
    """A random tree with at most `leaves` leaves."""
    count = draw(st.integers(1, leaves))
    groups = [[i] for i in range(count)]
    labels, parent, below = [f"{prefix}{i}" for i in range(count)], [-1] * count, list(range(count))
    while len(groups) > 1 and draw(st.booleans()):
        cut = draw(st.integers(1, len(groups) - 1))
        sides = [groups[:cut], groups[cut:]]
        merged, nodes = [], []
        for part in sides:
            if len(part) > 1 and draw(st.booleans()):
                labels.append(f"{prefix}{part[0][0]}..{part[-1][-1]}#{len(labels)}")
                parent.append(-1)
                for g in part:
                    parent[below[groups.index(g)]] = len(labels) - 1
                merged.append([x for g in part for x in g])
                nodes.append(len(labels) - 1)
            else:
                merged += part
                nodes += [below[groups.index(g)] for g in part]
        if len(merged) == len(groups):
            break
        groups, below = merged, nodes
    labels.append("*")
    parent.append(-1)
    for node in below:
        parent[node] = len(labels) - 1
    return Taxonomy.grow(labels, parent, ordered=draw(st.booleans()) if ordered is None else ordered)


@st.composite
def tables(draw, *, rows=9, keys=2, sensitive=1, leaves=4, people=False, min_rows=0):
    """A random table: `keys` quasi-identifiers, `sensitive` sensitive columns, at most `rows` rows."""
    columns = [
        Column(f"q{j}", Role.QUASI, draw(taxonomies(leaves=leaves, prefix=f"q{j}v"))) for j in range(keys)
    ]
    columns += [
        Column(f"s{j}", Role.SENSITIVE, draw(taxonomies(leaves=leaves, prefix=f"s{j}v")))
        for j in range(sensitive)
    ]
    count = draw(st.integers(min_rows, rows))
    codes = [
        np.array(
            draw(st.lists(st.integers(0, len(c.taxonomy.leaves) - 1), min_size=count, max_size=count)),
            np.int32,
        )
        for c in columns
    ]
    person = None
    if people and draw(st.booleans()):
        person = np.array(
            draw(st.lists(st.integers(0, max(0, count - 1)), min_size=count, max_size=count)), np.int32
        )
    return Microdata.of_codes(columns, codes, person=person)


def all_cuts(taxonomy: Taxonomy) -> list[Cut]:
    """Every cut of a small tree."""

    def below(node: int) -> list[list[int]]:
        children = taxonomy.children(node)
        if not children:
            return [[node]]
        parts = [below(child) for child in children]
        return [[node], *([n for part in choice for n in part] for choice in itertools.product(*parts))]

    return [Cut.of_nodes(taxonomy, nodes) for nodes in below(0)]


def all_recodings(table: Microdata) -> list[dict[str, Cut]]:
    """Every combination of cuts of the key columns."""
    names = [c.name for c in table.keys]
    choices = [all_cuts(c.taxonomy) for c in table.keys]
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*choices)]
