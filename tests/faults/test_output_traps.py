"""Nothing that is not published may be found in what is published: neither in values nor in any byte."""

from __future__ import annotations

import gzip
import io
import pickle
import zlib

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

from sfumato.system.errors import BadData, SfumatoError, UsageError
from sfumato.table.cut import Cut
from sfumato.table.data_file import DataFile
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source
from sfumato.table.writing import atomic_file
from sfumato.testing.engines import codings

ROW = "canary-row-0001"
CELL = "canary-cell-002"
IDENTIFIER = "canary-identity"
CATEGORY = "canary-category"
INDEX = "canary-index-05"
NUMBER = 0x0BAD_CAFE_DEAD_BEEF
CANARIES = [c.encode() for c in (ROW, CELL, IDENTIFIER, CATEGORY, INDEX)] + [NUMBER.to_bytes(8, "little")]


def cells(rows=400):
    """Rows of which the last few, `rare`, will be suppressed; their other cells are canaries."""
    key = ["x"] * rows + ["rare"] * 3
    return {
        "name": [f"{IDENTIFIER}{i}" for i in range(rows + 3)],
        "key": key,
        "cell": [CELL if k == "rare" else f"cell {i % 7}" for i, k in enumerate(key)],
        "text": [
            ROW + "x" * 20 if k == "rare" else f"a long published text {i % 5}" for i, k in enumerate(key)
        ],
        "whole": [NUMBER if k == "rare" else i % 9 for i, k in enumerate(key)],
    }


def _pandas(table, hide):
    frame = pd.DataFrame(table)
    frame["key"] = pd.Categorical(frame["key"], categories=[CATEGORY, "x", "rare"])
    frame["text"] = frame["text"].astype("category")
    frame["whole"] = pd.array(frame["whole"], dtype="Int64")
    if hide:
        frame.loc[frame["whole"] == NUMBER, "whole"] = pd.NA
        frame["whole"] = frame["whole"].mask(frame["whole"] == 0)
    frame.index = [f"{INDEX}{i}" for i in range(len(frame))]
    frame.attrs["note"] = CELL
    return frame


def _arrow(table):
    masked = pa.table(table)
    whole = pa.array(table["whole"], pa.int64())
    hidden = pa.Array.from_buffers(
        pa.int64(),
        len(whole),
        [pa.py_buffer(_bitmap([v != NUMBER for v in table["whole"]])), whole.buffers()[1]],
    )
    masked = masked.set_column(4, "whole", hidden)
    return masked.replace_schema_metadata({"note": CELL})


def _bitmap(flags):
    return np.packbits(np.array(flags), bitorder="little").tobytes()


SOURCES = {
    "pandas": lambda t: _pandas(t, False),
    "pandas, hidden values": lambda t: _pandas(t, True),
    "polars": pl.DataFrame,
    "polars, sliced": lambda t: (
        pl.DataFrame(t).sort("whole", descending=True).with_columns(pl.col("text").cast(pl.Categorical))
    ),
    "polars, enum": lambda t: pl.DataFrame(t).with_columns(
        pl.col("key").cast(pl.Enum(["x", "rare", CATEGORY])),
        pl.when(pl.col("whole") == NUMBER).then(None).otherwise(pl.col("whole")).alias("whole"),
    ),
    "polars-lazy": pl.LazyFrame,
    "pyarrow": _arrow,
    "duckdb": lambda t: duckdb.from_arrow(pa.table(t)),
}


def publish(frame):
    """Everything published except the rare class; the rows of the rare class are suppressed."""
    source = open_source(frame)
    table = source.count(codings(["key"], ["cell"]))
    cut = Cut.leaves(table.column("key").taxonomy)
    kept = [label != "rare" for label in cut.labels]
    return source, Recoding.of_cuts(table, {"key": cut}, keep=np.array(kept))


