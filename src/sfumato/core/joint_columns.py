"""Joint columns: the term sets that a row holds in several columns, taken together as one.

Whoever knows what terms of two columns say about the same labels looks at both. A joint column has no place
in a table: its values are made from those of its parts, every term with a mark that says which part it is
of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.packing import Packing, sort_and_count
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.term_sets import terms_of, text_of

PART_END = "\x1e"
"""Stands between the number of a part and a term of it."""


@dataclass(frozen=True)
class JointColumn:
    """Columns of term sets that are looked at together; one may be a part twice, for two tables."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return " and ".join(self.parts)


def tagged(part: int, terms: Iterable[str]) -> list[str]:
    """Returns the terms of one part as they stand in a joint column.

    >>> untagged(0, tagged(0, ["fever"]) + tagged(1, ["rash"]))
    ['fever']
    """
    return [f"{part}{PART_END}{term}" for term in terms]


def untagged(part: int, terms: Iterable[str]) -> list[str]:
    """Returns those of some terms of a joint column that are of one part."""
    start = f"{part}{PART_END}"
    return [term.removeprefix(start) for term in terms if term.startswith(start)]


def joined(
    trees: Sequence[Taxonomy], codes: Sequence[NDArray[np.integer]]
) -> tuple[Taxonomy, NDArray[np.int32]]:
    """Returns the joint values that rows hold, as a flat taxonomy, and the leaf rank of every row."""
    packing = Packing(tuple(max(1, len(tree.leaves)) for tree in trees))
    packed = packing.pack(codes)
    distinct, _ = sort_and_count(packed.copy())
    columns = [packing.unpack(distinct, j).tolist() for j in range(len(trees))]
    labels = [tree.leaf_labels for tree in trees]
    texts = [_text([labels[j][v] for j, v in enumerate(row)]) for row in zip(*columns, strict=True)]
    order = sorted(set(texts))
    rank = {text: i for i, text in enumerate(order)}
    of_value = np.array([rank[text] for text in texts], np.int32)
    number = np.unique(packed.T, axis=0, return_inverse=True)[1].ravel()
    return Taxonomy.flat(order), of_value[number]


def _text(texts: Sequence[Label]) -> str:
    return text_of(term for part, text in enumerate(texts) for term in tagged(part, terms_of(text)))
