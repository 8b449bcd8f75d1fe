"""A policy as promises see it: the columns they are about, and how the table is to be protected.

The policy itself is defined further up. What stands here is all that a promise may ask of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

from sfumato.core.microdata import Role
from sfumato.core.taxonomy_rule import TaxonomyRule


class ColumnOptions(Protocol):
    """What a policy says of a column beyond role and taxonomy, for the promise that its role belongs to."""

    schema: ClassVar[Mapping[str, Any]]
    """The keys as fragments of JSON Schema, whose values are of any kind."""

    @classmethod
    def read(cls, words: Mapping[str, Any]) -> Self:
        """From the keys of one column, as YAML gives them; raises `BadPolicy` that names the key."""
        ...

    def words(self) -> dict[str, object]:
        """The keys as a policy writes them."""
        ...


class ColumnView(Protocol):
    """What a policy says of one column."""

    @property
    def role(self) -> Role: ...

    @property
    def taxonomy(self) -> TaxonomyRule | None: ...

    @property
    def options(self) -> ColumnOptions | None: ...


class ProtectView(Protocol):
    """How a policy wants its table to be protected."""

    @property
    def search(self) -> str: ...

    @property
    def suppress(self) -> Fraction:
        """The largest share of the rows that may be left out."""
        ...


class PolicyView(Protocol):
    """What a policy says, apart from its promises."""

    @property
    def columns(self) -> Mapping[str, ColumnView]: ...

    @property
    def protect(self) -> ProtectView: ...

    @property
    def person(self) -> str | None:
        """The column that tells people apart where somebody has several rows."""
        ...

    @property
    def by_profile(self) -> bool:
        """Whether outsiders are taken to know all rows of a person."""
        ...
