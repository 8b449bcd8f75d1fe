"""A CSV file comes in blocks: where they end changes nothing, and what cannot be read ends the call."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.system.errors import BadData, UsageError
from sfumato.table.data_file import DataFile
from sfumato.table.reading import csv as utf8
from sfumato.table.source import open_source
from table.kinds import FOLDER

SECRET = "Xq7-canary"


def cells(path, *, block=utf8.BLOCK_BYTES, longest=utf8.LONGEST_CELL):
    """Every row in order, or what is wrong."""
    with mock.patch.object(utf8, "BLOCK_BYTES", block):
        try:
            reader = open_source(DataFile(path, longest_cell=longest)).reader
            batches = reader.batches(reader.schema.names)
            return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        except BadData as error:
            return str(error)


PIECES = st.lists(
    st.sampled_from(["a", "é", '"', '""', ",", "\n", "\r", "\r\n", "12345", '"x\n,y"']), max_size=30
)


@given(st.sampled_from(["n\n", "n,m\n", "n,m\r\n", 'n,"m\n"\n', "n,m\r"]), PIECES, st.integers(1, 9))
@settings(max_examples=300)
def test_where_blocks_end_changes_nothing(header, pieces, block):
    path = Path(FOLDER.name) / "blocks.csv"
    path.write_bytes((header + "".join(pieces)).encode())
    whole, told = cells(path), cells(path, block=block)
    assert told == whole or (isinstance(told, str) and isinstance(whole, str))  # of two faults either is told


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=8), st.integers(1, 9), st.integers(1, 12), st.booleans()
)
@settings(max_examples=200)
def test_cells_are_measured_wherever_blocks_end(lengths, block, longest, quoted):
    path = Path(FOLDER.name) / "long.csv"
    mark = '"' if quoted else ""
    rows = "".join(f"{mark}{'x' * length}{mark},y\n" for length in lengths)
    path.write_text("a,b\n" + rows, encoding="utf-8")
    long = [n for n, length in enumerate(lengths, start=2) if length + 2 * quoted > longest]
    told = cells(path, block=block, longest=longest)
    if long:
        assert told.startswith(
            f"long.csv: line {long[0]} begins a row with a cell of more than {longest} bytes"
        )
    else:
        assert [len(row[0] or "") for row in told] == lengths


def test_a_cell_may_be_as_long_as_one_allows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n1,{'x' * (utf8.LONGEST_CELL + 1)}\n", encoding="utf-8")
    with pytest.raises(
        BadData, match=f"line 2 begins a row with a cell of more than {utf8.LONGEST_CELL} bytes"
    ):
        open_source(path).survey()
    assert open_source(DataFile(path, longest_cell=1 << 21)).survey().rows == 1
    with pytest.raises(UsageError, match="a number of bytes"):
        DataFile(path, longest_cell=0)


def test_a_line_of_names_that_does_not_end(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a" * (1 << 21))
    with pytest.raises(BadData, match="the line of column names has more than"):
        open_source(path).survey()


def ragged(size):
    return b"a,b\n" + b"1,2,3\n" + b"1,2\n" * (size // 4)


def endless(size):
    return b"a,b\n" + SECRET.encode() + b",2\n" + b"x" * size


def endless_row(size):
    return b"a,b\n1,2\n" + b"x," * (size // 2)


BAD = {
    "ragged": (ragged, "line 2 begins a row of 3 cells; the header has 2"),
    "one cell": (endless, "line 3 begins a row with a cell of more than 1048576 bytes"),
    "one row": (endless_row, "line 3 begins a row of more than 2 cells"),
}


@pytest.mark.slow
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("case", BAD)
def test_large_bad_files_end_the_program_with_a_message(tmp_path, case, zipped):
    """No thread calls back while the program ends: that aborted it, or kept it for ever."""
    make, message = BAD[case]
    path = tmp_path / ("t.csv.gz" if zipped else "t.csv")
    content = make(24_000_000)  # many blocks
    path.write_bytes(gzip.compress(content, 1) if zipped else content)
    for verb in (
        ["discover", "--header", "--k", "2", "--mode", "any"],
        ["protect", "-p", "policy.yaml", "-o", "safe.csv"],
    ):
        (tmp_path / "policy.yaml").write_text(
            "# a policy\ncolumns:\n  a: {role: quasi, taxonomy: {flat: true}}\n  b: {role: insensitive}\n"
            "promises:\n  - k-anonymity: {k: 2}\n",
            encoding="utf-8",
        )
        told = subprocess.run(
            [sys.executable, "-m", "sfumato", verb[0], str(path), *verb[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert told.returncode == 3 and message in told.stderr, told.stderr
        assert SECRET not in told.stderr + told.stdout and not (tmp_path / "safe.csv").exists()


@pytest.mark.parametrize("harm", ["cut", "changed", "no gzip"])
def test_damaged_compressed_files(tmp_path, harm):
    content = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 50_000))
    content = {
        "cut": content[: len(content) // 2],
        "changed": content[:40] + bytes([content[40] ^ 255, content[41] ^ 255]) + content[42:],
        "no gzip": b"a,b\n1,2\n",
    }[harm]
    path = tmp_path / "t.csv.gz"
    path.write_bytes(bytes(content))
    with pytest.raises(BadData, match=r"the compressed file is (cut off|damaged)"):
        open_source(path).survey()
