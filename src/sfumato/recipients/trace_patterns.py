"""Tracing by patterns: a leak beside versions that differ by the levels of their columns.

The pattern of everybody's version is drawn by secret coins from equally good ones, without replacement. How
well a leak fits a pattern is read from its cells: one that is just as the pattern shows it speaks for the
pattern, one that is finer against it. Who got which pattern has no say in how a leak is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from sfumato.recipients.charging import ERROR, Charges, charge_drawn
from sfumato.recipients.leak import Flags, Leak, read_leak, rows_held_by
from sfumato.recipients.trace import PATTERNS, LeakColumns, Trace, digest_of, found_by
from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.system.errors import BadData
from sfumato.system.progress import Progress, silent
from sfumato.table.release_summary import UNKNOWN, Imprint, ReadingTree
from sfumato.table.source import Source

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import ReleaseRecord

SAMPLED_VERSIONS = 8
"""So many versions, spread over the ledger, say which rows were published at all."""

ImprintLookup = Callable[[str], Imprint | None]
"""Returns the imprint of a release, by its name; `None` if the ledger keeps none."""


def trace_patterns(
    source: Source,
    records: Sequence[ReleaseRecord],
    *,
    memory: ImprintLookup,
    error: Fraction = ERROR,
    chain: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Trace:
    """Reads a leak and compares it with every version of the records."""
    issued = IssuedVersions.of(records, chain=chain)
    leak = read_leak(source, issued, columns=columns, progress=progress)
    return trace_leak(leak, issued, memory=cache(memory), error=error, chain=chain)


def trace_leak(
    leak: Leak,
    issued: IssuedVersions,
    *,
    memory: ImprintLookup,
    error: Fraction = ERROR,
    chain: str | None = None,
) -> Trace:
    """Returns who is charged with a leak that has been read."""
    if not leak.legible.any():
        raise _no_row_readable(leak)
    relevant = issued.of_columns(leak.names)
    ours = _rows_ours(leak, relevant.versions, memory)
    rows = {
        "all": leak.rows,
        "ours": int(leak.counts[ours].sum()),
        "unreadable": int(leak.counts[~leak.legible].sum()),
    }
    charges, drawn_from = _charges(_Fit(leak), relevant, error)
    columns = LeakColumns(leak.names, leak.renamed, leak.unknown)
    trace = found_by(
        PATTERNS,
        charges,
        relevant.recipients,
        chain=chain,
        rows=rows,
        columns=columns,
        groups=drawn_from,
        digest=digest_of(leak.texts, leak.codes, leak.counts),
    )
    sources = _sources(leak, relevant, ours if ours.any() else leak.legible)
    everything = [set(recipients) for recipients in sources.values()]
    alone = tuple(name for name in relevant.recipients if all(name in column for column in everything))
    return replace(trace, alone=alone, sources=sources, unreadable=leak.unreadable_texts())


@dataclass(eq=False)
class _Fit:
    """How well the readable rows of a leak fit a pattern."""

    leak: Leak
    _columns: dict[tuple[str, str, tuple[int, ...]], tuple[int, Flags]] = field(default_factory=dict)

    def score(self, version: HeldVersion) -> int:
        """Returns the cells that are just as in a version, less those that are finer, and as many more for
        every row that has none of these."""
        rows, cells = self.leak.legible.copy(), 0
        for j, name in enumerate(self.leak.names):
            for tree in self.leak.trees[name]:
                cut = version.cut_of(tree)
                if cut is not None:
                    gain, told = self._column(j, tree, cut)
                    cells += gain
                    rows &= told
        return cells + len(self.leak.names) * int(self.leak.counts[rows].sum())

    def _column(self, j: int, tree: ReadingTree, cut: tuple[int, ...]) -> tuple[int, Flags]:
        """Returns what a column adds to the score, and which rows are not finer in it."""
        key = tree.name, tree.digest, cut
        if key not in self._columns:
            leak, nodes = self.leak, self.leak.nodes(j, tree)
            rows = np.bincount(
                leak.codes[j][leak.legible], weights=leak.counts[leak.legible], minlength=len(nodes)
            )
            finer = (nodes != UNKNOWN) & ~tree.knows(cut)[nodes]
            gain = int(rows[np.isin(nodes, cut)].sum() - rows[finer].sum())
            self._columns[key] = gain, ~finer[leak.codes[j]]
        return self._columns[key]


def _charges(fit: _Fit, issued: IssuedVersions, error: Fraction) -> tuple[Charges, int]:
    """Returns the charges over all tables that were released, and the smallest pool that was drawn from.

    Several tables are as many chances to fit by accident.
    """
    names, events = issued.recipients, dict.fromkeys(version.event for version in issued.versions)
    tails, scores, pools = [Fraction(1)] * len(names), [0] * len(names), [0] * len(names)
    for event in events:
        of_event = [v for v in issued.versions if v.event == event]
        drawn = [v for v in of_event if v.pool]
        for version in of_event:
            i = names.index(version.recipient)
            scores[i] = max(scores[i], fit.score(version))
        if not drawn:
            continue
        pool = [fit.score(replace(drawn[0], cuts=cuts)) for cuts in drawn[0].pool]
        own = [fit.score(version) for version in drawn]
        found = charge_drawn(np.array(own), np.array(pool), error=error)
        for version, tail in zip(drawn, found.tails, strict=True):
            i = names.index(version.recipient)
            tails[i] = min(tails[i], tail * len(events))
            pools[i] = len(pool)
    return Charges(tuple(pools), tuple(scores), tuple(tails), error), max(pools, default=0)


def _rows_ours(leak: Leak, versions: Sequence[HeldVersion], memory: ImprintLookup) -> Flags:
    """Flags the rows that some version may be the source of, as far as content is remembered.

    A row of a table is in all its versions that lack no row; where there are none, one has to hold it. These
    rows are reported, and are no evidence: what counts is every row that can be read.
    """
    rows_by_event: dict[tuple[str, bool], Flags] = {}
    for v in _spread(versions, SAMPLED_VERSIONS):
        version, imprint = versions[v], memory(versions[v].release)
        rows = None if imprint is None else rows_held_by(leak, version, imprint, leak.legible)
        if rows is not None:
            key = version.event, version.whole
            together = np.logical_and if version.whole else np.logical_or
            rows_by_event[key] = together(rows_by_event.get(key, rows), rows)
    events = [
        rows for (event, whole), rows in rows_by_event.items() if whole or (event, True) not in rows_by_event
    ]
    ours: Flags = np.logical_or.reduce(events) if events else leak.legible.copy()
    for j, codes in enumerate(leak.codes):
        ours &= np.logical_or.reduce([_told(leak, version, j) for version in versions])[codes]
    return ours


def _told(leak: Leak, version: HeldVersion, j: int) -> Flags:
    """Flags the texts of a column that a version shows in that detail or finer; all if its cut is unknown."""
    for tree in leak.trees[leak.names[j]]:
        cut, nodes = version.cut_of(tree), leak.nodes(j, tree)
        if cut is not None:
            told: Flags = tree.knows(cut)[nodes] & (nodes != UNKNOWN)
            return told
    return np.ones(len(leak.texts[j]), dtype=bool)


def _sources(leak: Leak, issued: IssuedVersions, rows: Flags) -> dict[str, tuple[str, ...]]:
    """Returns, per column, who could have written all its cells in these rows from one version of theirs."""
    sources = {}
    for j, name in enumerate(leak.names):
        here = np.unique(leak.codes[j][rows])
        told = dict.fromkeys(v.recipient for v in issued.versions if _told(leak, v, j)[here].all())
        sources[name] = tuple(told)
    return sources


def _spread(versions: Sequence[HeldVersion], most: int) -> list[int]:
    """Returns one version of each of the last events; where these are few, more versions, evenly apart."""
    last = {version.event: v for v, version in enumerate(versions)}
    apart = [round(i * (len(versions) - 1) / max(1, most - 1)) for i in range(most)]
    return list(dict.fromkeys([*reversed(last.values()), *apart]))[: max(most, min(len(last), 2 * most))]


def _no_row_readable(leak: Leak) -> BadData:
    columns = ", ".join(
        f"{name} {int(np.count_nonzero(readable))} of {len(readable)}"
        for name, readable in zip(leak.names, leak.readable, strict=True)
        if not readable.all()
    )
    return BadData(
        f"no row of the leak can be read: each holds a value that no version could show ({columns} known)",
        remedy="Leave out columns that were changed; if none was, it is not ours.",
        values=[text for texts in leak.unreadable_texts().values() for text in texts],
    )
