"""How sensitive a value is: the share of what it stands for that must not be learned."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadPolicy
from sfumato.core.taxonomy import ROOT, Label, Taxonomy

Leaves = NDArray[np.bool_]
"""One truth per leaf."""


class Sensitivity(Protocol):
    """Gives every node of a taxonomy its sensitivity s, a probability.

    The Sensitivity principle: s(a) is the probability that a published `a` stands for sensitive leaves. So
    it is 1 on a sensitive leaf, 0 wherever no leaf below is sensitive, and between 0 and 1 elsewhere.
    Leaves count whether or not they occur in a table.
    """

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> Sequence[Fraction]:
        """One number per node, in the order of the nodes."""
        ...


def aggregate(taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
    """The share of the leaves below that are sensitive: to learn that it is any of them is harm.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> [str(s) for s in aggregate(tree, np.array([False, True, True]))]
    ['2/3', '1/2', '0', '1', '1']
    """
    return [Fraction(s, n) for s, n in _sensitive_and_all(taxonomy, sensitive)]


def particular(taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
    """The same share over the leaves once more: harm is to learn which one it is (the non-aggregate model).

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> [str(s) for s in particular(tree, np.array([False, True, True]))]
    ['2/9', '1/4', '0', '1', '1']
    """
    return [Fraction(s, n * n) for s, n in _sensitive_and_all(taxonomy, sensitive)]


def sensitive_leaves_below(taxonomy: Taxonomy, sensitive: Leaves) -> NDArray[np.int64]:
    """How many sensitive leaves each node covers."""
    before = np.concatenate(([0], np.cumsum(sensitive))).astype(np.int64)
    count: NDArray[np.int64] = before[taxonomy.high] - before[taxonomy.low]
    return count


def guarded_leaves(taxonomy: Taxonomy, labels: Sequence[Label], *, column: str) -> Leaves:
    """The leaves below a guarding set: the highest nodes that cover what is sensitive, and nothing else."""
    sensitive = np.zeros(len(taxonomy.leaves), dtype=bool)
    for label in labels:
        try:
            node = taxonomy.node(label)
        except KeyError:
            raise BadPolicy(
                f"{'a missing cell' if label is None else 'a value'} is to be guarded that is not in the"
                " column's taxonomy",
                where=f"columns.{column}.sensitive",
                remedy="Name a node of the taxonomy; write it down there if the data may lack it.",
                values=[] if label is None else [label],
            ) from None
        sensitive[taxonomy.low[node] : taxonomy.high[node]] = True
    return sensitive


def check_sensitivity(
    taxonomy: Taxonomy, sensitive: Leaves, values: Sequence[Fraction], *, column: str
) -> None:
    """Raise `BadPolicy`, naming the node, where the Sensitivity principle is violated."""
    if len(values) != len(taxonomy.labels):
        raise BadPolicy("a sensitivity gives one number per node", where=f"columns.{column}")
    some = sensitive_leaves_below(taxonomy, sensitive)
    for node, value in enumerate(values):
        leaf = taxonomy.end[node] == node + 1
        wrong = ""
        if not 0 <= value <= 1:
            wrong = "must be a probability, from 0 to 1"
        elif value and not some[node]:
            wrong = "must be 0: no leaf below is sensitive"
        elif leaf and node != ROOT and some[node] and value != 1:
            wrong = "must be 1: the leaf is sensitive"
        if wrong:
            raise BadPolicy(
                f"the sensitivity of {node_name(taxonomy, node)} {wrong}",
                where=f"columns.{column}",
                remedy="It violates the Sensitivity principle.",
                values=[str(taxonomy.labels[node])],
            )


def node_name(taxonomy: Taxonomy, node: int) -> str:
    """The name of a node in a message; a leaf may be a cell of the table, so the node above names it.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> node_name(tree, 1), node_name(tree, 3)
    ('Viral', 'leaf 2 below Viral')
    """
    if node == ROOT or taxonomy.end[node] > node + 1:
        return str(taxonomy.labels[node])
    above = int(taxonomy.parent[node])
    return f"leaf {taxonomy.children(above).index(node) + 1} below {taxonomy.labels[above]}"


def _sensitive_and_all(taxonomy: Taxonomy, sensitive: Leaves) -> list[tuple[int, int]]:
    return list(
        zip(
            sensitive_leaves_below(taxonomy, sensitive).tolist(),
            np.maximum(taxonomy.leaf_count, 1).tolist(),
            strict=True,
        )
    )
