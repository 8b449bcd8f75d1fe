"""The cells of a column as evidence: different ones with their numbers, and shares of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sfumato.policy.column_evidence import ColumnEvidence

SCREENED_CELLS = 1000
"""So many different cells decide whether all are worth a look."""


@dataclass(frozen=True)
class ColumnCells:
    """The different cells that hold something, and how often; `part` if only some rows were read."""

    texts: tuple[str, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    kind: str
    part: bool = False
    rows: int = 0

    @classmethod
    def of(cls, column: ColumnEvidence, rows: int, *, part: bool = False) -> ColumnCells:
        """What a survey lists of a column."""
        pairs = [(v, int(c)) for v, c in zip(column.values, column.counts, strict=True) if v]
        texts = tuple(v for v, _ in pairs)
        return cls(texts, tuple(c for _, c in pairs), column.kind, part, rows)

    @property
    def present(self) -> int:
        """How many cells hold something."""
        return sum(self.counts)

    @property
    def distinct(self) -> int:
        return len(self.texts)

    def spread(self, most: int) -> tuple[str, ...]:
        """At most so many of the different cells, evenly spread over their order."""
        return self.texts[:: max(1, -(-len(self.texts) // most))]

    def worth_a_look(self, test: Callable[[str], bool], *, least: Fraction) -> bool:
        """Whether enough of some different cells pass for all to be tested."""
        few = self.spread(SCREENED_CELLS)
        return sum(map(test, few)) >= least * len(few)

    def share(self, test: Callable[[str], bool]) -> tuple[Fraction, int]:
        """The share of the cells that pass, and how many different ones do."""
        passed = [c for text, c in zip(self.texts, self.counts, strict=True) if test(text)]
        return Fraction(sum(passed), self.present or 1), len(passed)

    def spoken(self, share: Fraction) -> str:
        """A share in words: the start of a sentence."""
        where = f" in the first {self.rows:,} rows" if self.part else ""
        if share == 1:
            return f"all cells{where} are"
        percent = int(100 * share)
        return f"{percent}% of the cells{where} are" if percent else f"fewer than 1% of the cells{where} are"
