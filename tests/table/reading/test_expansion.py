"""Small files that unpack to far more than tables do are refused before a library sees them."""

import struct
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc

from sfumato.system import expansion
from sfumato.system.errors import BadData
from sfumato.table.reading import parquet
from sfumato.table.reading.parquet import ParquetReader
from sfumato.table.reading.records import ArrowFileReader
from sfumato.table.reading.spreadsheet import SpreadsheetReader, xls_extents, xlsx_shared_text
from sfumato.verify.formats import whole_table

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET, TEXTS = f"{LINKS}/worksheet", f"{LINKS}/sharedStrings"
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{SHEET}" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="r2" Type="{TEXTS}" Target="sharedStrings.xml"/></Relationships>'
)
START = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
LISTED = '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
BOOK = f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">{LISTED}</workbook>'
FIRST = '<row r="1"><c r="A1" t="inlineStr"><is><t>zip</t></is></c></row>'
REFUSED = "and would take more than"


def workbook(path: Path, rows: str, texts: str = "") -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("_rels/.rels", START)
        file.writestr("xl/workbook.xml", BOOK)
        file.writestr("xl/_rels/workbook.xml.rels", RELATIONS)
        file.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{MAIN}"><sheetData>{FIRST}{rows}</sheetData></worksheet>',
        )
        file.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{texts}</sst>')
    return path


def open_document(path: Path, rows: str) -> Path:
    names = ("office", "table", "text")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    begin = f"<office:document-content {spaces}><office:body><office:spreadsheet><table:table>"
    end = "</table:table></office:spreadsheet></office:body></office:document-content>"
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("content.xml", begin + rows + end)
    return path


def cells(text: str, times: int = 1) -> str:
    repeated = f'table:number-columns-repeated="{times}"'
    return (
        f'<table:table-cell office:value-type="string" {repeated}><text:p>{text}</text:p></table:table-cell>'
    )


def load(reader: object) -> None:
    reader.load()  # type: ignore[attr-defined]  # any reader that is loaded as a whole


@pytest.mark.parametrize(("text", "across", "down"), [("a", 30, 1_000_000), ("a" * 5_000, 2, 30_000)])
def test_repeated_cells_of_a_small_document_are_refused(
    tmp_path: Path, text: str, across: int, down: int
) -> None:
    rows = f'<table:table-row table:number-rows-repeated="{down}">{cells(text, across)}</table:table-row>'
    path = open_document(tmp_path / "rows.ods", f"<table:table-row>{cells('zip')}</table:table-row>{rows}")
    with pytest.raises(BadData, match=REFUSED):
        load(SpreadsheetReader(path, "ods"))


def test_a_long_text_that_many_cells_share_is_refused(tmp_path: Path) -> None:
    rows = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(2, 6_002))
    path = workbook(tmp_path / "rows.xlsx", rows, f"<si><t>{'y' * 32_767}</t></si>")
    with pytest.raises(BadData, match=REFUSED):
        load(SpreadsheetReader(path, "xlsx"))


def test_a_part_that_unpacks_to_far_more_than_the_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "FREELY", 1_000_000)
    path = workbook(tmp_path / "rows.xlsx", f'<row r="2"><c r="A2" t="inlineStr"><is><t>{"x" * 3_000_000}')
    with pytest.raises(BadData, match=REFUSED):
        load(SpreadsheetReader(path, "xlsx"))
    with pytest.raises(BadData, match=r"holds more or other things|cannot be read"):
        whole_table(path)


def test_a_part_that_is_longer_than_listed_is_refused() -> None:
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as file:
        file.writestr("part", "x" * 100_000)
        file.writestr("whole", "x" * 100_000)
    content = bytearray(packed.getvalue())
    listed = content.index(b"PK\x01\x02")
    content[listed + 16 : listed + 20] = struct.pack("<I", crc32(b"x" * 10))
    content[listed + 24 : listed + 28] = struct.pack("<I", 10)
    with ZipFile(BytesIO(bytes(content))) as file:
        assert file.read("part") == b"x" * 10  # Python believes the list
        with pytest.raises(BadZipFile):
            expansion.read_part(file, "part")
        assert expansion.read_part(file, "whole") == b"x" * 100_000


