"""Releases side by side have to show the same columns; in which order does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint


def show_other_columns(names: Sequence[str], unchanged: Sequence[str], imprint: Imprint) -> bool:
    """Whether a release shows other columns than these, in whatever order."""
    return sorted(imprint.names) != sorted(names) or sorted(imprint.unchanged) != sorted(unchanged)


def in_key_order(imprint: Imprint, names: Sequence[str]) -> Imprint:
    """Returns a release with its key columns in this order, to be compared; `names` are just these columns.

    Its classes keep their numbers. Other releases know it by its digest in its own order.
    """
    if imprint.names == tuple(names):
        return imprint
    place = {name: j for j, name in enumerate(imprint.names)}
    order = [place[name] for name in names]
    nodes = np.ascontiguousarray(imprint.nodes[:, order])
    return replace(imprint, keys=tuple(imprint.keys[j] for j in order), nodes=nodes)


def in_order_of_newest(imprints: Sequence[Imprint]) -> list[Imprint]:
    """Returns releases with their key columns in the order of the newest; raises where columns differ."""
    for i, imprint in enumerate(imprints):
        refuse_other_columns(imprints[-1].names, imprints[-1].unchanged, imprint, i)
    return [in_key_order(imprint, imprints[-1].names) for imprint in imprints]


def refuse_other_columns(names: Sequence[str], unchanged: Sequence[str], imprint: Imprint, i: int) -> None:
    """Raises where an earlier release, number i from 0 on, showed other columns than these."""
    if show_other_columns(names, unchanged, imprint):
        raise RefusedByHistory(
            f"release {i + 1} showed other columns: {len(imprint.names)} key columns and "
            f"{len(imprint.unchanged)} unchanged ones, now {len(names)} and {len(unchanged)}, or others",
            remedy="Publish the same columns under the same names and in the same roles, or start a new chain"
            " with the people who were never published.",
        )
