"""A table as integer codes: all that the search for identifying columns needs to know about values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.progress import Progress, silent

if TYPE_CHECKING:
    from sfumato.engine.source import Source

NULL_RULE = "equal"
"""Missing cells of a column are one value of their own: equal to each other, different from all else."""

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Coded:
    """Every column of a table as codes 0 .. size-1; equal cells have equal codes, missing ones too.

    >>> Coded.of_columns({"zip": ["02138", None, "02138"], "sex": ["f", "f", None]})
    Coded(3 rows, 2 columns)
    """

    names: tuple[str, ...]
    codes: Codes
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        columns = len(self.names)
        if self.codes.ndim != 2 or len(self.codes) != columns or len(self.sizes) != columns:
            raise BadData("a coded table needs one row of codes and one size per column")
        if len(set(self.names)) != columns:
            raise BadData("two columns share a name", remedy="Rename one of them.")

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Hashable]]) -> Coded:
        """Code columns given as sequences; `None` and not-a-number are missing cells."""
        lengths = {len(values) for values in columns.values()}
        if len(lengths) > 1:
            raise BadData("the columns differ in length")
        rows = lengths.pop() if lengths else 0
        codes = np.zeros((len(columns), rows), np.int32)
        sizes = []
        for j, values in enumerate(columns.values()):
            seen: dict[Hashable, int] = {}
            codes[j] = [seen.setdefault(_cell(v), len(seen)) for v in values]
            sizes.append(len(seen))
        return cls(tuple(columns), codes, tuple(sizes))

    @classmethod
    def of_codes(cls, names: Sequence[str], codes: NDArray[np.integer]) -> Coded:
        """Take any whole numbers, one row of `codes` per column, and make them dense.

        >>> Coded.of_codes(["a"], np.array([[7, -3, 7]])).codes
        array([[1, 0, 1]], dtype=int32)
        """
        dense = np.empty(codes.shape, np.int32)
        sizes = []
        for j, column in enumerate(codes):
            values, dense[j] = np.unique(column, return_inverse=True)
            sizes.append(len(values))
        return cls(tuple(names), dense, tuple(sizes))

    @classmethod
    def from_source(
        cls, source: Source, names: Sequence[str] | None = None, *, progress: Progress = silent
    ) -> Coded:
        """Code some columns of a source (all of them, unless named) in one pass over its rows."""
        from sfumato.engine.column_codes import column_codes  # noqa: PLC0415  # loads Arrow; codes may be given

        chosen = tuple(source.columns if names is None else names)
        there = set(source.columns)
        unknown = [name for name in chosen if name not in there]
        if unknown:
            raise WrongCall(f"no such column: {', '.join(unknown)}", remedy="Check the spelling.")
        codes, sizes = column_codes(source, chosen, progress=progress)
        return cls(chosen, codes, sizes)

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    def index(self, names: Sequence[str]) -> tuple[int, ...]:
        """The positions of these columns."""
        place = {name: j for j, name in enumerate(self.names)}
        unknown = [name for name in names if name not in place]
        if unknown:
            raise WrongCall(f"no such column: {', '.join(unknown)}", remedy="Check the spelling.")
        return tuple(place[name] for name in names)

    def select(self, names: Sequence[str]) -> Coded:
        """The same rows, these columns only."""
        chosen = self.index(names)
        return Coded(tuple(names), self.codes[list(chosen)], tuple(self.sizes[j] for j in chosen))

    def take(self, rows: NDArray[np.integer]) -> Coded:
        """These rows only."""
        return Coded(self.names, np.ascontiguousarray(self.codes[:, rows]), self.sizes)

    def __repr__(self) -> str:
        return f"Coded({self.rows} rows, {len(self.names)} columns)"


def _cell(value: Hashable) -> Hashable:
    """Missing is `None`; numbers and truth values of different types are different values."""
    if value is None or value != value:  # noqa: PLR0124  (not-a-number is the one value unequal to itself)
        return None
    return (type(value), value)
