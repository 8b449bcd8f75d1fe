"""Files that are read as a whole are refused, before they are, where the limit of memory has no room."""

from __future__ import annotations

import openpyxl
import pyarrow as pa
import pyarrow.feather
import pytest

import sfumato as sf
from sfumato.system.errors import NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.table.source import open_source
from table.reading.files_of_rows import KINDS, QUERY, write

pytestmark = pytest.mark.slow

CANARY = "Zuleika"
WHOLE = [kind for kind in KINDS if kind not in ("csv", "latin-1", "parquet")]
LIMIT = Memory(10**15)
"""Some limit; how much of it is left, the tests say."""


def rows(count=400):
    return [
        {"name": f"{CANARY}{i} Xylander", "zip": f"8{i % 7}331", "age": 20 + i % 60, "weight": 60.5 + i % 30}
        for i in range(count)
    ]


def opened(path, memory=LIMIT, **said):
    said |= {"query": QUERY} if path.suffix == ".sqlite" else {}
    return open_source(sf.DataFile(path, **said), memory=memory)


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_that_has_no_room_is_refused(kind, tmp_path, monkeypatch):
    path = write(kind, rows(), tmp_path)
    expected = opened(path, None).digest()
    monkeypatch.setattr(Memory, "left", 9_000)
    with pytest.raises(NotEnoughMemory, match="as a whole") as refused:
        opened(path).survey()
    assert "CSV or Parquet" in refused.value.remedy
    assert CANARY not in str(refused.value)
    monkeypatch.setattr(Memory, "left", 10**9)
    assert opened(path).digest() == expected


@pytest.mark.parametrize("kind", [kind for kind in WHOLE if kind not in ("sqlite", "feather")])
@pytest.mark.parametrize("count", [1, 50, 3000])
def test_what_it_takes_is_not_thought_less_than_the_rows_themselves(kind, count, tmp_path):
    """Of answers and of compressed files, only reading them tells."""
    reader = opened(write(kind, rows(count), tmp_path)).reader
    sheet = reader._unpacked("xl/worksheets/sheet1.xml") if kind == "xlsx" else 0
    sheet += reader._unpacked("content.xml") if kind == "ods" else 0
    assert reader.needed_bytes() + 4 * sheet >= reader.table.nbytes


def test_what_is_compressed_is_unpacked_only_as_far_as_there_is_room(tmp_path, monkeypatch):
    table = pa.table({"a": [7] * 40_000})
    pyarrow.feather.write_feather(table, str(tmp_path / "a.arrow"), compression="zstd", chunksize=10_000)
    small = (tmp_path / "a.arrow").stat().st_size
    assert small * 2 < 60_000 < table.nbytes / 4
    looks = iter([60_000, *[10] * 100])
    monkeypatch.setattr(Memory, "left", property(lambda _: next(looks)))
    with pytest.raises(NotEnoughMemory, match="arrow"):
        opened(tmp_path / "a.arrow").survey()


def test_only_the_sheet_that_is_read_counts(tmp_path, monkeypatch):
    book = openpyxl.Workbook()
    book.active.title = "Large"
    for i in range(3000):
        book.active.append([i] * 5)
    small = book.create_sheet("Small")
    for row in (["age", "weight"], [41, 60], [42, 61]):
        small.append(row)
    book.save(tmp_path / "book.xlsx")
    monkeypatch.setattr(Memory, "left", 50_000)
    assert opened(tmp_path / "book.xlsx", sheet="Small").survey().rows == 2
    with pytest.raises(NotEnoughMemory):
        opened(tmp_path / "book.xlsx", sheet="Large").survey()


def test_the_command_says_so(tmp_path, monkeypatch, capsys):
    from sfumato.cli.main import run

    path = write("xlsx", rows(), tmp_path)
    (tmp_path / "p.yaml").write_text(sf.declare(path).confirm_all().to_yaml())
    monkeypatch.setattr(Memory, "left", 9_000)
    words = ["protect", path, "-p", tmp_path / "p.yaml", "-o", tmp_path / "safe.xlsx", "--memory", "8GB"]
    assert run([str(word) for word in words]) == 3
    said = capsys.readouterr().err
    assert "reading this table (xlsx) as a whole takes about" in said and "docs/how-to/scale.md" in said
