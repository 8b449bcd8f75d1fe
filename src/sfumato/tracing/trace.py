"""Tracing: from a leak and a ledger to everybody who could have made it, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.engine.source import Source
from sfumato.show.card import Card, Printable
from sfumato.show.chart import Figure
from sfumato.tracing.coalition import MOST, Coalitions, Explanations, SmallestCoalition
from sfumato.tracing.content import exist_in, held_by, withheld
from sfumato.tracing.false_charge import FalseCharge, stated
from sfumato.tracing.incidence import Flags, LeakEvidence
from sfumato.tracing.leak import Leak, read_leak
from sfumato.tracing.suspects import Suspect, suspects
from sfumato.tracing.versions import Handed, HeldVersion

if TYPE_CHECKING:
    from sfumato.releases.ledger.record import Record

SAMPLED = 8
"""So many versions, spread over the ledger, say which rows exist at all."""
LOOKED_AT = 32
"""The content of so many versions is compared, first of all those of suspects."""

Memory = Callable[[str], Imprint | None]
"""What is remembered of the content of a release, by its name."""


@dataclass(frozen=True, eq=False)
class Trace(Printable):
    """Who could have made a leak. Names of recipients and columns, levels and counts; no cell value.

    `explanations` are all minimal coalitions of at most `c_max` recipients; `certain` are those in every one
    of them. `matches` counts the rows that exist in the original, if that was given.
    """

    explanations: Explanations
    c_max: int
    evidence: LeakEvidence = field(repr=False)
    coalitions: Coalitions = field(repr=False)
    imprints: Mapping[int, Imprint | None] = field(repr=False)
    original: Microdata | None = field(repr=False, default=None)

    @property
    def ours(self) -> bool:
        """Whether a row of it is about a record that was handed out, in detail that somebody was told."""
        return bool(self.evidence.kept.any())

    @cached_property
    def _certain(self) -> Mapping[str, SmallestCoalition]:
        return self.coalitions.certain(self.explanations, self.c_max)

    @property
    def certain(self) -> tuple[str, ...]:
        return tuple(self._certain)

    @cached_property
    def suspects(self) -> tuple[Suspect, ...]:
        """Everybody in an explanation, the most suspicious first, with what speaks against them."""
        if not len(self.explanations):
            return ()
        return suspects(self.evidence, self.explanations, self._certain, imprints=self.imprints)

    @cached_property
    def needed(self) -> SmallestCoalition | None:
        """How many had to work together, where `c_max` of them do not suffice."""
        if not self.ours or self.explanations.sets:
            return None
        return self.coalitions.smallest(least=self.c_max + 1)

    @cached_property
    def false_charge(self) -> FalseCharge | None:
        """How likely it is that those who are certain have nothing to do with it; nothing if nobody is.

        Its `probability` is about leaks that recipients made, its `outside` about tables of somebody else.
        """
        if not self.certain:
            return None
        return stated(
            self.evidence,
            self.explanations,
            charged=self.certain,
            imprints=self.imprints,
            original=self.original,
        )

    @property
    def matches(self) -> int | None:
        real = self.evidence.real
        return None if real is None else self.evidence.rows(real)

    @property
    def leak(self) -> Leak:
        return self.evidence.leak

    @property
    def rows(self) -> dict[str, int]:
        """How many rows the leak has, and what they are: ours, or left aside for one of three reasons."""
        e = self.evidence
        return {
            "all": e.leak.rows,
            "ours": e.rows(e.kept),
            "unreadable": e.rows(~e.leak.legible),
            "foreign": e.rows(e.foreign),
            "finer": e.rows(e.beyond),
        }

    @property
    def alone(self) -> tuple[str, ...]:
        """Those who could have made it by themselves."""
        return tuple(s.recipient for s in self.suspects if s.smallest == 1)

    @property
    def recipients(self) -> tuple[str, ...]:
        """Everybody who was considered."""
        return self.evidence.knowledge.handed.recipients

    @property
    def unread(self) -> tuple[str, ...]:
        """Those of them who cannot be ruled out, since the pattern of what they received is not known."""
        return self.evidence.knowledge.handed.unread

    def values(self) -> list[str]:
        """The texts that could not be read, for somebody who asked to see them: never part of a card."""
        return [f"{name}: {', '.join(map(repr, texts))}" for name, texts in self.leak.strange().items()]

    def charts(self) -> tuple[Figure, ...]:
        """What can be drawn: levels of the leak beside those of the first suspect, suspects by their fit."""
        from sfumato.tracing.report import charts  # noqa: PLC0415

        return charts(self)

    def card(self) -> Card:
        """The trace in a few lines."""
        from sfumato.tracing.report import card  # noqa: PLC0415

        return card(self)

    def as_dict(self) -> dict[str, Any]:
        """The trace as JSON."""
        from sfumato.tracing.report import document  # noqa: PLC0415

        return document(self)

    def __repr__(self) -> str:
        found = f"{len(self.explanations)} explanations, {len(self.certain)} certain"
        return f"Trace({'ours' if self.ours else 'not ours'}, {found})"


def trace(
    source: Source,
    records: Sequence[Record],
    *,
    memory: Memory,
    original: Microdata | None = None,
    c_max: int = 3,
    chain: str | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Trace:
    """Read a leak and hold it against every version that the records tell of."""
    if not 1 <= c_max <= MOST:
        raise WrongCall(f"c_max is a number from 1 to {MOST}", remedy="3 is usual.")
    handed = Handed.of(records, chain=chain)
    leak = read_leak(source, handed, columns=columns, progress=progress)
    return trace_leak(leak, handed, memory=memory, original=original, c_max=c_max)


def trace_leak(
    leak: Leak, handed: Handed, *, memory: Memory, original: Microdata | None = None, c_max: int = 3
) -> Trace:
    """Trace a leak that has been read."""
    handed = handed.of_columns(leak.names)
    if not leak.legible.any():
        raise _unreadable(leak)
    real = None if original is None else exist_in(leak, original, leak.legible)
    search = _TraceSearch(LeakEvidence.of(leak, handed, real=real), memory, c_max)
    found = search.settle()
    return Trace(found, c_max, search.evidence, search.coalitions, search.imprints, original)


@dataclass(eq=False)
class _TraceSearch:
    """Which versions have been looked at, and what they showed."""

    evidence: LeakEvidence
    memory: Memory
    c_max: int
    imprints: dict[int, Imprint | None] = field(default_factory=dict)

    def settle(self) -> Explanations:
        """Look at the content of suspects' versions until no new suspects appear; of a few others first."""
        if self.evidence.real is None:
            self._look(_spread(self._versions, SAMPLED))
            if not self.evidence.kept.any():
                self._look(range(len(self._versions)))
        while True:
            found = self.coalitions.explanations(self.c_max)
            size = {name: smallest for name, (smallest, _) in found.involving.items()}
            wanted = [v for v, version in enumerate(self._versions) if version.recipient in size]
            wanted.sort(key=lambda v: size[self._versions[v].recipient])
            fresh = [v for v in wanted if v not in self.imprints][: max(0, LOOKED_AT - len(self.imprints))]
            if not fresh or not self._look(fresh):
                return found

    @property
    def coalitions(self) -> Coalitions:
        """What an explanation needs, by all that is known now."""
        return Coalitions(self.evidence.knowledge.handed.recipients, self.evidence.demands())

    @property
    def _versions(self) -> Sequence[HeldVersion]:
        return self.evidence.knowledge.handed.versions

    def _look(self, versions: Iterable[int]) -> bool:
        """Compare some versions with the leak; whether something was learned."""
        held: dict[int, Flags] = {}
        absent: list[tuple[int, str]] = []
        leak, readable = self.evidence.leak, self.evidence.leak.legible & ~self.evidence.beyond
        for v in versions:
            if v in self.imprints:
                continue
            version = self._versions[v]
            imprint = self.imprints[v] = self.memory(version.release)
            if imprint is not None and (rows := held_by(leak, version, imprint, readable)) is not None:
                held[v] = rows
                absent += [(v, name) for name in withheld(leak, version, imprint)]
        if held:
            self.evidence = self.evidence.learn(held, frozenset(absent))
        return bool(held)


def _spread(versions: Sequence[HeldVersion], most: int) -> list[int]:
    """One version of each of the last events; where these are few, more versions, evenly apart."""
    last = {version.event: v for v, version in enumerate(versions)}
    apart = [round(i * (len(versions) - 1) / max(1, most - 1)) for i in range(most)]
    return list(dict.fromkeys([*reversed(last.values()), *apart]))[: max(most, min(len(last), 2 * most))]


def _unreadable(leak: Leak) -> BadData:
    known = ", ".join(
        f"{name} {int(np.count_nonzero(can))} of {len(can)}"
        for name, can in zip(leak.names, leak.readable, strict=True)
        if not can.all()
    )
    return BadData(
        f"no row of the leak can be read: each holds a value that no version could show ({known} known)",
        remedy="Leave out columns that were changed; if none was, it is not ours.",
        values=[text for texts in leak.strange().values() for text in texts],
    )
