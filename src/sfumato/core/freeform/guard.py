"""The guard of a column: which of its values can be observed, and how sensitive each is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadPolicy
from sfumato.core.freeform.observability import Observability, check_observability, unless_sensitive
from sfumato.core.freeform.sensitivity import Sensitivity, aggregate, check_sensitivity, guarded_leaves
from sfumato.core.taxonomy import ROOT, Label, Taxonomy
from sfumato.core.taxonomy_rule import TaxonomyRule


@dataclass(frozen=True)
class FreeColumn:
    """What is declared of a free column.

    `sensitive` is its guarding set: labels of nodes, every leaf below them is sensitive. `rule` is the
    taxonomy rule of the policy, for judges that see published labels alone.
    """

    sensitive: tuple[Label, ...] = ()
    sensitivity: Sensitivity = aggregate
    observability: Observability = unless_sensitive
    rule: TaxonomyRule | None = field(default=None, compare=False)

    def guard(self, taxonomy: Taxonomy, threshold: Fraction, *, column: str = "") -> Guard:
        """The guard of the column; raises `BadPolicy`, naming column and node, where a principle fails."""
        leaves = guarded_leaves(taxonomy, self.sensitive, column=column)
        s = _exact(self.sensitivity(taxonomy, leaves))
        check_sensitivity(taxonomy, leaves, s, column=column)
        try:
            o = _exact(self.observability(taxonomy, leaves))
        except BadPolicy as wrong:
            place = f"columns.{column}.{wrong.where}"
            raise BadPolicy(wrong.message, remedy=wrong.remedy, where=place) from None
        check_observability(taxonomy, o, column=column)
        return Guard(taxonomy, s, tuple(value >= threshold for value in o))


@dataclass(frozen=True, eq=False)
class Guard:
    """Per node: the sensitivity, and whether it can be observed. A root is always observable."""

    taxonomy: Taxonomy
    sensitivity: tuple[Fraction, ...]
    observable: tuple[bool, ...]

    @classmethod
    def all_observable(cls, taxonomy: Taxonomy) -> Guard:
        """The guard of a column of which everything can be observed and nothing is sensitive."""
        nodes = len(taxonomy.labels)
        return cls(taxonomy, (Fraction(0),) * nodes, (True,) * nodes)

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which nodes can be observed."""
        seen = np.array(self.observable, dtype=bool)
        seen[ROOT] = True
        return seen


def _exact(values: Iterable[Fraction]) -> tuple[Fraction, ...]:
    """The numbers that a sensitivity or observability of the caller gave, checked to be numbers."""
    try:
        return tuple(Fraction(value) for value in values)
    except (TypeError, ValueError):
        raise BadPolicy("sensitivities and observabilities are numbers", where="columns") from None
