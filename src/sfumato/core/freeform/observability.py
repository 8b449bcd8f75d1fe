"""How well a value can be observed on a person by somebody from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from sfumato.core.errors import BadPolicy
from sfumato.core.freeform.sensitivity import Leaves, node_name, sensitive_leaves_below
from sfumato.core.taxonomy import Label, Taxonomy


class Observability(Protocol):
    """Gives every node of a taxonomy its observability o, from 0 to 1.

    The Observability principle: whoever observes a value observes everything above it, so o never falls
    from a node to its parent. Several values are as observable as the least of them. Whatever o says, a
    root is observable: it says nothing.
    """

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> Sequence[Fraction]:
        """One number per node, in the order of the nodes."""
        ...


def unless_sensitive(taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:
    """0 where every leaf below is sensitive, else 1.

    >>> import numpy as np
    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> [int(o) for o in unless_sensitive(tree, np.array([False, True, True]))]
    [1, 1, 1, 0, 0]
    """
    hidden = sensitive_leaves_below(taxonomy, sensitive) == taxonomy.leaf_count
    return [Fraction(int(not h)) for h in hidden.tolist()]


@dataclass(frozen=True)
class Belief:
    """What the publisher believes of each leaf; a parent is as observable as its best child, plus `boost`.

    `leaf` is one number for all leaves, or maps labels to numbers: a label speaks for every leaf below it,
    the lowest one wins, and leaves that none speaks for are observable (1).

    >>> import numpy as np
    >>> tree = Taxonomy.grow(["*", "High", "190K", "160K", "Low", "40K"], [-1, 0, 1, 1, 0, 4])
    >>> [int(o) for o in Belief(Fraction(0), Fraction(1))(tree, np.zeros(3, bool))]
    [1, 1, 0, 0, 1, 0]
    """

    leaf: Fraction | Mapping[Label, Fraction] = field(default=Fraction(0), hash=False)
    boost: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        said = self.leaf if isinstance(self.leaf, Mapping) else {None: self.leaf}
        if not all(0 <= value <= 1 for value in said.values()):
            raise BadPolicy("a belief must be from 0 to 1", where="observable")
        if not 0 <= self.boost <= 1:
            raise BadPolicy("the boost must be from 0 to 1", where="observable")

    def __call__(self, taxonomy: Taxonomy, sensitive: Leaves) -> list[Fraction]:  # noqa: ARG002  # the seam's
        observability = [Fraction(0)] * len(taxonomy.labels)
        for leaf, value in zip(taxonomy.leaves.tolist(), self._leaves(taxonomy), strict=True):
            observability[leaf] = value
        best: list[Fraction | None] = [None] * len(observability)
        for node in reversed(range(len(observability))):
            top = best[node]
            if top is not None:
                observability[node] = min(Fraction(1), self.boost + top)
            above = int(taxonomy.parent[node])
            if above >= 0:
                held = best[above]
                own = observability[node]
                best[above] = own if held is None else max(held, own)
        return observability

    def _leaves(self, taxonomy: Taxonomy) -> list[Fraction]:
        if not isinstance(self.leaf, Mapping):
            return [self.leaf] * len(taxonomy.leaves)
        said = {}
        for label, value in self.leaf.items():
            try:
                said[taxonomy.node(label)] = value
            except KeyError:
                raise BadPolicy(
                    "a belief speaks of what is no value of the column's taxonomy",
                    where="observable",
                    remedy="Name a node of the taxonomy; write it down there if the data may lack it.",
                    values=[] if label is None else [label],
                ) from None
        beliefs = [Fraction(1)] * len(taxonomy.leaves)
        for node in sorted(said):
            for rank in range(int(taxonomy.low[node]), int(taxonomy.high[node])):
                beliefs[rank] = said[node]
        return beliefs


def check_observability(taxonomy: Taxonomy, values: Sequence[Fraction], *, column: str) -> None:
    """Raise `BadPolicy`, naming the node, where the Observability principle is violated."""
    if len(values) != len(taxonomy.labels):
        raise BadPolicy("an observability gives one number per node", where=f"columns.{column}")
    for node, value in enumerate(values):
        above = int(taxonomy.parent[node])
        wrong = ""
        if not 0 <= value <= 1:
            wrong = f"the observability of {node_name(taxonomy, node)} must be from 0 to 1"
        elif above >= 0 and values[above] < value:
            wrong = f"{taxonomy.labels[above]} is less observable than {node_name(taxonomy, node)}"
        if wrong:
            raise BadPolicy(
                wrong,
                where=f"columns.{column}.observable",
                remedy="It violates the Observability principle: who sees a value sees what is above it.",
                values=[str(taxonomy.labels[node])],
            )
