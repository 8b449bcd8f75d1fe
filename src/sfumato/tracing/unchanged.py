"""Columns that are published unchanged, compared jointly: what versions show in all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from sfumato.core.imprint import Imprint
from sfumato.tracing.content import rows_held_jointly, rows_shown_with
from sfumato.tracing.leak import LEAST_READABLE, Flags, Leak
from sfumato.tracing.versions import HeldVersion

VERSIONS_PER_EVENT = 4
"""So many versions of an event are compared in their unchanged columns: all show the same table."""


@dataclass(frozen=True, eq=False)
class UnchangedColumns:
    """What the versions that were looked at say about columns that are published unchanged.

    An imprint knows the texts of all such columns of a row together. Per event, `shown` flags the rows of the
    leak whose texts occur in its table, and `held` those that it has a record for with these texts. An event
    is in neither if the leak lacks one of the columns, or if next to nothing in them is as published: then
    they were changed, and are left aside. `taken[j]` flags the rows in which column j of the leak, under the
    name of a key column, may be one of the unchanged columns, which is not where it should be.
    `exchangeable` are columns, and names of unchanged ones, that some rows show if the one is taken for the
    other.
    """

    shown: Mapping[str, Flags] = field(default_factory=dict)
    held: Mapping[str, Flags] = field(default_factory=dict)
    taken: Mapping[int, Flags] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    looked_at: Mapping[str, int] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    exchangeable: frozenset[tuple[int, str]] = frozenset()

    def learn(self, leak: Leak, version: HeldVersion, imprint: Imprint, rows: Flags) -> UnchangedColumns:
        """Returns the same after a version was looked at that holds records for these rows."""
        event, before = version.event, self.looked_at.get(version.event, 0)
        if not imprint.unchanged or before >= VERSIONS_PER_EVENT:
            return self
        shown = rows_shown_with(leak, imprint)
        taken, exchangeable = self._taken(leak, imprint, shown)
        known = replace(
            self,
            looked_at={**self.looked_at, event: before + 1},
            taken=taken,
            exchangeable=self.exchangeable | exchangeable,
        )
        if shown is None or not _mostly_known(leak, shown):
            return known
        held = rows_held_jointly(leak, version, imprint, rows & shown)
        before_it = self.held.get(event)
        if before_it is not None:
            held = _in_all_whole(held, before_it, whole=(version.whole, event in self.whole))
        return replace(
            known,
            shown={**self.shown, event: shown | self.shown.get(event, np.zeros_like(shown))},
            held={**self.held, event: held},
            names=self.names | set(imprint.unchanged),
            whole=self.whole | {event} if version.whole else self.whole,
        )

    def _taken(
        self, leak: Leak, imprint: Imprint, shown: Flags | None
    ) -> tuple[Mapping[int, Flags], set[tuple[int, str]]]:
        """Flags, per column, rows that this version shows if the column is taken for an unchanged one; and
        says which columns can be taken for which.

        Rows whose unchanged columns are where they should be are not flagged.
        """
        taken, exchangeable = dict(self.taken), set[tuple[int, str]]()
        for j, own in enumerate(leak.names):
            for name in imprint.unchanged if own not in leak.fixed else ():
                rows = rows_shown_with(leak, imprint, instead=(name, j))
                if rows is not None:
                    exchangeable |= {(j, name)} if rows.any() else set()
                    rows = rows if shown is None else rows & ~shown
                    taken[j] = rows | taken.get(j, np.zeros_like(rows))
        return taken, exchangeable

    def never_shown(self, events: frozenset[str], rows: int) -> Flags:
        """Flags the rows with texts that no event shows; none where some event cannot say."""
        if not events or not events <= set(self.shown):
            return np.zeros(rows, dtype=bool)
        return ~self._any_shown

    @cached_property
    def _any_shown(self) -> Flags:
        shown: Flags = np.logical_or.reduce(list(self.shown.values()))
        return shown

    def may_hold(self, event: str, rows: int) -> Flags:
        """Flags the rows that an event has a record for with these texts; all where it cannot say."""
        return self.held.get(event, np.ones(rows, dtype=bool))


def _in_all_whole(held: Flags, before: Flags, *, whole: tuple[bool, bool]) -> Flags:
    """Returns the rows that every whole version holds; while there is none, those that some version holds."""
    now, earlier = whole
    if now != earlier:
        return held if now else before
    return held & before if now else held | before


def _mostly_known(leak: Leak, shown: Flags) -> bool:
    """Whether enough of the rows that can be read have unchanged texts as published."""
    total = int(leak.counts[leak.legible].sum())
    return bool(total) and int(leak.counts[leak.legible & shown].sum()) >= LEAST_READABLE * total
