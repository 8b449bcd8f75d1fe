"""A question about a table, with everything that one look at all its columns already settles."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.column_sets import ColumnSets, Words
from sfumato.discovery.quasi_identifiers.criterion import Reading, Terms
from sfumato.discovery.quasi_identifiers.partition import Partition, partition
from sfumato.discovery.quasi_identifiers.reduced import ReducedTable, without_duplicates


@dataclass(frozen=True, eq=False)
class QuasiIdentifierQuestion:
    """Which sets of columns are quasi-identifiers of this table, under these terms?

    `table` holds the rows that count (equal rows once, for the reading `distinct`). `exposed` counts the
    records exposed under all columns, `duplicates` the rows that repeat another row in every column.
    """

    table: Coded
    terms: Terms
    exposed: int
    duplicates: int

    @classmethod
    def of(cls, table: Coded, reading: Reading) -> QuasiIdentifierQuestion:
        """Group by all columns once; by Lemma 1 of the paper no other set can expose more."""
        duplicates = 0
        if reading.name == "distinct":
            table, duplicates = without_duplicates(table)
        terms = reading.terms(table.rows)
        groups = partition(table, range(len(table.names)), terms.k)
        exposed = table.rows if groups is None else groups.exposed
        if reading.name == "all" and exposed < table.rows:
            pairs = groups if terms.k == 2 else partition(table, range(len(table.names)), 2)
            duplicates = _surplus(pairs)
        return cls(table, terms, exposed, duplicates)

    @property
    def settled(self) -> bool:
        """Whether the answer is known: no set at all, or the empty one."""
        return bool(self.reason)

    @property
    def empty_set(self) -> bool:
        """Whether even the empty set of columns is a quasi-identifier."""
        return bool(self.terms.trivial)

    @property
    def reason(self) -> str:
        """Why the answer is what it is, where no search was needed."""
        terms = self.terms
        if terms.impossible or terms.trivial:
            return terms.impossible or terms.trivial
        if self.exposed >= terms.t:
            return ""
        if terms.reading == "all":
            return (
                f"all columns together leave {terms.rows - self.exposed} of {terms.rows} records in groups "
                f"of at least {terms.k}; {self.duplicates} rows repeat another row"
            )
        return f"all columns together expose {self.exposed} records, {terms.t} are asked for"

    def named(self, words: Words, reduced: ReducedTable, *, most: int | None = None) -> ColumnSets:
        """Returns found sets by name, every choice among look-alikes; no more than `most` of them."""
        return ColumnSets(words, reduced.members, self.table.names, most=most)


def _surplus(pairs: Partition | None) -> int:
    return 0 if pairs is None else len(pairs.rows) - (len(pairs.bounds) - 1)