def test_packed_arrow_files_are_refused_by_reader_and_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "FREELY", 1_000_000)
    path = tmp_path / "rows.arrow"
    rows = pa.table({"zip": ["z" * 50_000] * 100})
    with ipc.new_file(str(path), rows.schema, options=ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(rows)
    with pytest.raises(BadData, match=REFUSED):
        load(ArrowFileReader(path, "arrow"))
    with pytest.raises(BadData, match=REFUSED):
        whole_table(path)


@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.text(max_size=9)), max_size=40),
    st.sampled_from([None, "lz4", "zstd"]),
    st.booleans(),
)
def test_arrow_batches_take_what_their_buffers_say(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]], packing: str | None, listed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "some.arrow"
    table = pa.table({"n": [n for n, _ in rows], "t": pa.array([t for _, t in rows], pa.string())})
    options = ipc.IpcWriteOptions(compression=packing)
    make = ipc.new_file if listed else ipc.new_stream
    with make(str(path), table.schema, options=options) as file:
        file.write_table(table, max_chunksize=7)
    batches = len(rows) // 7 + 1
    padding = 2 * 3 * 64 * batches  # of two columns with three buffers each
    assert table.nbytes - padding <= expansion.arrow_bytes(path) <= table.nbytes + padding


@given(st.integers(0, 600), st.binary(min_size=1, max_size=9), st.booleans())
def test_damaged_arrow_files_end_the_count(
    tmp_path_factory: pytest.TempPathFactory, place: int, harm: bytes, listed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.arrow"
    table = pa.table({"n": [1, 2, 3], "t": ["a", None, "c"]})
    with (ipc.new_file if listed else ipc.new_stream)(str(path), table.schema) as file:
        file.write_table(table, max_chunksize=2)
    content = path.read_bytes()
    at = place % len(content)
    path.write_bytes(content[:at] + harm + content[at + len(harm) :])
    with suppress(expansion.NoMessages):
        assert expansion.arrow_bytes(path) >= 0


def test_long_texts_of_parquet_are_read_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "LARGEST_BATCH", 1_000_000)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"zip": ["z" * 50_000] * 200}), path, compression="zstd", use_dictionary=False)
    batches = list(ParquetReader(path).batches(["zip"]))
    assert sum(batch.num_rows for batch in batches) == 200
    assert max(batch.nbytes for batch in batches) < 1_100_000


def test_texts_are_counted_for_each_cell_that_names_them() -> None:
    texts = b"<sst><si><t>ab</t></si><si><t>abcd</t></si></sst>"
    sheet = b'<c r="A1" t="s"><v>1</v></c><c r="A2" t="s"><v>1</v></c><c r="A3"><v>0</v></c>'
    assert xlsx_shared_text(sheet, texts) == 2 * len(b"<si><t>abcd</t></si></sst>")


def test_shared_texts_of_an_old_workbook_are_counted() -> None:
    assert [extent.text for extent in xls_extents(old_workbook(["abc", "x" * 9_000], [0, 1, 1]))] == [
        2 * (3 + 9_000 + 9_000)
    ]


def old_workbook(texts: list[str], cells: list[int]) -> bytes:
    """A compound file with one stream, whose list of texts goes on in a second record."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    written = b"".join(struct.pack("<HB", len(text), 0) + text.encode() for text in texts)
    cut = 8_000
    listed = record(0xFC, struct.pack("<II", len(cells), len(texts)) + written[:cut])
    listed += record(0x3C, b"\0" + written[cut:])
    head = record(0x809, bytes(16))
    sheet = b"".join(record(0xFD, struct.pack("<HHHI", n, 0, 0, text)) for n, text in enumerate(cells))
    place = len(head) + len(record(0x85, bytes(4) + b"\0\0\1\0S")) + len(listed) + 4
    book = head + record(0x85, struct.pack("<I", place) + b"\0\0\1\0S") + listed + record(0x0A, b"")
    book = (book + sheet + record(0x0A, b"")).ljust(4096 * 4, b"\0")
    sectors = len(book) // 512
    chain = [*range(1, sectors), 0xFFFFFFFE]
    table = struct.pack("<128I", *chain, *[0xFFFFFFFE, 0xFFFFFFFD], *[0xFFFFFFFF] * (126 - sectors))
    name = "Workbook".encode("utf-16-le")
    entry = name.ljust(64, b"\0") + struct.pack("<H", len(name) + 2)
    entry = entry.ljust(116, b"\0") + struct.pack("<II", 0, len(book)) + bytes(4)
    header = bytearray(512)
    header[:8] = bytes.fromhex("d0cf11e0a1b11ae1")
    struct.pack_into("<H", header, 30, 9)
    for at, number in [(44, 1), (48, sectors), (56, 4096), (60, 0xFFFFFFFE), (68, 0xFFFFFFFE)]:
        struct.pack_into("<I", header, at, number)
    struct.pack_into("<109I", header, 76, sectors + 1, *[0xFFFFFFFF] * 108)
    return bytes(header) + book + entry.ljust(512, b"\0") + table
