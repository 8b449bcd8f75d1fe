"""Versions of small tables, handed to recipients: the records of a ledger, and what each holds."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from sfumato.recipients.trace_patterns import trace_patterns
from sfumato.recipients.traced_versions import POOL
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.table.cut import Cut
from sfumato.table.frames import open_records
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint, reading_trees


def table_of(trees, rows, roles=None):
    """A table of leaf labels; `trees` maps key columns to taxonomies."""
    columns = [Column(name, (roles or {}).get(name, Role.QUASI), tree) for name, tree in trees.items()]
    codes = [np.array([tree.rank(row[j]) for row in rows], np.int32) for j, tree in enumerate(trees.values())]
    return Microdata.of_codes(columns, codes)


def at_levels(table, levels):
    return {c.name: Cut.level(c.taxonomy, level) for c, level in zip(table.keys, levels, strict=True)}


def shown(table, cuts):
    """The rows of a version, as mappings of texts; copies of a row stand side by side."""
    rows = []
    for i, count in enumerate(table.counts.tolist()):
        row = {c.name: c.taxonomy.labels[cuts[c.name].node_of[table.codes(c.name)[i]]] for c in table.keys}
        rows += [dict(row) for _ in range(count)]
    return rows


def recoding_of(table, cuts):
    return Recoding.of_cuts(table, cuts)


@dataclass
class ToyLedger:
    """What a ledger would know after these releases."""

    records: list[ReleaseRecord] = field(default_factory=list)
    memories: dict[str, Imprint | None] = field(default_factory=dict)

    def give(
        self,
        recipient,
        table,
        cuts,
        *,
        chain="main",
        content=True,
        trees=True,
        event="",
        pool=(),
    ):
        """Enter a version of `table`, drawn from a `pool` of patterns if there is one."""
        recoding = recoding_of(table, cuts)
        release = uuid.uuid4().hex
        of_pool = {POOL: dict(zip(cuts, zip(*pool, strict=True), strict=True))} if pool else {}
        self.memories[release] = Imprint.of(recoding, ()) if content else None
        self.records.append(
            ReleaseRecord(
                release,
                chain,
                "p",
                recipient=recipient,
                taxonomies={c.name: c.taxonomy.digest for c in table.keys},
                cuts={name: cut.nodes.tolist() for name, cut in cuts.items()},
                trees={**(reading_trees(recoding) if trees else {}), **of_pool},
                event=event,
                sequence=sum(r.chain == chain for r in self.records) + 1,
            )
        )
        return self

    def trace(self, leak, **options):
        rows = [leak] if isinstance(leak, dict) else leak
        source = open_records(rows) if isinstance(rows, list) else rows
        return trace_patterns(source, self.records, memory=self.memories.__getitem__, **options)


def found(result, most=3):
    """All minimal coalitions that could have written every column, as the paper names them."""
    sources = [set(recipients) for recipients in result.sources.values()]
    names = sorted(set().union(*sources))
    coalitions = []
    for size in range(1, most + 1):
        for group in map(frozenset, combinations(names, size)):
            if all(group & source for source in sources) and not any(less < group for less in coalitions):
                coalitions.append(group)
    return set(coalitions)
