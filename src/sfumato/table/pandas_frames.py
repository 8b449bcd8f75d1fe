"""pandas frames as sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa

from sfumato.system.errors import BadData
from sfumato.table.cell_text import check_names, published_type, safe_name, with_sound_text
from sfumato.table.reader import batches_of, no_columns


@dataclass(frozen=True, eq=False)
class PandasReader:
    """A pandas frame; its index is no column and is not read."""

    frame: pd.DataFrame
    kind: str = "pandas"

    @cached_property
    def schema(self) -> pa.Schema:
        check_names(list(self.frame.columns))
        return pa.schema([pa.field(name, self._column(name).type) for name in self.frame.columns])

    @property
    def total(self) -> int | None:
        return len(self.frame)

    def _column(self, name: str) -> pa.ChunkedArray:
        try:
            cells = pa.array(self.frame[name], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # The library's own message would quote a cell.
            raise BadData(
                f"column {safe_name(name)} holds values of several types, or of one that has no text",
                remedy="Turn it into one type, or into text.",
            ) from None
        return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            return batches_of(no_columns(len(self.frame)))
        table = pa.table([self._column(name) for name in names], names=list(names))
        return with_sound_text(batches_of(table))

    def native(self, table: pa.Table) -> pd.DataFrame:
        columns = {}
        for name in table.column_names:
            if name not in self.frame:  # a column that tells bare rows from others
                columns[name] = table.column(name).to_pandas()
                continue
            columns[name] = _to_pandas(
                table.column(name), self.frame[name].dtype, self.schema.field(name).type
            )
        return pd.DataFrame(columns, columns=table.column_names)


def _to_pandas(
    cells: pa.ChunkedArray, dtype: Any, source: pa.DataType
) -> pd.Series[Any]:  # pandas is untyped
    """A column of the source's dtype; where the type changed (a key column), text, or categories of text."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _to_categories(cells.to_pandas(), dtype, keeps_type=published_type(source) == cells.type)
    if published_type(source) != cells.type:
        return cells.to_pandas()
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) and hasattr(dtype, "__from_arrow__"):  # optional
        return pd.Series(dtype.__from_arrow__(cells), dtype=dtype)
    if pd.api.types.is_object_dtype(dtype):
        return pd.Series(cells.to_pylist(), dtype=object)
    if cells.null_count and dtype.kind in "iub":  # cells of bare rows are empty, and numbers stay whole
        return pd.Series(pd.array(cells.to_pylist(), dtype=NULLABLE.get(dtype.name, dtype.name.title())))
    return cells.to_pandas().astype(dtype)


NULLABLE = {"bool": "boolean", "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}
"""Types of pandas whose cells may be empty, where the name is another one than with a capital letter."""


def _to_categories(
    text: pd.Series[Any], dtype: Any, *, keeps_type: bool
) -> pd.Series[Any]:  # pandas is untyped
    """The cells as categories, of which there are those that occur: the source's first, in its order.

    They stay ordered where no other text is among them. Of a key column all are texts.
    """
    used = set(text.dropna())
    own = [value if keeps_type else str(value) for value in dtype.categories]
    occurring = [value for value in own if value in used]
    others = sorted(used - set(own))
    ordered = dtype.ordered and not others
    own_texts = occurring if dtype.ordered else sorted(occurring)
    return text.astype(pd.CategoricalDtype([*own_texts, *others], ordered=ordered))
