"""Every different combination of texts in some columns of a table, as numbers, with its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.judge.tables.relation import Relation, text_of
from sfumato.judge.taxonomies.value_tree import Text

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, eq=False)
class TextTable:
    """Row i stands for `counts[i]` rows that show the text `texts[j][codes[j][i]]` in column j of `names`."""

    names: tuple[str, ...]
    texts: tuple[tuple[Text, ...], ...]
    codes: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        db: duckdb.DuckDBPyConnection,
        table: Relation,
        names: Sequence[str],
        *,
        made: Mapping[str, str] | None = None,
    ) -> TextTable:
        """Returns these columns of a table; rows are grouped once, then cells are put into words.

        `made` gives, in SQL, columns of text that are made from others.
        """
        given = made or {}
        cells = [
            f"{given[name] if name in given else table.cell(name)} AS t{i}" for i, name in enumerate(names)
        ]
        grouped = ", ".join([*cells, f"{table.weight}::BIGINT AS n"])
        by = "GROUP BY ALL" if names else "HAVING count(*) > 0"
        db.execute(f"CREATE OR REPLACE TEMP TABLE shown AS SELECT {grouped} FROM {table.query} {by}")  # noqa: S608
        texts = []
        for i, name in enumerate(names):
            values = [cell for (cell,) in db.execute(f"SELECT DISTINCT t{i} FROM shown").fetchall()]  # noqa: S608
            db.execute(f"CREATE OR REPLACE TEMP TABLE d{i} AS SELECT t{i} AS v, 0 AS code FROM shown LIMIT 0")  # noqa: S608
            db.execute(f"INSERT INTO d{i} SELECT unnest($1), unnest($2)", [values, list(range(len(values)))])
            kind = "VARCHAR" if name in given else table.kind(name)
            texts.append(tuple(text_of(cell, kind) for cell in values))
        joins = " ".join(f"JOIN d{i} ON shown.t{i} IS NOT DISTINCT FROM d{i}.v" for i in range(len(names)))
        listed = ", ".join([*(f"d{i}.code AS k{i}" for i in range(len(names))), "n"])
        found = list(db.execute(f"SELECT {listed} FROM shown {joins}").fetchnumpy().values())  # noqa: S608
        *codes, counts = (np.asarray(array, dtype=np.int64) for array in found)
        return cls(tuple(names), tuple(texts), tuple(codes), counts)
