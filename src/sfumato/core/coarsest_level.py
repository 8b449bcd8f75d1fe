"""The ceiling of a tree: the coarsest level that may be published, and what lies within it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.taxonomy import Nodes, Taxonomy


def never_above(tree: Taxonomy, level: int | None) -> Taxonomy:
    """Returns the same tree, nothing of which may be published above this level; `None`: up to the root."""
    return tree if level == tree.at_most else replace(tree, at_most=level)


def within_ceiling(tree: Taxonomy) -> NDArray[np.bool_]:
    """Returns for every node whether it may be published: it is at the ceiling, or below a node that is.

    >>> t = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> within_ceiling(never_above(t, 1)).tolist(), within_ceiling(t).all()
    ([False, True, True, True, True], np.True_)
    """
    top = tree.levels[tree.ceiling]
    return np.asarray(top[tree.low] <= np.arange(len(tree.labels)), dtype=np.bool_)


def nodes_above_ceiling(tree: Taxonomy) -> Nodes:
    """Returns the nodes that may not be published, every parent before its children."""
    return np.flatnonzero(~within_ceiling(tree)).astype(np.int32)
