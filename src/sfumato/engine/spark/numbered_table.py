"""A Spark table with its columns numbered, so that no name of theirs can be mistaken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
)

from sfumato.core.errors import BadData
from sfumato.core.term_sets import SetForm
from sfumato.engine.column_names import safe_name

NESTED = (ArrayType, MapType, StructType)


@dataclass(frozen=True, eq=False)
class NumberedTable:
    """The rows of a table in columns c0, c1, …; not-a-number is a missing cell, and there is one zero."""

    frame: DataFrame
    names: tuple[str, ...]
    kinds: tuple[DataType, ...]

    @classmethod
    def of(cls, frame: DataFrame) -> NumberedTable:
        """Open a table; `names` are its own."""
        kinds = tuple(field.dataType for field in frame.schema.fields)
        numbered = frame.toDF(*(f"c{i}" for i in range(len(kinds))))
        cells = [_plain(F.col(f"c{i}"), kind).alias(f"c{i}", metadata={}) for i, kind in enumerate(kinds)]
        return cls(numbered.select(*cells), tuple(frame.columns), kinds)

    def place(self, name: str) -> int:
        """The number of a column."""
        if name not in self.names:
            raise BadData(f"the table has no column {safe_name(name)}", remedy="Check the policy's names.")
        return self.names.index(name)

    def at(self, name: str) -> str:
        """What a column is called here."""
        return f"c{self.place(name)}"

    def kind(self, name: str) -> DataType:
        return self.kinds[self.place(name)]

    def cell(self, name: str, form: SetForm | None = None) -> Column:
        """The cells of a column; several 0/1 columns that make a set are one record."""
        if form is not None and form.parts:
            return F.struct(*(F.col(self.at(part)).alias(f"p{i}") for i, part in enumerate(form.parts)))
        if form is None:
            self.refuse_nested([name])
        return F.col(self.at(name))

    def refuse_nested(self, names: Sequence[str]) -> None:
        """Refuse lists and records where they are no term sets."""
        for name in names:
            if isinstance(self.kind(name), NESTED):
                raise BadData(
                    f"column {safe_name(name)} holds lists or records",
                    remedy="Leave it out or turn it into text.",
                )

    def whole(self, names: Sequence[str]) -> Column:
        """Whether a row has a cell in each of these columns."""
        has_all = F.lit(True)
        for name in names:
            has_all = has_all & F.col(self.at(name)).isNotNull()
        return has_all


def _plain(cell: Column, kind: DataType) -> Column:
    if isinstance(kind, DoubleType | FloatType):
        return F.when(~F.isnan(cell), cell + F.lit(0.0).cast(kind))
    if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
        return F.collate(cell, "UTF8_BINARY")
    return cell
