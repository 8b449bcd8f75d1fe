"""The register: everybody's key columns, and the class of a published table that each of them must be in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.worlds.published_boxes import PublishedBoxes
from sfumato.core.errors import BadData
from sfumato.core.microdata import Codes, Counts

NOWHERE = -1
"""The owner of a key whose class is not known."""


@dataclass(frozen=True, eq=False)
class Register:
    """Everybody's key columns: `codes[i]` are the leaf ranks of a key that `people[i]` people of class
    `owner[i]` have; `NOWHERE` if the table leaves several classes open. `placed[c]` says that everybody in
    class c is known."""

    codes: Codes
    people: tuple[int, ...]
    owner: tuple[int, ...]
    placed: NDArray[np.bool_]

    @classmethod
    def of(cls, boxes: PublishedBoxes, codes: Codes) -> Register:
        """Places people, one row of leaf ranks each, in the classes of a published table.

        Boxes of a local recoding may overlap. People with equal keys are in one class, and classes have as
        many people as rows: who is in which follows from that as far as one class is left for a key, or as
        many people as it lacks for a class. Raises `BadData` where somebody fits no class, or classes have
        other people than rows.
        """
        keys, often = np.unique(codes, axis=0, return_counts=True)
        fits = np.ones((len(keys), len(boxes.low)), bool)
        for j in range(len(boxes.keys)):
            code = keys[:, j, None]
            fits &= (boxes.low[:, j] <= code) & (code < boxes.high[:, j])
        owner, lacking = _place(fits, often.astype(np.int64), boxes.sizes)
        return cls(keys.astype(np.int32), tuple(often.tolist()), tuple(owner.tolist()), lacking == 0)

    @property
    def complete(self) -> bool:
        """Whether the class of everybody is known."""
        return bool(self.placed.all())

    def keys_of(self, c: int) -> list[int]:
        """Returns the keys that people of class c have."""
        return self.by_class.get(c, [])

    def key_numbers(self, c: int) -> NDArray[np.intp]:
        """Returns, for every person of class c, which of its keys they have."""
        keys = self.keys_of(c)
        return np.repeat(np.arange(len(keys)), [self.people[i] for i in keys])

    def people_of(self, c: int) -> Codes:
        """Returns the leaf ranks of the people of class c, one row each."""
        codes: Codes = self.codes[self.keys_of(c)][self.key_numbers(c)]
        return codes

    @cached_property
    def by_class(self) -> dict[int, list[int]]:
        """By class, the keys that its people have."""
        found: dict[int, list[int]] = {}
        for i, owner in enumerate(self.owner):
            found.setdefault(owner, []).append(i)
        return found


def _place(fits: NDArray[np.bool_], often: Counts, sizes: Counts) -> tuple[Codes, Counts]:
    """Returns the class of every key as far as it follows, and how many people every class lacks."""
    owner, lacking = np.full(len(fits), NOWHERE, np.int32), sizes.copy()
    left = np.arange(len(fits))
    while len(left):
        fits = fits & (often[left, None] <= lacking)
        options = fits.sum(axis=1)
        if not options.all():
            raise BadData(
                f"{int(often[left[options == 0]].sum())} people of the register fit no class",
                remedy="Give the register of the people in this table, and the table that was published.",
            )
        short = (lacking > 0) & (fits.T @ often[left] == lacking)
        sure = (options == 1) | (fits & short).any(axis=1)
        if not sure.any():
            break
        goal = np.where((fits & short).any(axis=1), (fits & short).argmax(axis=1), fits.argmax(axis=1))[sure]
        owner[left[sure]] = goal
        np.subtract.at(lacking, goal, often[left[sure]])
        left, fits = left[~sure], fits[~sure]
        _agree(lacking)
    if not len(left):
        _agree(-np.abs(lacking))
    return owner, lacking


def _agree(lacking: Counts) -> None:
    if np.any(lacking < 0):
        raise BadData(
            f"{int((lacking < 0).sum())} classes have other people in the register than rows",
            remedy="The register must list everybody in the table once; no row may be suppressed.",
        )
