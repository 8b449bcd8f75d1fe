"""What may be inferred at most, value by value: what a freeform promise tells attacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sfumato.core.freeform.guard import FreeColumn
from sfumato.core.limits import AttackLimit


@dataclass(frozen=True)
class FreeformLimit(AttackLimit):
    """No inference of a value that cannot be observed has a threat above `threat`.

    A value is observable from `observability` on. `columns` says what is declared of the free columns; values
    of other key columns are observable.
    """

    threat: Fraction
    observability: Fraction
    columns: Mapping[str, FreeColumn] = field(hash=False)
