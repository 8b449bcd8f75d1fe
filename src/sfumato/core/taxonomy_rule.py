"""Taxonomy rules, as the policy declares them: they make a taxonomy from the values that occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, Self

from sfumato.core.taxonomy import Label, Taxonomy

Spec = Mapping[str, object]
"""A taxonomy as a policy writes it: `{prefix: [4, 3, 1]}`."""


class TaxonomyRule(Protocol):
    """How a column's taxonomy comes about; `build` receives the values that occur (`None`: an empty cell)."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the leaves means something."""
        ...

    @property
    def spec(self) -> Spec:
        """The rule as a policy writes it."""
        ...

    @property
    def digest(self) -> str:
        """A fingerprint of what lies outside the policy (a file), else empty."""
        ...

    def build(self, values: Sequence[Label]) -> Taxonomy: ...


class Builder(TaxonomyRule, Protocol):
    """A rule that a policy can name: its key, its shape, and how to read it."""

    key: ClassVar[str]
    schema: ClassVar[Mapping[str, object]]

    @classmethod
    def read(cls, spec: Spec, folder: Path | None) -> Self:
        """From the policy's words; raises `BadPolicy` or `BadTaxonomy`."""
        ...
