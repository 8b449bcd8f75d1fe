"""The register: everybody's key columns, and the class of a published table that each of them must be in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.worlds.published_boxes import PublishedBoxes
from sfumato.core.errors import BadData
from sfumato.core.microdata import Codes, Counts

NOWHERE = -1
"""The owner of a key whose class is not known."""

NOBODY = Fraction(0)


@dataclass(frozen=True, eq=False)
class Register:
    """Everybody's key columns: `codes[i]` are the leaf ranks of a key that `people[i]` people of class
    `owner[i]` have; `NOWHERE` if the table leaves several classes open. `placed[c]` says that everybody in
    class c is known. The number behind the last class, `suppressed`, stands for those who are in none: so
    many as `gone`, all of them known where `gone_known`. Further people were `dropped`, for want of a key."""

    codes: Codes
    people: tuple[int, ...]
    owner: tuple[int, ...]
    placed: NDArray[np.bool_]
    gone: int = 0
    gone_known: bool = True
    dropped: int = 0

    @classmethod
    def of(
        cls, boxes: PublishedBoxes, codes: Codes, *, suppress: Fraction = NOBODY, dropped: int = 0
    ) -> Register:
        """Places people, one row of leaf ranks each, in the classes of a published table.

        Boxes of a local recoding may overlap. People with equal keys are in one class, and classes have as
        many people as rows: who is in which follows from that as far as one class is left for a key, or as
        many people as it lacks for a class. Whoever is beyond the published rows was suppressed, with all who
        have the same keys, if no more are than the share `suppress` allows. Raises `BadData` where somebody
        fits no class, or classes have other people than rows.
        """
        gone = _gone(len(codes), int(boxes.sizes.sum()), suppress, dropped)
        keys, often = np.unique(codes, axis=0, return_counts=True)
        fits = np.ones((len(keys), len(boxes.low)), bool)
        for j in range(len(boxes.keys)):
            code = keys[:, j, None]
            fits &= (boxes.low[:, j] <= code) & (code < boxes.high[:, j])
        sizes = boxes.sizes
        if gone:
            fits, sizes = np.pad(fits, ((0, 0), (0, 1)), constant_values=True), np.append(sizes, gone)
        owner, lacking = _place(fits, often.astype(np.int64), sizes)
        placed, missing = np.split(lacking == 0, [len(boxes.low)])
        people, classes = tuple(often.tolist()), tuple(owner.tolist())
        return cls(keys.astype(np.int32), people, classes, placed, gone, bool(missing.all()), dropped)

    @property
    def suppressed(self) -> int:
        """The number that stands for people who are in no class."""
        return len(self.placed)

    @property
    def complete(self) -> bool:
        """Whether the class of everybody is known, or that they are in none."""
        return bool(self.placed.all()) and self.gone_known

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


def _gone(people: int, rows: int, suppress: Fraction, dropped: int) -> int:
    """Returns how many people were suppressed; too many are people of another table."""
    gone, most = people - rows, max(0, int((people + dropped) * suppress) - dropped)
    if gone > most:
        raise BadData(
            f"the register has {gone} people more than the table has rows, and {most} can be suppressed",
            remedy="Give the register of the people in this table. Whoever is suppressed is looked for where"
            " `protect: suppress` allows it and whole classes are suppressed, by top-down, lattice or best.",
        )
    return max(0, gone)


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
            remedy="The register must list everybody in the table once, and whoever was suppressed.",
        )
