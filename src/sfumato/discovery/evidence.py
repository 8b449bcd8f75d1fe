"""The evidence of a discovery: which columns single people out, and how strongly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.progress import Progress, silent
from sfumato.discovery.identifiers.detection import Identifier
from sfumato.discovery.quasi_identifiers.coded import NULL_RULE, Coded
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets
from sfumato.discovery.quasi_identifiers.limits import Limits
from sfumato.discovery.quasi_identifiers.measures import Measures, measure
from sfumato.discovery.quasi_identifiers.smallest import Smallest
from sfumato.discovery.record_risk import RecordRisk, record_risk
from sfumato.policy.column_evidence import TableEvidence

MOST_MEASURED, FEWEST_MEASURED, MOST_GROUPED_CELLS = 1000, 50, 300_000_000
"""At most a thousand minimal sets are measured, the smallest first; fewer, but at least fifty, where so many
cells would have to be grouped."""
FEWEST_IN_TIME = 3
"""So many sets are measured even where the deadline is over."""


@dataclass(frozen=True, eq=False)
class DiscoveryEvidence:
    """What a search for identifying columns found, in exact numbers. No cell value is in it."""

    whole: Measures
    found: MinimalSets
    smallest: Smallest
    identifiers: tuple[Identifier, ...]
    risk: RecordRisk | None = None
    table: Coded = field(repr=False, kw_only=True)
    survey: TableEvidence = field(repr=False, kw_only=True)
    method: str = field(default="exact", kw_only=True)
    assurance: str = field(default="", repr=False, kw_only=True)
    """What the method vouches for, where not all minimal sets are listed."""
    limits: Limits | None = field(default=None, repr=False, kw_only=True)
    """What the search was held to; under a deadline also how long sets may be measured."""
    risk_in_time: bool = field(default=True, repr=False, kw_only=True)
    """Whether the risk of records was counted, if it was asked for, before the deadline."""
    sample_of: int | None = field(default=None, repr=False, kw_only=True)
    """How many rows the table has, if only a sample was looked at. All figures are then the sample's: a
    record that k share there is shared by k in the table, but one that stands out there need not."""
    source: SourceForm = field(default=NO_FORM, repr=False, kw_only=True)
    """How the table was read, for the policy that is suggested."""

    @property
    def rows(self) -> int:
        return self.whole.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were searched."""
        return self.table.names

    @property
    def k(self) -> int:
        return self.found.terms.k

    @property
    def t(self) -> int:
        """So many exposed records make a set of columns a quasi-identifier."""
        return self.found.terms.t

    @property
    def reading(self) -> str:
        return self.found.terms.reading

    @property
    def null_rule(self) -> str:
        """How missing cells compare: `equal` to each other, different from all else."""
        return NULL_RULE

    @property
    def k_anonymous(self) -> bool:
        """Whether nobody is exposed under all columns, and hence under any."""
        return self.whole.k_anonymous

    @property
    def exposed(self) -> int:
        """How many records share all their values with fewer than k, themselves included."""
        return self.whole.exposed

    @property
    def minimal(self) -> Sequence[tuple[str, ...]]:
        """The minimal quasi-identifiers, smallest first; all up to `max_size` if `complete`.

        Each is made when it is looked at: millions of sets may have been found, and `len` knows how many.
        """
        return self.found.sets

    @property
    def complete(self) -> bool:
        return self.found.complete

    @property
    def max_size(self) -> int | None:
        return self.found.max_size

    @property
    def minimum(self) -> tuple[str, ...] | None:
        """The smallest quasi-identifier, or the smallest known if not `proved`; `None` if there is none."""
        return self.smallest.columns

    @property
    def minima(self) -> list[tuple[str, ...]]:
        """The smallest quasi-identifiers known: all there are, if `proved` and `all_minima`."""
        return list(self.smallest.sets)

    @property
    def all_minima(self) -> bool:
        return self.smallest.complete

    @property
    def complete_to(self) -> int | None:
        """No minimal set of at most so many columns is missing; `None` if none of any size is."""
        if self.complete:
            return self.max_size
        return self.found.complete_to

    @property
    def proved(self) -> bool:
        return self.smallest.proved

    @property
    def lower_bound(self) -> int:
        """No quasi-identifier has fewer columns."""
        return self.smallest.lower_bound

    @property
    def reason(self) -> str:
        """Why there is no quasi-identifier, or why the empty set is one; else empty."""
        return self.found.reason

    @property
    def duplicates(self) -> int:
        """How many rows repeat another one, where that matters to the reading."""
        return self.found.duplicates

    @cached_property
    def sets(self) -> tuple[Measures, ...]:
        """How strong each minimal set is, on all rows; of very many, or in a very long table, the first."""
        most = min(MOST_MEASURED, max(FEWEST_MEASURED, MOST_GROUPED_CELLS // max(self.rows, 1)))
        return self.measured(most)

    def measured(self, most: int) -> tuple[Measures, ...]:
        """How strong each of the first sets is."""
        done: list[Measures] = []
        for columns in self.found.sets[:most]:
            if len(done) >= FEWEST_IN_TIME and self.limits is not None and self.limits.late:
                break
            done.append(measure(self.table, columns, k=self.k))
        return tuple(done)

    def under(self, columns: Sequence[str]) -> Measures:
        """How strongly some of the searched columns single people out, minimal or not."""
        return measure(self.table, columns, k=self.k)

    @cached_property
    def within(self) -> Counter[str]:
        """In how many minimal sets each column is."""
        return Counter(self.found.sets.within())

    @cached_property
    def alone(self) -> dict[str, int]:
        """How many records each column exposes by itself."""
        return {name: measure(self.table, [name], k=self.k).exposed for name in self.columns}

    @property
    def contribution(self) -> dict[str, Fraction]:
        """How much each column has to do with it, largest first.

        With record risk: its share of the total score. Else the share of the minimal sets it is in.
        """
        if self.risk is not None:
            shares = self.risk.contribution
        else:
            total = len(self.found.sets) or 1
            shares = {name: Fraction(self.within[name], total) for name in self.columns}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    def record_risk(self, max_size: int, *, progress: Progress = silent) -> RecordRisk:
        """Which records stand out by how few of their values, up to so many."""
        return record_risk(self.table, max_size=max_size, progress=progress)
