"""Made-up people, versions of their table that form an antichain, and leaks of these by the thousand."""

from __future__ import annotations

from functools import cache

import numpy as np

from recipients.toy_ledger import ToyLedger, at_levels
from sfumato.recipients.leak import Leak
from sfumato.recipients.trace import trace_leak
from sfumato.recipients.traced_versions import IssuedVersions
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

SIZES = ((60, 3), (16, 2), (8, 2), (9, 3), (4, 2), (2, 2), (27, 3))
"""Values, and how many become one at each level."""


def ladder(size, fan, name=""):
    """A tree whose every label is at one level only: levels can be read from the values."""
    layers = [size]
    while layers[-1] > 1:
        layers.append(-(-layers[-1] // fan))
    labels, parent, above = ["*"], [-1], [0]
    for depth, width in enumerate(layers[-2::-1], 1):
        begin = len(labels)
        labels += [f"{name}:{depth}:{i}" for i in range(width)]
        parent += [above[i * len(above) // width] for i in range(width)]
        above = list(range(begin, begin + width))
    return Taxonomy.grow(labels, parent)


@cache
def people(rows=3000, seed=1):
    """Columns depend on a hidden kind of person, as they do in life."""
    rng = np.random.default_rng(seed)
    kind = rng.random(rows)
    columns, codes = [], []
    for j, (size, fan) in enumerate(SIZES):
        columns.append(Column(f"c{j}", Role.QUASI, ladder(size, fan, f"c{j}")))
        spread = kind * (size - 1) + rng.normal(0, size / 8, rows)
        codes.append(np.clip(np.rint(spread), 0, size - 1).astype(np.int32))
    return Microdata.of_codes(columns, codes)


@cache
def antichain(count=12, seed=2, height=10):
    """Patterns of one height; the first is free, each next one is drawn."""
    heights = [c.taxonomy.height for c in people().keys]
    rng = np.random.default_rng(seed)
    found = {}
    while len(found) < count:
        levels = tuple(rng.integers(0, [h + 1 for h in heights]).tolist())
        if sum(levels) == height:
            found[levels] = None
    return tuple(found)


@cache
def ledger(count=12, content=True):
    table, given = people(), ToyLedger()
    for i, levels in enumerate(antichain(count)):
        given.give(f"P{i}", table, at_levels(table, levels), event="e", content=content)
    return given


@cache
def issued(count=12, content=True):
    return IssuedVersions.of(ledger(count, content).records)


@cache
def shown_nodes(levels):
    """The nodes that every distinct row shows."""
    table = people()
    cuts = at_levels(table, levels)
    return np.stack([cuts[c.name].node_of[table.codes(c.name)] for c in table.keys], axis=1)


def as_leak(nodes, out):
    """Rows of nodes as a leak that has been read from a file."""
    keys = people().keys
    rows, counts = np.unique(nodes, axis=0, return_counts=True)
    texts, codes = [], []
    for j, column in enumerate(keys):
        here, which = np.unique(rows[:, j], return_inverse=True)
        texts.append(tuple(column.taxonomy.labels[v] for v in here.tolist()))
        codes.append(which.ravel().astype(np.int32))
    names = tuple(c.name for c in keys)
    return Leak(names, names, tuple(texts), tuple(codes), counts, out.columns)


def traced(nodes, *, count=12, content=True, max_coalition_size=3):
    out = issued(count, content)
    memory = ledger(count, content).memories.__getitem__
    return trace_leak(as_leak(nodes, out), out, memory=memory, max_coalition_size=max_coalition_size)
