"""Tracing: from a leak and a ledger to everybody who could have made it, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from sfumato.recipients.collusion import LARGEST_COALITION, Coalitions, Explanations
from sfumato.recipients.evidence import LeakEvidence
from sfumato.recipients.leak import Flags, Leak, read_leak, rows_held_by, rows_in_original, withheld_columns
from sfumato.recipients.readings import with_other_readings
from sfumato.recipients.trace_report import TraceResult, card, charts, document
from sfumato.recipients.traced_versions import HeldVersion, IssuedVersions
from sfumato.system.errors import BadData, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, Printable
from sfumato.system.presentation.charts import Figure
from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Microdata
from sfumato.table.release_summary import Imprint
from sfumato.table.source import Source

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import ReleaseRecord

SAMPLED_VERSIONS = 8
"""So many versions, spread over the ledger, say which rows exist at all."""
MOST_COMPARED = 32
"""The content of so many versions is compared, first of all those of suspects."""

ImprintLookup = Callable[[str], Imprint | None]
"""Returns the imprint of a release, by its name; `None` if the ledger keeps none."""


@dataclass(frozen=True, eq=False, repr=False)
class Trace(TraceResult, Printable):
    """Who could have made a leak: names of recipients and columns, levels and counts; no cell value.

    `explanations` are all minimal coalitions of at most `max_coalition_size` recipients; `certain` are those
    in every one of them. `matches` counts the rows that exist in the original, if that was given.

    >>> import polars as pl, sfumato as sf
    >>> from tempfile import TemporaryDirectory
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> policy = sf.protect(people, k=2, quasi="age", sensitive="disease").policy
    >>> with TemporaryDirectory() as home:
    ...     ledger = f"sqlite:///{home}/ledger.db"
    ...     receipt = sf.release(people, policy, ledger=ledger, into=f"{home}/first", to="north")
    ...     trace = sf.trace(f"{home}/first/data.csv", ledger=ledger)
    >>> list(trace.explanations), trace.rows["ours"]
    ([('north',)], 4)
    """

    def charts(self) -> tuple[Figure, ...]:
        """Returns the levels of the leak beside those of the first suspects, and suspects by their fit."""
        return charts(self)

    def card(self) -> Card:
        """Returns the trace in a few lines."""
        return card(self)

    def as_dict(self) -> JsonObject:
        """Returns the trace as JSON."""
        return document(self)

    def __repr__(self) -> str:
        counts = f"{len(self.explanations)} explanations, {len(self.certain)} certain"
        return f"Trace({'ours' if self.ours else 'not ours'}, {counts})"


def trace(
    source: Source,
    records: Sequence[ReleaseRecord],
    *,
    memory: ImprintLookup,
    original: Microdata | None = None,
    max_coalition_size: int = 3,
    chain: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Trace:
    """Reads a leak and compares it with every version of the records; returns who could have made it."""
    if not 1 <= max_coalition_size <= LARGEST_COALITION:
        raise UsageError(
            f"max_coalition_size is a number from 1 to {LARGEST_COALITION}", remedy="3 is usual."
        )
    issued, lookup = IssuedVersions.of(records, chain=chain), cache(memory)
    sample = [lookup(issued.versions[v].release) for v in _spread(issued.versions, SAMPLED_VERSIONS)]
    unchanged = [name for imprint in sample if imprint is not None for name in imprint.unchanged]
    leak = read_leak(source, issued, columns=columns, unchanged=unchanged, progress=progress)
    return trace_leak(leak, issued, memory=lookup, original=original, max_coalition_size=max_coalition_size)


def trace_leak(
    leak: Leak,
    issued: IssuedVersions,
    *,
    memory: ImprintLookup,
    original: Microdata | None = None,
    max_coalition_size: int = 3,
) -> Trace:
    """Returns who could have made a leak that has been read."""
    if not leak.legible.any():
        raise _no_row_readable(leak)
    real = None if original is None else rows_in_original(leak, original, leak.legible)
    evidence = LeakEvidence.of(leak, issued.of_columns(leak.names), real=real)
    search = _TraceSearch(evidence, memory, max_coalition_size)
    as_called = search.find_explanations()
    explanations, named = search.read_otherwise(as_called, issued, original)
    return Trace(
        explanations, max_coalition_size, search.evidence, search.coalitions, search.imprints, original, named
    )


@dataclass(eq=False)
class _TraceSearch:
    """The versions whose imprints have been compared with a leak, and the evidence they gave."""

    evidence: LeakEvidence
    memory: ImprintLookup
    max_coalition_size: int
    imprints: dict[int, Imprint | None] = field(default_factory=dict)

    def find_explanations(self) -> Explanations:
        """Returns the explanations, after comparing the versions of suspects until no new suspects appear.

        Where the original is not there to say which rows exist, a sample of versions is compared first.
        """
        if self.evidence.real is None:
            self._compare(_spread(self._versions, SAMPLED_VERSIONS))
            if not self.evidence.ours.any():
                self._compare(range(len(self._versions)))
        while True:
            explanations = self.coalitions.explanations(self.max_coalition_size)
            size = {name: smallest for name, (smallest, _) in explanations.involving.items()}
            wanted = [v for v, version in enumerate(self._versions) if version.recipient in size]
            wanted.sort(key=lambda v: size[self._versions[v].recipient])
            fresh = [v for v in wanted if v not in self.imprints][
                : max(0, MOST_COMPARED - len(self.imprints))
            ]
            if not fresh or not self._compare(fresh):
                return explanations

    def read_otherwise(
        self, as_called: Explanations, issued: IssuedVersions, original: Microdata | None
    ) -> tuple[Explanations, tuple[str, ...]]:
        """Returns the explanations in all readings of the leak, and whom only the names of columns charge."""
        pairs = [(self._versions[v].release, i) for v, i in self.imprints.items() if i is not None]
        as_read = self.coalitions
        self.evidence = with_other_readings(self.evidence, issued, pairs, original)
        if not self.evidence.readings and not self.evidence.uncounted:
            return as_called, ()
        explanations = self.coalitions.explanations(self.max_coalition_size)
        charged = self.coalitions.certain(explanations, self.max_coalition_size)
        named = as_read.certain(as_called, self.max_coalition_size)
        return explanations, tuple(name for name in named if name not in charged)

    @property
    def coalitions(self) -> Coalitions:
        """What an explanation needs, by the evidence so far."""
        return Coalitions(self.evidence.recipients, self.evidence.demands())

    @property
    def _versions(self) -> Sequence[HeldVersion]:
        return self.evidence.knowledge.issued.versions

    def _compare(self, versions: Iterable[int]) -> bool:
        """Compares some versions with the leak; returns whether that gave evidence."""
        rows_by_version: dict[int, Flags] = {}
        absent: list[tuple[int, str]] = []
        leak, readable = self.evidence.leak, self.evidence.leak.legible & ~self.evidence.finer
        unchanged = self.evidence.unchanged
        for v in versions:
            if v in self.imprints:
                continue
            version = self._versions[v]
            imprint = self.imprints[v] = self.memory(version.release)
            if imprint is not None and (rows := rows_held_by(leak, version, imprint, readable)) is not None:
                rows_by_version[v] = rows
                unchanged = unchanged.learn(leak, version, imprint, rows)
                absent += [(v, name) for name in withheld_columns(leak, version, imprint)]
        if rows_by_version:
            self.evidence = self.evidence.learn(rows_by_version, frozenset(absent), unchanged)
        return bool(rows_by_version)


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
