"""Columns as dictionaries: what they are read from makes no difference to what is counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.table import survey
from sfumato.table.dictionary import Dictionary
from sfumato.table.reading.parquet import ParquetReader
from sfumato.table.source import open_source

NAMES = ("number", "zip", "none")


def _table(rows: int = 5_000) -> pa.Table:
    draw = np.random.default_rng(4)
    zips = [None if z == 7 else f"{z:03d}" for z in draw.integers(0, 40, rows).tolist()]
    numbers = [f"p{i:06d}" for i in range(rows)]
    return pa.table({"number": numbers, "zip": zips, "none": pa.array([None] * rows, pa.string())})


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_is_read_as_a_dictionary_where_the_pages_hold_one(tmp_path: Path, kind: pa.DataType) -> None:
    path = tmp_path / "rows.parquet"
    table = _table().cast(pa.schema([(name, kind) for name in NAMES]))
    pq.write_table(table, path, use_dictionary=["zip"], row_group_size=1_000)
    batch = next(ParquetReader(path).batches(list(NAMES)))
    assert [pa.types.is_dictionary(column.type) for column in batch.columns] == [False, True, False]
    read = pa.Table.from_batches(
        [
            pa.record_batch([c.cast(kind) for c in b.columns], NAMES)
            for b in ParquetReader(path).batches(NAMES)
        ]
    )
    assert read.to_pydict() == table.to_pydict()


def test_surveys_are_the_same_however_text_is_written(tmp_path: Path) -> None:
    table, surveys = _table(), []
    for place, coded in enumerate((True, False, ["zip"], ["number"])):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(table, path, use_dictionary=coded, row_group_size=700)
        surveys.append(open_source(path).survey())
    surveys.append(open_source(table).survey())
    first = surveys[0]
    for other in surveys[1:]:
        assert other.rows == first.rows
        for name in NAMES:
            ours, theirs = other.columns[name], first.columns[name]
            assert (ours.values, ours.counts.tolist()) == (theirs.values, theirs.counts.tolist())
            assert (ours.kind, ours.missing, ours.repeats) == (theirs.kind, theirs.missing, theirs.repeats)


def test_batches_that_share_a_dictionary_are_numbered_like_others() -> None:
    draw = np.random.default_rng(5)
    for _ in range(50):
        shared, plain = Dictionary("text", pa.string()), Dictionary("text", pa.string())
        for _ in range(6):
            values = [
                None if v == "c" and draw.random() < 0.3 else v for v in draw.permutation(list("abcdef"))
            ]
            local = pa.array(values[: draw.integers(1, 7)], pa.string())
            for _ in range(draw.integers(1, 4)):
                index = draw.integers(0, len(local), draw.integers(0, 5)).tolist()
                cells = pa.DictionaryArray.from_arrays(
                    pa.array([None if draw.random() < 0.1 else i for i in index], pa.int32()),
                    pa.array(local.to_pylist(), pa.string()),
                )
                told = [
                    None if n == 0 else shared.distinct_values()[0][n - 1].as_py()
                    for n in shared.encode(cells)
                ]
                assert told == cells.to_pylist()
                plain.encode(cells.cast(pa.string()))
                assert shared.missing == plain.missing
                assert set(shared.distinct_values()[0].to_pylist()) == set(
                    plain.distinct_values()[0].to_pylist()
                )
                assert shared.size == plain.size


def test_values_that_wait_are_counted_as_if_none_did(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(6)
    schema = pa.schema([("text", pa.string()), ("number", pa.float64()), ("nothing", pa.null())])
    for limit in (0, 1, 5, 12, 60, 10_000):
        sizes = draw.integers(0, 40, 12).tolist()
        batches = [
            pa.record_batch(
                [
                    pa.array([f"{v}" if v % 9 else None for v in draw.integers(0, 90, size).tolist()]),
                    pa.array([v / 2 if v % 7 else float("nan") for v in draw.integers(0, 20, size).tolist()]),
                    pa.nulls(size),
                ],
                schema=schema,
            )
            for size in sizes
        ]
        if draw.random() < 0.5:
            coded = [batch.column(0).dictionary_encode() for batch in batches]
            batches = [batch.set_column(0, "text", c) for batch, c in zip(batches, coded, strict=True)]

        told = []
        for most in (0, 100, 1 << 25):
            monkeypatch.setattr(survey, "MOST_WAITING_BYTES", most)
            found = survey.survey(batches, schema, schema.names, limit=limit)
            told.append(
                [
                    (
                        c.kind,
                        c.distinct,
                        c.missing,
                        c.values,
                        c.counts.tolist(),
                        c.complete,
                        c.repeats,
                        c.is_text,
                    )
                    for c in found.columns.values()
                ]
            )
        assert told[0] == told[1] == told[2]
