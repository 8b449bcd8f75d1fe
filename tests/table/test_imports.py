"""A source loads the libraries it needs and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

HEAVY = {"pandas", "polars", "duckdb", "pyarrow", "numba", "narwhals"}
USES = {
    "import sfumato.table, sfumato.table.source": set(),
    "import polars as pl; f = pl.DataFrame({'a': ['x']})": {"polars", "pyarrow", "narwhals"},
    "import pyarrow as pa; f = pa.Table.from_arrays([pa.nulls(1, pa.string())], ['a'])": {
        "pyarrow",
        "narwhals",
    },
    "import pathlib; f = pathlib.Path(folder, 't.csv'); f.write_text('a,b\\n1,2\\n')": {"pyarrow", "numba"},
}


@pytest.mark.parametrize("code", USES)
def test_loaded_libraries(code, tmp_path):
    script = f"""
import sys
folder = {str(tmp_path)!r}
{code}
if 'f' in globals():
    from sfumato.table.source import open_source
    from sfumato.testing.engines import codings, recodings
    source = open_source(f)
    recoding = next(recodings(source.count(codings(['a']))))
    source.recode(recoding)
    source.write(recoding, folder + '/out.csv')
    source.write(recoding, folder + '/out.parquet')
print(*(set(sys.modules) & {HEAVY!r}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == USES[code]
