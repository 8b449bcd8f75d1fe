"""The policy: what each column is, what is promised, and how to get there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from sfumato.terms.microdata import Coding, Missing, Role
from sfumato.terms.promise import Promises
from sfumato.terms.taxonomy import Label, Taxonomy


class TaxonomyRule(Protocol):
    """How a column's taxonomy comes about; `build` receives the values that occur (`None`: an empty cell)."""

    def build(self, values: Sequence[Label]) -> Taxonomy: ...


@dataclass(frozen=True)
class ColumnRule:
    """What one column is."""

    role: Role
    taxonomy: TaxonomyRule | None = None


@dataclass(frozen=True)
class ProtectRule:
    """How to look for a recoding."""

    search: str = "top-down"
    suppress: Fraction = Fraction(0)
    loss: str = "loss"
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    relaxed: bool = False


@dataclass(frozen=True)
class Policy:
    """Roles, taxonomies, promises: everything a release is held to."""

    columns: Mapping[str, ColumnRule]
    promises: Promises
    protect: ProtectRule = ProtectRule()
    missing: Missing = Missing.OWN_VALUE
    person: str | None = None
    folder: Path | None = None

    @property
    def codings(self) -> tuple[Coding, ...]:
        """How the columns that promises look at are to be coded, in the order of the policy."""
        raise NotImplementedError
