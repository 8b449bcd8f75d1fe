"""CSV as it comes: read right, or refused with the place and without the content."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.system.errors import BadData, UsageError
from sfumato.table.data_file import DataFile
from sfumato.table.reading.csv import CsvReader
from sfumato.table.source import open_source
from sfumato.testing.engines import codings, decoded
from sfumato.verify.tables import FileForm, Relation, strictly

SECRET = "Xq7-canary"


@pytest.fixture
def file(tmp_path):
    def make(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def rows(path):
    """All rows of a file, sorted, with None for missing cells."""
    source = open_source(path)
    table = source.count(codings([], source.columns))
    found = [row for row, count in decoded(table).items() for _ in range(count)]
    return source.columns, sorted(found, key=repr)


READ_RIGHT = {
    "empty and quoted empty": (b'a,b\n1,""\n,x\n', [("1", ""), (None, "x")]),
    "crlf": (b"a,b\r\n1,2\r\n", [("1", "2")]),
    "cr": (b"a,b\r1,2\r", [("1", "2")]),
    "mixed line ends, last one absent": (b"a,b\r1,2\n3,4\r\n5,6", [("1", "2"), ("3", "4"), ("5", "6")]),
    "line end inside quotes": (b'a,b\n"1\r\nx","2\n"\n', [("1\r\nx", "2\n")]),
    "quote inside a plain cell": (b'a,b\n1,5" x\n', [("1", '5" x')]),
    "doubled quotes": (b'a,b\n"""1""",2\n', [('"1"', "2")]),
    "byte-order mark": (b"\xef\xbb\xbfa,b\n1,2\n", [("1", "2")]),
    "utf-16": ("a,b\né,𝄞\n".encode("utf-16"), [("é", "𝄞")]),
    "utf-16 big-endian": (b"\xfe\xff" + "a,b\né,2\n".encode("utf-16-be"), [("é", "2")]),
    "semicolon": (b"a;b\n1,5;2\n", [("1,5", "2")]),
    "tab": (b"a\tb\n1,5\t2\n", [("1,5", "2")]),
    "bar": (b"a|b\n1|2;3\n", [("1", "2;3")]),
    "text that looks missing": (
        b"a,b\nNA,None\nnull,-\nnan,999\n",
        [("NA", "None"), ("nan", "999"), ("null", "-")],
    ),
    "leading zeros and big ids": (b"a,b\n02138,9007199254740993\n", [("02138", "9007199254740993")]),
    "padding and case": (b"a,b\n x ,X\nx,x\n", [(" x ", "X"), ("x", "x")]),
    "leap days and old dates": (b"a,b\n2024-02-29,0001-01-01\n", [("2024-02-29", "0001-01-01")]),
    "blank lines": (b"a,b\n\n1,2\n\n", [("1", "2")]),
    "header only": (b"a,b\n", []),
    "header only, no line end": (b"a,b", []),
}


@pytest.mark.parametrize("case", READ_RIGHT)
def test_read_right(case, file):
    content, expected = READ_RIGHT[case]
    assert rows(file(content)) == (("a", "b"), sorted(expected, key=repr))


def test_single_column_keeps_empty_rows(file):
    assert rows(file(b'a\n\n1\n""\n\n'))[1] == sorted([(None,), ("1",), ("",), (None,)], key=repr)


REFUSED = {
    "too few cells": (f"a,b\n1,2\n{SECRET}\n3,4\n", "line 3"),
    "too many cells": (f"a,b\n1,2,{SECRET}\n", "line 2"),
    "ragged after an embedded line end": (f'a,b\n"x\ny",2\n{SECRET}\n', "line 4"),
    "ragged after blank lines": (f"a,b\n1,2\n\n\n3,4,{SECRET}", "line 5"),
    "unclosed quote": (f'a,b\n1,2\n{SECRET},"2\n3,4\n', "line 3"),
    "text after a quote": (f'a,b\n1,"{SECRET}"y\n', "line 2"),
    "unclosed, then quoted": (f'a,b\n1,"2\n3,4\n5,"{SECRET}"\n', "line 4"),
    "nul byte": (f"a,b\n1,{SECRET}\0\n", "NUL"),
    "latin-1 among utf-8": (f"a,b\n{SECRET},é".encode() + b"\xe9\n", "byte 17"),
    "neither utf-8 nor windows-1252": (f"a,b\n{SECRET},".encode() + b"\x81\n", "byte 15"),
    "half a character at the end": ("a,b\n1,é".encode()[:-1], "byte 6"),
    "half a mark": (b"\xff\xfea\0,\0b", "UTF-16"),
    "empty file": (b"", "empty"),
    "only a line end": (b"\n", "empty"),
    "equal names": (b"a,a\n1,2\n", "columns 1 and 2"),
    "empty name": (b"a,,c\n1,2,3\n", "column 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_place_and_without_the_content(case, file):
    content, place = REFUSED[case]
    with pytest.raises(BadData) as refusal:
        rows(file(content))
    assert place in str(refusal.value)
    error = refusal.value
    while error is not None:
        assert SECRET not in repr(error) + str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_ragged_row_far_down_in_a_large_file(file):
    good = b'"x\ny",1\n' * 700_000
    with pytest.raises(BadData, match="line 1400002 "):
        rows(file(b"a,b\n" + good + b"1\n"))


@pytest.mark.parametrize("first", ["", '""', '" "'])
def test_a_first_column_without_a_name_is_called_row(first, file):
    """As R and pandas write row names; the note holds no cell."""
    told = []
    path = file(f'{first},"a\nb"\n1,{SECRET}\n2,y\n'.encode())
    reader = CsvReader(path, note=told.append)
    assert reader.schema.names == ["row", "a\nb"]
    assert [row for batch in reader.batches(["row", "a\nb"]) for row in batch.to_pylist()] == [
        {"row": "1", "a\nb": SECRET},
        {"row": "2", "a\nb": "y"},
    ]
    assert len(told) == 1 and "read as row" in told[0] and SECRET not in told[0]
    assert CsvReader(file(b",row\n1,2\n")).schema.names == ["row_names", "row"]


def test_options(file):
    latin = file("a;b\né;1,2\n".encode("latin-1"))
    assert rows(DataFile(latin, encoding="latin-1"))[1] == [("é", "1,2")]
    assert rows(DataFile(file(b"a;b,c\n1;2,3\n"), delimiter=","))[0] == ("a;b", "c")
    for wrong in ({"delimiter": ",,"}, {"delimiter": '"'}, {"delimiter": "é"}, {"encoding": "no-such"}):
        with pytest.raises(UsageError):
            DataFile("t.csv", **wrong)


def test_gzip_and_endings(file):
    assert rows(file(gzip.compress(b"a,b\n1,2\n"), "t.csv.gz"))[1] == [("1", "2")]
    with pytest.raises(UsageError, match="names no format"):
        open_source(file(b"", "t.docx"))
    with pytest.raises(BadData, match="no such file"):
        open_source("nowhere.csv")
    with pytest.raises(BadData, match="Parquet"):
        rows(file(b"PAR1 not really", "t.parquet"))


NAMES = [
    "x" * 10_000,
    "\u202eabc",
    "'; drop table t; --",
    'q"uote',
    "[b]",
    "a.b",
    "a,b",
    "u;v;w",
    "t\tt|",
    "l\nm",
    " ",
    "*",
    "é",
    "e\u0301",
]


def test_strange_names_survive(file, tmp_path):
    head = ",".join('"' + name.replace('"', '""') + '"' for name in NAMES)
    source = open_source(file(f"{head}\n{','.join('1' for _ in NAMES)}\n"))
    assert list(source.columns) == NAMES
    from sfumato.testing.engines import recodings

    recoding = next(recodings(source.count(codings(NAMES[:3], NAMES[3:5]))))
    for ending in ("csv", "parquet"):
        again = open_source(source.write(recoding, tmp_path / f"o.{ending}"))
        assert list(again.columns) == NAMES
        assert again.survey().rows == 1
        assert again.count(codings(NAMES)).rows == 1


CELL = st.one_of(
    st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
)


@given(
    st.lists(st.tuples(CELL, CELL), max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=60, deadline=None)
def test_any_table_survives_csv(table, delimiter, end):
    from table.kinds import FOLDER

    out = io.StringIO()
    out.write(f"a{delimiter}b{end}")
    for row in table:
        out.write(delimiter.join("" if c is None else '"' + c.replace('"', '""') + '"' for c in row) + end)
    from pathlib import Path

    path = Path(FOLDER.name) / "any.csv"
    path.write_bytes(out.getvalue().encode())
    assert rows(path)[1] == sorted(table, key=repr)


@given(st.binary(max_size=40), st.integers(0, 30))
@settings(max_examples=150, deadline=None)
def test_damaged_files_never_shift_columns(damage, place):
    """Either refused, or the standard library's strict reader sees as many rows and cells."""
    from pathlib import Path

    from table.kinds import FOLDER

    good = b'a,b,c\n1,"x, y",3\n4,5,6\n'
    content = good[:place] + damage + good[place:]
    path = Path(FOLDER.name) / "damaged.csv"
    path.write_bytes(content)
    try:
        source = open_source(path)
        table = source.count(codings([], source.columns))
    except BadData:
        return
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252")
    delimiter = max(",;\t|", key=lambda d: next(iter(text.splitlines()), "").count(d))
    if delimiter != "," or "\x0b" in text or "\x0c" in text or "\x1c" in text or "\x85" in text:
        return
    theirs = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    theirs = [r for r in theirs if r or len(source.columns) == 1]
    assert {len(r) for r in theirs} <= {len(source.columns), 0}
    assert table.rows == len(theirs) - 1


