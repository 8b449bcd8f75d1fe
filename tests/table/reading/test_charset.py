"""Encodings that a file does not name: found by a rule that can be said in a sentence, or refused."""

from __future__ import annotations

import codecs
import gzip
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.system.errors import BadData, UsageError
from sfumato.table.data_file import SourceForm
from sfumato.table.reading.csv import detected_encoding
from sfumato.table.source import open_source

UNDEFINED = (0x00, 0x81, 0x8D, 0x8F, 0x90, 0x9D)
WIDE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)


def by_the_rule(content: bytes) -> str | None:
    """The rule of `detected_encoding`, for the whole text at once, from the shapes of UTF-8."""
    if content.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        content.decode("utf-8")
        return "ascii" if content.isascii() else "utf-8"
    except UnicodeDecodeError as error:
        torn = error.reason == "unexpected end of data" and error.end == len(content)
    undefined = any(byte in UNDEFINED for byte in content)
    rest = content.decode("utf-8", "surrogateescape")
    cut = bool(rest) and _is_begun(content)
    return None if torn or cut or undefined or WIDE.search(content) else "cp1252"


def _is_begun(content: bytes) -> bool:
    """Whether the last bytes are the beginning of a character."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    decoder.decode(content)
    return bool(decoder.getstate()[0])


PIECES = st.sampled_from(
    [
        b"a;b\n",
        "ü".encode(),
        "ü".encode("cp1252"),
        "–".encode(),
        b"\x96",
        b"\x81",
        b"\xc3",
        b"\xe2\x82",
        b"\0",
    ]
)


@given(st.lists(st.one_of(PIECES, st.binary(max_size=3)), max_size=8), st.integers(1, 5))
def test_found_by_the_rule_however_it_is_cut_into_blocks(pieces, size):
    content = b"".join(pieces)
    blocks = [content[i : i + size] for i in range(0, len(content), size)]
    whole = detected_encoding([content])
    assert whole == by_the_rule(content)
    if size >= 3 or not content.startswith((b"\xef", b"\xfe", b"\xff")):  # a mark stands in the first block
        assert detected_encoding(blocks) == whole


@given(st.text(st.characters(codec="cp1252", exclude_characters="\0")))
def test_what_is_read_as_windows_1252_is_read_without_loss(text):
    content = text.encode("cp1252")
    if detected_encoding([content]) == "cp1252":
        assert content.decode("cp1252") == text


def notes_of(path, **said):
    notes = []
    source = open_source(sf.DataFile(path, note=notes.append, **said))
    return source, notes


def values(source, column):
    return source.survey().columns[column].values


def test_latin_1_says_so_and_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("Ort;Zahl\nKöln;1,5\n".encode("latin-1"))
    source, notes = notes_of(path)
    assert values(source, "Ort") == ("Köln",)
    assert len(notes) == 1
    assert "Windows-1252" in notes[0]
    assert "--encoding" in notes[0]
    assert "Köln" not in notes[0]


def test_an_encoding_that_is_named_is_obeyed_in_silence(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("Ort\nKöln\n".encode("cp850"))
    source, notes = notes_of(path, encoding="cp850")
    assert (values(source, "Ort"), notes) == (("Köln",), [])
    with pytest.raises(UsageError, match="unknown name"):
        sf.DataFile(path, encoding="klingon")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_needs_no_word(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes("Ort,n\nKöln,1\n".encode(encoding))
    source, notes = notes_of(path)
    assert (values(source, "Ort"), notes) == (("Köln",), [])


def test_what_a_policy_expects_holds_unless_the_bytes_say_otherwise(tmp_path):
    expected = SourceForm(encoding="windows-1252", delimiter=";")
    path = tmp_path / "t.csv"
    path.write_bytes("a;b,c,d\nü;1\n".encode("cp1252"))
    source = open_source(path, expected=expected)
    assert source.columns == ("a", "b,c,d")
    path.write_bytes(b"a,b\n1,2\n")
    assert open_source(path, expected=expected).columns == ("a", "b")
    path.write_bytes("a;b\nü;1\n".encode("utf-16"))
    assert values(open_source(path, expected=expected), "a") == ("ü",)
    path.write_bytes("a;b\nü;1\n".encode())
    with pytest.raises(BadData, match="looks like UTF-8"):
        open_source(path, expected=expected).survey()
    assert values(open_source(sf.DataFile(path, encoding="utf-8"), expected=expected), "a") == ("ü",)


@pytest.mark.parametrize("key", ["sheet", "query"])
def test_a_csv_file_has_no_sheet_and_no_query(tmp_path, key):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(UsageError, match=f"a CSV file has no {key}"):
        open_source(sf.DataFile(path, **{key: "x"}))
    assert open_source(path, expected=SourceForm(**{key: "x"})).columns == ("a", "b")


def test_compressed_files_are_read_and_damaged_ones_refused(tmp_path):
    plain = "Ort;n\nKöln;1\n".encode("cp1252") * 1
    packed = {".gz": gzip.compress(plain), ".zst": bytes(pa.compress(plain, "zstd", asbytes=True))}
    for ending, content in packed.items():
        path = tmp_path / f"t.csv{ending}"
        path.write_bytes(content)
        assert values(open_source(path), "Ort") == ("Köln",)
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(BadData, match="compressed"):
            open_source(path).survey()
