"""A built-in part is one file: put into its room, and named nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SEARCH = '''
"""Everything is generalized as far as it goes."""

from sfumato.models.contract import Promises
from sfumato.policy.searches import Ability, losses_with
from sfumato.search.contract import Aim, Outcome, Work, built_in_search
from sfumato.search.suppression import recoded
from sfumato.search.lattice import lattice
from sfumato.table.microdata import Microdata


@built_in_search(
    "sideways",
    "goes sideways",
    place=7,
    compared=6,
    ability=Ability(losses=losses_with(by_level=True), levels=True),
    work=Work(steps=lambda size: size.rows, rows_of_rungs=10),
)
def sideways(table, promises, aim, *, progress=lambda *_: None):
    return lattice(table, promises, aim, progress=progress)
'''
LOSS = '''
"""How many classes there are."""

from sfumato.search.loss import MeasuredRecoding, built_in_loss


@built_in_loss("widest", "the widest class")
def widest(case: MeasuredRecoding) -> float:
    return float(case.recoding.rows.max(initial=0))
'''


JSON_ARRAY = '''
"""A JSON list of objects."""

from dataclasses import dataclass
import json

import pyarrow as pa

from sfumato.table.data_file import built_in_reader, built_in_writer
from sfumato.table.reading.loaded_file import LoadedFileReader


@built_in_reader(".jsonarray", what="a JSON list", place=8)
@dataclass(frozen=True, eq=False)
class JsonArrayReader(LoadedFileReader):
    def load(self):
        return pa.Table.from_pylist(json.loads(self.path.read_text(encoding="utf-8")))


@built_in_writer("jsonarray", ".jsonarray", place=8)
def write_json_array(published, file, _form, progress):
    file.write(json.dumps(published.table().to_pylist()).encode())
    progress("writing", published.rows, published.rows)
'''
JUDGES_JSON_ARRAY = '''
"""A JSON list of objects, as a release writes it."""

import json
from pathlib import Path

from sfumato.verify.cells import label
from sfumato.verify.formats import built_in_format


@built_in_format(".jsonarray")
def json_array_columns(path: Path):
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {name: [label(row[name]) for row in rows] for name in rows[0]}
'''


@pytest.fixture
def house(tmp_path):
    """house({room/file: text}): a copy of the program with these files, as links; runs Python in it."""

    def build(files):
        package = tmp_path / "src" / "sfumato"
        _link(ROOT / "src" / "sfumato", package)
        for name, text in files.items():
            _unlinked(package, Path(name).parent)
            (package / name).write_text(text, encoding="utf-8")

        def run(*arguments):
            environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}:{ROOT}", "COLUMNS": "200"}
            call = [sys.executable, *map(str, arguments)]
            return subprocess.run(
                call, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
            ).stdout

        return run

    return build


def _link(source, target):
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name != "__pycache__":
            (target / entry.name).symlink_to(entry)


def _unlinked(package, folder):
    """Makes a folder of links out of each link to a folder on the way."""
    for place in [*reversed(folder.parents), folder]:
        target = package / place
        if target.is_symlink():
            source = target.resolve()
            target.unlink()
            _link(source, target)


CODE = """
import json, sys
from sfumato.policy import searches
heavy = [name for name in ("numba", "duckdb", "pyarrow", "polars") if name in sys.modules]
from sfumato.policy.schema import schema
protect = schema()["properties"]["protect"]["properties"]
print(json.dumps([heavy, protect, searches.known(), searches.known_losses()]))
"""


def words(**protect):
    return {
        "columns": {"zip": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": protect,
    }


def test_a_search_is_one_file(house, tmp_path):
    run = house({"search/sideways.py": SEARCH})
    heavy, protect, names, _ = json.loads(run("-c", CODE))
    assert heavy == []
    assert names == ["top-down", "lattice", "mondrian", "optimum", "local", "best", "sideways"]
    assert protect["search"]["enum"] == names
    assert protect["search"]["description"].endswith("sideways: goes sideways.")
    _write_table(tmp_path)
    (tmp_path / "policy.yaml").write_text(json.dumps(words(search="sideways")), encoding="utf-8")
    call = ("-m", "sfumato", "protect", "table.csv", "-p", "policy.yaml")
    assert "sideways" in run(*call, "-o", "safe.csv")
    assert len((tmp_path / "safe.csv").read_text(encoding="utf-8").splitlines()) == 7
    (tmp_path / "policy.yaml").write_text(json.dumps(words(search="best")), encoding="utf-8")
    assert "sideways" in run(*call, "--dry-run", "--compare")
    assert "`sideways`" in run("-c", PAGE)


def test_a_loss_is_one_file(house, tmp_path):
    run = house({"search/widest.py": LOSS})
    heavy, protect, _, losses = json.loads(run("-c", CODE))
    assert heavy == []
    assert losses[-1] == "widest" and protect["loss"]["enum"] == losses
    assert protect["loss"]["description"].endswith("widest: the widest class.")
    _write_table(tmp_path)
    (tmp_path / "policy.yaml").write_text(
        json.dumps(words(search="optimum", loss="widest")), encoding="utf-8"
    )
    told = run("-m", "sfumato", "protect", "table.csv", "-p", "policy.yaml", "--dry-run", "--json")
    assert json.loads(told)["loss"] == 2
    assert "`widest`" in run("-c", PAGE)


def test_a_file_format_is_one_file_and_one_for_the_judge(house, tmp_path):
    run = house({"table/reading/json_array.py": JSON_ARRAY, "verify/json_array.py": JUDGES_JSON_ARRAY})
    records = [{"zip": zip_code} for zip_code in ("1", "1", "2", "2", "3", "3")]
    (tmp_path / "table.jsonarray").write_text(json.dumps(records), encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(json.dumps(words(search="top-down")), encoding="utf-8")
    call = ("-m", "sfumato", "protect", "table.jsonarray", "-p", "policy.yaml")
    run(*call, "-o", "safe.jsonarray")
    assert json.loads((tmp_path / "safe.jsonarray").read_text(encoding="utf-8")) == records
    run("-m", "sfumato", "audit", "safe.jsonarray", "-p", "policy.yaml")
    run(
        "-m",
        "sfumato",
        "release",
        "table.jsonarray",
        "-p",
        "policy.yaml",
        "--into",
        "out",
        "--to",
        "registry",
    )
    assert (tmp_path / "out" / "data.jsonarray").is_file()
    assert ".jsonarray" in run("-m", "sfumato", "protect", "--help")
    assert "`.jsonarray`" in run("-c", PAGE.replace("policy.md", "formats.md"))
    out = run("-c", "import sfumato, sys; print([m for m in ('numpy', 'pyarrow') if m in sys.modules])")
    assert out == "[]\n"


PAGE = """
from guide.blocks import ROOT, filled
print(filled((ROOT / "docs/reference/policy.md").read_text(encoding="utf-8")))
"""


def _write_table(folder):
    zips = ["1", "1", "2", "2", "3", "3"]
    (folder / "table.csv").write_text("\n".join(["zip", *zips]) + "\n", encoding="utf-8")
