"""Explanations of a leak: every minimal coalition of recipients that could have made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from math import prod
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sfumato.recipients.leak import Flags

LARGEST_COALITION = 8
"""Larger coalitions are not looked for."""
MOST_LISTED = 200_000
MOST_STEPS = 3_000_000
"""A search stops after it has listed so many coalitions of groups, or taken so many steps."""


@dataclass(frozen=True, eq=False)
class Explanations(Sequence[tuple[str, ...]]):
    """Coalitions of recipients, the smallest first; each could have made the leak, and no part of it could.

    Recipients who meet the same demands form a group: whoever explains a leak with one of them can do so
    with any other. `sets` are coalitions of groups; their members are drawn one by one when asked for.
    `complete` says that none is missing (there may be very many).

    >>> found = Explanations((("a", "b"), ("c",)), ((0, 1),))
    >>> len(found), list(found)
    (2, [('a', 'c'), ('b', 'c')])
    """

    groups: tuple[tuple[str, ...], ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()
    complete: bool = True

    def __len__(self) -> int:
        return sum(prod(len(self.groups[g]) for g in chosen) for chosen in self.sets)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        for chosen in self.sets:
            yield from product(*(self.groups[g] for g in chosen))

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[str, ...], ...]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, ...] | tuple[tuple[str, ...], ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        return next(islice(self, position, None))

    @cached_property
    def involving(self) -> Mapping[str, tuple[int, int]]:
        """Per recipient in one of them: the size of the smallest such explanation, and how many there are."""
        smallest, count = [0] * len(self.groups), [0] * len(self.groups)
        for chosen in self.sets:
            total = prod(len(self.groups[g]) for g in chosen)
            for g in chosen:
                smallest[g] = smallest[g] or len(chosen)
                count[g] += total // len(self.groups[g])
        return {
            name: (smallest[g], count[g]) for g, group in enumerate(self.groups) if count[g] for name in group
        }

    def __repr__(self) -> str:
        return f"Explanations({len(self)})"


@dataclass(frozen=True)
class SmallestCoalition:
    """The size of the smallest coalition that meets some demands; `None` if none does.

    Where it could not be `proved` in time, or is larger than what is looked for, it is a lower bound.
    """

    size: int | None
    proved: bool = True

    def __str__(self) -> str:
        if self.size is None:
            return "nobody"
        return str(self.size) if self.proved else f"{self.size} or more"


@dataclass(frozen=True, eq=False)
class Coalitions:
    """Sets of recipients of which a coalition needs one each, called its demands.

    `names` are the recipients in the order of the ledger, `demands[d]` flags those who can meet demand d.
    """

    names: tuple[str, ...]
    demands: Flags

    @cached_property
    def _needed(self) -> Flags:
        """The demands that contain no other one: whoever meets these meets all."""
        from sfumato.kernels.sample_uniques import without_supersets  # noqa: PLC0415  # compiled code waits

        sets = np.unique(self.demands, axis=0)
        sets = sets[np.argsort(sets.sum(axis=1), kind="stable")]
        return sets[without_supersets(_bits(sets))]

    @cached_property
    def _groups(self) -> tuple[Flags, tuple[tuple[int, ...], ...]]:
        """Recipients who meet the same demands, and what they meet; those who meet none are left out."""
        meetings = self._needed.T
        useful = np.flatnonzero(meetings.any(axis=1))
        if not len(useful):
            return np.zeros((0, len(self._needed)), dtype=bool), ()
        kinds, first, which = np.unique(meetings[useful], axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        group = np.argsort(order)[which.ravel()]
        members = [tuple(useful[group == g].tolist()) for g in range(len(kinds))]
        return kinds[order], tuple(members)

    def explanations(self, most: int) -> Explanations:
        """Returns every minimal coalition of at most `most` members; none where nothing is demanded."""
        if not len(self.demands):
            return Explanations()
        kinds, members = self._groups
        coalitions, complete = self._search(kinds, most, MOST_LISTED)
        sets = sorted((tuple(sorted(s)) for s in coalitions), key=lambda s: (len(s), s))
        groups = tuple(tuple(self.names[i] for i in group) for group in members)
        return Explanations(groups, tuple(sets), complete)

    def smallest(self, *, without: str | None = None, least: int = 1) -> SmallestCoalition:
        """Returns the size of the smallest coalition without one recipient, known to be at least `least`."""
        kinds, members = self._groups
        if without is not None:
            others = [g for g, group in enumerate(members) if [self.names[i] for i in group] != [without]]
            kinds = kinds[others]
        if not kinds.any(axis=0).all():
            return SmallestCoalition(None)
        for size in range(least, LARGEST_COALITION + 1):
            coalitions, complete = self._search(kinds, size, 1)
            if coalitions:
                return SmallestCoalition(len(coalitions[0]))
            if not complete:
                return SmallestCoalition(size, proved=False)
        return SmallestCoalition(LARGEST_COALITION + 1, proved=False)

    def certain(self, explanations: Explanations, most: int) -> dict[str, SmallestCoalition]:
        """Returns who is in every coalition of at most `most`, each with the smallest one without them."""
        if not explanations.sets:
            return {}
        common = set.intersection(*(set(chosen) for chosen in explanations.sets))
        alone = [explanations.groups[g][0] for g in sorted(common) if len(explanations.groups[g]) == 1]
        least = most + 1 if explanations.complete else 1
        without = {name: self.smallest(without=name, least=least) for name in alone}
        return {name: small for name, small in without.items() if small.size is None or small.size > most}

    @staticmethod
    def _search(kinds: Flags, most: int, room: int) -> tuple[list[list[int]], bool]:
        from sfumato.kernels.sample_uniques import DONE, hitting_sets  # noqa: PLC0415  # compiled code waits

        if not kinds.any(axis=0).all():
            return [], True
        sets, status = hitting_sets(_bits(kinds), _bits(kinds.T), most, room, MOST_STEPS)
        return [[g for g in chosen if g >= 0] for chosen in sets.tolist()], status == DONE


def _bits(flags: Flags) -> NDArray[np.uint64]:
    """Packs each row into bits of 64-bit words."""
    wide = max(1, -(-flags.shape[1] // 64))
    padded = np.zeros((len(flags), wide * 64), dtype=bool)
    padded[:, : flags.shape[1]] = flags
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
