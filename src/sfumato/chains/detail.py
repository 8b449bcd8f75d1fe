"""The detail of cuts: which are finer than others, and which releases show the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.chain import Chain, ClassTable
from sfumato.core.taxonomy import Nodes, Taxonomy


class Detail:
    """The different cuts of a chain, by number, and which of them are finer than others.

    What a node shows is the values below it: a node and its only child show the same.
    """

    def __init__(self, trees: Sequence[Taxonomy]) -> None:
        self._trees = trees
        self._numbers: dict[bytes, int] = {}
        self._widths: list[NDArray[np.int32]] = []
        self._known: dict[tuple[int, int], bool] = {}

    def number(self, node_of: Sequence[Nodes]) -> int:
        key = _key(node_of)
        if key not in self._numbers:
            self._numbers[key] = len(self._widths)
            widths = [tree.leaf_count[cut] for tree, cut in zip(self._trees, node_of, strict=True)]
            self._widths.append(np.concatenate([np.zeros(0, np.int32), *widths]))
        return self._numbers[key]

    def is_finer(self, one: int, other: int) -> bool:
        """Whether every class of one cut is within a class of the other; the same cut is."""
        if (one, other) not in self._known:
            self._known[one, other] = bool(np.all(self._widths[one] <= self._widths[other]))
        return self._known[one, other]


def last_finer_release(chain: Chain) -> list[int]:
    """For every release the last one before it whose cuts are at least as fine; -1: none is.

    Whoever is in the finer one is counted there, and what they show in the later one follows from it.
    """
    fine = Detail(chain.trees)
    cut = [fine.number(release.node_of) for release in chain.releases]
    return [
        next((i for i in reversed(range(j)) if fine.is_finer(cut[i], cut[j])), -1) for j in range(len(chain))
    ]


def closing_releases(chain: Chain) -> list[int]:
    """The releases that close a chain, oldest first: none after them shows more than they do.

    Nobody who was in such a release is bound by a later one, and no later count tells anything of them. So
    the worlds of those who came until then, and of those who came after, have nothing to do with each other.
    """
    finer = last_finer_release(chain)
    closing, least = [], len(chain)
    for i in reversed(range(len(chain))):
        if least >= i:
            closing.append(i)
        least = min(least, finer[i])
    return closing[::-1]


def by_cut(releases: Sequence[ClassTable]) -> list[list[int]]:
    """The numbers of the releases that share their cuts, group by group, in the order of the first."""
    groups: dict[bytes, list[int]] = {}
    for i, release in enumerate(releases):
        groups.setdefault(_key(release.node_of), []).append(i)
    return list(groups.values())


def _key(node_of: Sequence[Nodes]) -> bytes:
    return b"".join(cut.tobytes() for cut in node_of)