def _arrow_bytes(table):
    """All buffers of a table and every way to write it."""
    for column in table.columns:
        for chunk in column.chunks:
            yield from (b.to_pybytes() for b in chunk.buffers() if b is not None)
    for write in (
        lambda out: pq.write_table(table, out),
        lambda out: feather.write_feather(table, out, compression="uncompressed"),
    ):
        sink = io.BytesIO()
        write(sink)
        yield sink.getvalue()


def _bytes(native):
    if isinstance(native, pl.LazyFrame):
        native = native.collect()
    if isinstance(native, pl.DataFrame):
        for write in (native.write_ipc, native.write_parquet, native.write_csv):
            sink = io.BytesIO()
            write(sink)
            yield sink.getvalue()
        yield native.serialize()
        yield from _arrow_bytes(native.to_arrow())
    elif isinstance(native, pd.DataFrame):
        yield pickle.dumps(native)
        yield native.to_csv().encode()
        for write in (native.to_parquet, native.to_feather):
            sink = io.BytesIO()
            write(sink)
            yield sink.getvalue()
    else:
        yield from _arrow_bytes(native if isinstance(native, pa.Table) else native.to_arrow_table())


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("rows", [5, 400, 5000])
def test_no_canary_in_any_byte_of_a_published_frame(kind, rows):
    source, recoding = publish(SOURCES[kind](cells(rows)))
    out = source.recode(recoding, drop=["name"])
    for content in _bytes(out):
        assert not [c for c in CANARIES if c in content]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", SOURCES)
def test_no_canary_in_any_byte_of_a_published_file(kind, ending, tmp_path):
    source, recoding = publish(SOURCES[kind](cells()))
    path = source.write(recoding, tmp_path / f"out.{ending}", drop=["name"])
    contents = [path.read_bytes()]
    if ending == "parquet":
        contents += _arrow_bytes(pq.read_table(path))
        with pq.ParquetFile(path) as file:
            contents += [repr(file.metadata.to_dict()).encode()]
            assert list(file.metadata.metadata) == [b"ARROW:schema"]
    for content in contents:
        assert not [c for c in CANARIES if c in content]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_the_canaries_would_be_found():
    """The search itself works: the source has all of them."""
    found = b"".join([*_bytes(_pandas(cells(), False)), *_arrow_bytes(_arrow(cells()))])
    assert [c for c in CANARIES if c not in found] == []


@given(st.permutations(range(12)))
@settings(max_examples=15, deadline=None)
def test_source_order_leaves_no_trace(order):
    table = cells(9)
    moved = {name: [column[i] for i in order] for name, column in table.items()}
    contents = []
    for rows in (table, moved):
        source, recoding = publish(pa.table(rows))
        for ending in ("csv", "parquet"):
            sink = io.BytesIO()
            sink.write(_written(source, recoding, ending))
            contents.append(sink.getvalue())
    assert contents[:2] == contents[2:]


def _written(source, recoding, ending):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        return source.write(recoding, Path(folder) / f"o.{ending}", drop=["name"]).read_bytes()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_engine_writes_the_same_bytes(ending, tmp_path):
    kinds = ["polars", "polars-lazy", "duckdb"]
    written = set()
    for kind in kinds:
        source, recoding = publish(SOURCES[kind](cells()))
        written.add(zlib.crc32(_written(source, recoding, "csv")))
    assert len(written) == 1
    source, recoding = publish(SOURCES["polars"](cells()))
    again = [source.write(recoding, tmp_path / f"{i}.{ending}").read_bytes() for i in range(2)]
    assert again[0] == again[1]


def test_dictionaries_hold_published_values_in_published_order(tmp_path):
    source, recoding = publish(pa.table(cells()))
    path = source.write(recoding, tmp_path / "o.parquet", drop=["name"])
    with pq.ParquetFile(path, read_dictionary=["text"]) as file:
        dictionary = file.read(columns=["text"]).column("text").chunk(0).dictionary.to_pylist()
    assert dictionary == sorted(dictionary) == [f"a long published text {i}" for i in range(5)]


