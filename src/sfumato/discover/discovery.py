"""A discovery: which columns single people out, how strongly, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.json_object import JsonObject
from sfumato.discovery.charts import charts
from sfumato.discovery.evidence import DiscoveryEvidence
from sfumato.discovery.suggestion import suggest
from sfumato.discovery.summary import card, document
from sfumato.policy.policy import Policy
from sfumato.show.card import Card, Printable
from sfumato.show.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class Discovery(DiscoveryEvidence, Printable):
    """What `sf.discover` found. Numbers are exact, names are those of columns, no cell value is shown.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"zip": ["1", "1", "2", "2"], "sex": ["f", "m", "f", "m"], "alive": [True] * 4})
    >>> scan = sf.discover(people, k=2, mode="any")
    >>> scan.minimal, scan.minimum, scan.proved, scan.exposed
    ([('zip', 'sex')], ('zip', 'sex'), True, 4)
    """

    def suggest(self, preset: str | None = None) -> Policy:
        """A policy from all this evidence, each role with its reason; to be read before it is used."""
        return suggest(self, preset=preset)

    def charts(self) -> tuple[Chart, ...]:
        """What can be drawn: the exposed share by the size of the set, the contribution of each column."""
        return charts(self)

    def card(self) -> Card:
        """The discovery in a few lines."""
        return card(self)

    def as_dict(self) -> JsonObject:
        """The discovery as JSON: the same names, fractions exact as text, no cell values."""
        return document(self)

    def __repr__(self) -> str:
        size = f"{self.rows} rows, {len(self.columns)} columns"
        return f"Discovery({size}, k={self.k}, {self.reading}, {len(self.found.sets)} sets)"
