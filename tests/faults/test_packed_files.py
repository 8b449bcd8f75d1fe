"""Small files that unpack to large tables are read within the memory that is allowed, or refused."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.system.errors import NotEnoughMemory
from sfumato.system.memory import PROGRAM_BYTES, Memory, resident
from sfumato.table.reader import ROWS_AT_A_TIME
from sfumato.table.reading.parquet import ParquetReader

pytestmark = pytest.mark.slow

POLICY = """
columns: {zip: {role: quasi}, note: {role: insensitive}}
promises: [{k-anonymity: {k: 2}}]
"""
MEMORY = 600_000_000
RUN = (
    "import sys\n"
    "from pathlib import Path\n"
    "from sfumato.cli.main import run\n"
    "code = run(sys.argv[1:])\n"
    "told = Path('/proc/self/status').read_text().split('VmHWM:')[1]\n"
    "print(told.split()[0])\n"
    "sys.exit(code)\n"
)


def packed(path, *, dictionary, cells=200, length=2_000_000):
    """A file of some kilobytes that holds 400 MB of text."""
    table = pa.table({"zip": ["1", "2"] * (cells // 2), "note": ["x" * length] * cells})
    pq.write_table(table, path, compression="zstd", use_dictionary=dictionary, row_group_size=cells)
    return path


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_packed_file_stays_within_its_limit(tmp_path, dictionary):
    path = packed(tmp_path / "packed.parquet", dictionary=dictionary)
    assert path.stat().st_size < 20_000
    (tmp_path / "p.yaml").write_text(POLICY, encoding="utf-8")
    words = ["protect", path, "-p", tmp_path / "p.yaml", "-o", tmp_path / "o.parquet", "--memory", MEMORY]
    told = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, words)], capture_output=True, text=True, check=False
    )
    assert told.returncode in (0, 3), told.stderr[-300:]
    assert int(told.stdout.splitlines()[-1]) * 1024 < MEMORY
    assert told.returncode == 0 or "memory" in told.stderr


def test_a_page_without_room_is_not_begun(tmp_path):
    path = packed(tmp_path / "packed.parquet", dictionary=False, cells=20)
    allowed = Memory(max(PROGRAM_BYTES, resident() + 60_000_000))
    with pytest.raises(NotEnoughMemory, match="unpacking values of about 2,"):
        list(ParquetReader(path, memory=allowed).batches(["note"]))
    assert [len(batch) for batch in ParquetReader(path, memory=allowed).batches(["zip"])] == [20]


def test_long_rows_are_read_a_few_at_a_time(tmp_path):
    table = pa.table({"note": [f"{i:0100000}" for i in range(300)]})
    pq.write_table(table, tmp_path / "long.parquet", use_dictionary=False, data_page_size=1000)
    file = pq.read_metadata(tmp_path / "long.parquet")
    tight = ParquetReader(tmp_path / "long.parquet", memory=Memory(resident() + 500_000_000))
    assert 1 <= tight._rows_at_a_time(file, {"note"}) < 1000
    assert tight._rows_at_a_time(file, {"other"}) == ROWS_AT_A_TIME
    assert pa.Table.from_batches(tight.batches(["note"])).num_rows == 300