FORMULAS = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "safe", "'quoted"]


def test_formulas_are_escaped_on_demand(tmp_path):
    frame = pa.table({"key": FORMULAS, "whole": pa.array([-i for i in range(8)])})
    source = open_source(frame)
    table = source.count(codings(["key"]))
    recoding = Recoding.of_cuts(table, {"key": Cut.leaves(table.column("key").taxonomy)})
    plain = open_source(source.write(recoding, tmp_path / "plain.csv"))
    safe = open_source(source.write(recoding, tmp_path / "safe.csv", formula_safe=True))
    assert set(plain.survey().columns["key"].values) == set(FORMULAS)
    escaped = {"'" + f if f not in ("safe", "'quoted") else f for f in FORMULAS}
    assert set(safe.survey().columns["key"].values) == escaped
    assert set(safe.survey().columns["whole"].values) == {str(-i) for i in range(8)}


def test_csv_refuses_what_it_cannot_carry(tmp_path):
    source = open_source(pa.table({"key": ["x\0y"]}))
    table = source.count(codings(["key"]))
    recoding = Recoding.of_cuts(table, {"key": Cut.leaves(table.column("key").taxonomy)})
    with pytest.raises(BadData, match="NUL"):
        source.write(recoding, tmp_path / "o.csv")
    assert list(tmp_path.iterdir()) == []
    again = open_source(source.write(recoding, tmp_path / "o.parquet"))
    assert again.survey().columns["key"].values == ("x\0y",)


def test_the_target_is_never_overwritten_unasked(tmp_path):
    source, recoding = publish(pa.table(cells(5)))
    path = tmp_path / "o.csv"
    path.write_text("precious")
    with pytest.raises(UsageError, match="exists already"):
        source.write(recoding, path)
    assert path.read_text() == "precious"
    source.write(recoding, path, overwrite=True)
    assert path.read_text() != "precious"
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    with pytest.raises(UsageError, match="symbolic link"):
        source.write(recoding, link, overwrite=True)
    with pytest.raises(UsageError, match="folder does not exist"):
        source.write(recoding, tmp_path / "nowhere" / "o.csv")
    with pytest.raises(UsageError, match="names no format"):
        source.write(recoding, tmp_path / "o.docx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        source.write(recoding, tmp_path / "folder.csv", overwrite=True)


@pytest.mark.parametrize("step", range(4))
def test_failures_leave_no_file_behind(step, tmp_path, monkeypatch):
    """A fault at each step of placing a file: neither a target nor a draft stays."""
    source, recoding = publish(pa.table(cells(5)))
    faults = [
        "sfumato.table.writing.write_csv",
        "os.fsync",
        "sfumato.table.writing._name_draft",
        "os.fdopen",
    ]

    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(faults[step], fail)
    with pytest.raises(SfumatoError, match="No space left"):
        source.write(recoding, tmp_path / "o.csv")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    source.write(recoding, tmp_path / "o.csv")


def test_an_interrupted_write_leaves_no_file_behind(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "o.csv") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_someone_else_may_take_the_name_meanwhile(tmp_path):
    path = tmp_path / "o.csv"
    with pytest.raises(UsageError, match="exists already"), atomic_file(path) as file:
        file.write(b"ours")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_refusals_hold_no_cell(ending, tmp_path):
    content = f"key,cell\nx,{CELL}\n{ROW}\n".encode()
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    with pytest.raises(BadData) as refusal:
        open_source(DataFile(path, delimiter=",")).survey()
    assert ROW not in str(refusal.value) and CELL not in str(refusal.value)
    source, recoding = publish(pa.table(cells(5)))
    for thing in (
        source,
        recoding.table,
        source.survey().columns["cell"],
        recoding.table.column("key").taxonomy,
    ):
        assert not [c for c in CANARIES if c.decode("latin-1") in repr(thing)]
