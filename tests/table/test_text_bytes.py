"""Text that is no UTF-8, where a file or a table says that it is: refused in words, and no cell is shown."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.system.errors import BadData
from sfumato.table.cell_text import with_sound_text
from sfumato.table.source import open_source
from sfumato.testing.engines import codings

TEXT = pa.string()
CANARY = "Kanarienvögel"


def latin_1(texts, kind=TEXT):
    """An array of text whose bytes are Latin-1."""
    bare = pa.array([text.encode("latin-1") for text in texts], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(texts), bare.buffers()).cast(kind)


def table(kind=TEXT):
    return pa.table({"age": ["1", "2"] * 50, "town": latin_1([CANARY, "b"] * 50, kind)})


KINDS = {
    "text": table(),
    "large text": table(pa.large_string()),
    "dictionary": pa.table({"age": ["1", "2"] * 50, "town": latin_1([CANARY, "b"] * 50).dictionary_encode()}),
    "late": pa.table({"age": ["1"] * 300_000, "town": latin_1(["b"] * 299_999 + [CANARY])}),
}


def refused(data, work):
    with pytest.raises(BadData, match="column 'town' holds text that is not in UTF-8") as caught:
        work(open_source(data))
    assert caught.value.exit_code == 3
    assert CANARY[:5] not in str(caught.value)


@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_parquet_file(kind, coded, tmp_path):
    pq.write_table(KINDS[kind], tmp_path / "t.parquet", use_dictionary=coded)
    refused(tmp_path / "t.parquet", lambda source: source.survey())
    refused(tmp_path / "t.parquet", lambda source: source.digest())
    refused(tmp_path / "t.parquet", lambda source: source.count(codings(["town"])))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_in_memory(kind):
    refused(KINDS[kind], lambda source: source.survey())


def test_a_frame_of_pandas():
    frame = table().to_pandas(types_mapper=pd.ArrowDtype)
    refused(frame, lambda source: source.survey())


def test_other_columns_can_be_read_all_the_same(tmp_path):
    pq.write_table(table(), tmp_path / "t.parquet")
    assert open_source(tmp_path / "t.parquet").survey(["age"]).columns["age"].distinct == 2


def test_one_dictionary_is_looked_at_once_and_another_again():
    good, bad = pa.array(["a", "b"] * 4).dictionary_encode(), latin_1(["ä", "b"] * 4).dictionary_encode()
    batches = [pa.RecordBatch.from_arrays([cells], ["town"]) for cells in (good, good, bad)]
    assert len(list(with_sound_text(batches[:2]))) == 2
    with pytest.raises(BadData):
        list(with_sound_text(batches))