def test_codes_are_small_integers(file):
    assert open_source(file(b"a\n1\n")).count(codings(["a"])).codes("a").dtype == np.int32


def test_texts_that_stand_for_an_empty_cell_do_so_without_quotes(file):
    path = file('a,b\nNA,"NA"\nNULL,x\n,NULLs\n')
    assert rows(path)[1] == sorted([("NA", "NA"), ("NULL", "x"), (None, "NULLs")], key=repr)
    told = DataFile(path, empty="NA, NULL")
    assert rows(told)[1] == sorted([(None, "NA"), (None, "x"), (None, "NULLs")], key=repr)


@given(st.lists(st.tuples(st.sampled_from(["NA", "", "x", "."]), st.booleans()), min_size=1, max_size=8))
def test_engine_and_judge_find_the_same_cells_empty(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("empty") / "t.csv"
    written = [f'"{text}"' if quoted else text for text, quoted in cells]
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in written))
    expected = sum(not quoted and text in {"", "NA"} for text, quoted in cells)
    found = rows(DataFile(path, empty="NA"))[1]
    assert sum(cell is None for cell, _ in found) == expected

    def missing(db):
        table = Relation.of_file(db, path, ("a", "b"), FileForm.of({"empty": "NA"}))
        return db.execute(f"SELECT count(*) FROM {table.query} WHERE c0 IS NULL").fetchone()[0]

    assert strictly("t.csv", missing) == expected


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"PAR1", b"%PDF"])
def test_a_file_of_another_kind_is_not_asked_for_its_encoding(file, start):
    content = start + b"\xff\xfe\xfd\x81" + SECRET.encode() + "ü".encode()
    with pytest.raises(BadData, match="it begins as a") as refused:
        rows(file(content))
    assert SECRET not in str(refused.value)
    with pytest.raises(BadData, match="is not UTF-8"):
        rows(file(gzip.compress(b"a,b\n\xff\x81" + "ü".encode()), "t.csv.gz"))
