"""What soaks and hostile hands found, each with the smallest input that showed it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import zipfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc
from typer.testing import CliRunner

import sfumato as sf
from policy.test_arx_project import project
from sfumato.cli.attack import read_vocabulary
from sfumato.cli.main import app
from sfumato.policy.columns import numbers_in
from sfumato.policy.other_tools import ArxProject
from sfumato.policy.reference import Reference
from sfumato.releases.files import check_target
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.names import LONGEST_NAME, checked_name
from sfumato.releases.targets import FolderTarget
from sfumato.studio.state import PolicyFile
from sfumato.system import disk
from sfumato.system.errors import BadData, BadInput, BadLedger, BadPolicy, UsageError
from sfumato.system.json_object import read_json
from sfumato.table.frames import open_json
from sfumato.table.source import open_source
from studio.stage import OURS, StudioClient, open_studio

ENDLESS = Path("/dev/zero")


def test_offsets_of_an_arrow_file_that_lead_out_of_it(tmp_path):
    """Arrow read where nothing is, and the process ended by a signal."""
    path, texts = tmp_path / "t.arrow", pa.array(["abc"] * 50)
    with ipc.new_file(str(path), pa.schema([("a", pa.string())])) as out:
        out.write_batch(pa.record_batch([texts], ["a"]))
    content = path.read_bytes()
    offsets = texts.buffers()[1].to_pybytes()[:200]
    place = content.index(offsets[4:100]) + 40
    path.write_bytes(content[:place] + b"\xff\xff\xff\x7e" + content[place + 4 :])
    with pytest.raises(BadData, match="cannot be read as Arrow"):
        open_source(path).survey()


def test_a_packed_part_of_an_arx_project_that_is_damaged(tmp_path):
    """The library that unpacks has an error of its own."""
    whole = project(tmp_path / "p.deid").read_bytes()
    with zipfile.ZipFile(tmp_path / "p.deid") as archive:
        part = archive.getinfo("input/definition.xml")
    for number in range(40):
        chance = random.Random(number)
        place = part.header_offset + 60 + chance.randrange(part.compress_size - 30)
        (tmp_path / "p.deid").write_bytes(whole[:place] + chance.randbytes(8) + whole[place + 8 :])
        with pytest.raises(BadInput):
            ArxProject.read(tmp_path / "p.deid")


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no such device")
def test_a_device_without_an_end_is_no_arx_project():
    """An archive is read from its end: this took all memory."""
    with pytest.raises(BadInput, match="no file"):
        ArxProject.read(ENDLESS)


def test_lists_that_are_no_text_or_have_endless_cells(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"fever\n\xff\n")
    with pytest.raises(BadData, match="UTF-8"):
        read_vocabulary(path)
    path.write_bytes(b"x;" + b"1" * 200_000)
    with pytest.raises(BadPolicy, match="no list of labels and numbers"):
        numbers_in(path)


def test_a_leak_with_a_number_beyond_every_column(tmp_path):
    path = tmp_path / "leak.json"
    path.write_text('{"zip": 99999999999999999999999999}', encoding="utf-8")
    with pytest.raises(BadData, match="has no text"):
        open_json(path)


def test_a_reference_without_a_digest(tmp_path):
    prior = {"of": "a", "rule": "r", "knowledge": "k", "shares": {"x": "1/2", "y": "1/2"}}
    path = tmp_path / "reference.json"
    path.write_text(json.dumps({"priors": [prior]}), encoding="utf-8")
    with pytest.raises(BadData, match="no reference"):
        Reference.load(path)


@pytest.mark.parametrize("depth", [300, 900, 950, 980, 2000])
def test_deep_documents_are_read_or_refused(depth):
    """What could be read may be too deep to be written again."""
    with contextlib.suppress(ValueError):
        read_json("[" * depth + '"ä"' + "]" * depth)


@pytest.mark.parametrize(
    "harm",
    [
        {"text": 5},
        {"text": None},
        {"before": "x"},
        {"did": []},
        {"number": 7},
        {"text": "\ud800"},
        {"more": 1},
    ],
)
def test_a_state_of_the_policy_that_somebody_changed_is_none(tmp_path, harm):
    policy = PolicyFile(tmp_path / "policy.yaml")
    for text in ("a", "b", "c"):
        policy.write(text, version=policy.version, did=text)
    path = tmp_path / ".policy.yaml.history" / "000002.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **harm}), encoding="utf-8")
    (path.parent / "1\N{SUPERSCRIPT TWO}.json").write_text("{}", encoding="utf-8")
    assert [state.text for state in policy.history()] == ["c", "a"]
    with pytest.raises(UsageError, match="nothing to undo"):
        policy.undo(version=policy.version)


@pytest.mark.parametrize("page", ["/declare", "/declare/text", "/protect", "/history"])
def test_a_policy_in_the_studio_that_is_no_text(tmp_path, page):
    """The page that says so had a frame that read the policy again."""
    studio = open_studio(tmp_path)
    studio.policy.path.write_bytes(b"\xff\xfe columns")
    answer = StudioClient(studio).get(page)
    assert answer.status_code < 500 and "a bug:" not in answer.text


def test_a_target_whose_name_is_not_utf8(tmp_path):
    """Neither the ledger nor a certificate can name it."""
    with pytest.raises(UsageError, match="not written in UTF-8"):
        FolderTarget(tmp_path / os.fsdecode(b"out\xff")).check()


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_files_whose_names_are_not_utf8_are_neither_written_nor_judged(tmp_path, ending):
    """The database of the judge takes no such paths."""
    path = tmp_path / os.fsdecode(b"o\xff" + ending.encode())
    with pytest.raises(UsageError, match="not written in UTF-8"):
        check_target(path)
    check_target(tmp_path / f"\N{LATIN SMALL LETTER A WITH DIAERESIS}{ending}")
    table, plain = pl.DataFrame({"a": ["x", "x"]}), tmp_path / f"plain{ending}"
    {".csv": table.write_csv, ".jsonl": table.write_ndjson}[ending](plain)
    plain.rename(path)
    asked = {
        "columns": {"a": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    with contextlib.suppress(BadData):
        sf.audit(path, sf.Policy.from_dict(asked))


def test_keys_from_standard_input_have_an_end(monkeypatch):
    monkeypatch.setattr(disk, "LARGEST_LIST", 10)
    said = CliRunner().invoke(app, ["erase", "--person-file", "-", "--yes"], input=b"p-1\n" * 10)
    assert isinstance(said.exception, BadData) and "more than 10 bytes" in said.exception.message


@pytest.mark.parametrize("url", ["sqlite:////", "sqlite:///.", "postgresql://here:port/x", "sqlite:///"])
def test_urls_that_name_no_ledger(url):
    with pytest.raises(UsageError, match=r"a ledger is|the ledger is named"):
        Ledger(url)


def test_names_of_chains_have_an_end():
    """An index of PostgreSQL takes no longer ones, and messages name them."""
    assert checked_name("x" * LONGEST_NAME, "chain")
    with pytest.raises(UsageError, match="more than 255 characters"):
        checked_name("x" * (LONGEST_NAME + 1), "chain")


def test_a_schema_that_quotes_no_unicode(tmp_path):
    """SQLite quoted the name of a damaged table in its complaint, which is not Unicode (exit 70)."""
    path = tmp_path / "ledger.db"
    with Ledger(f"sqlite:///{path}"):
        pass
    whole = path.read_bytes()
    harmed = whole.replace(b"tableentriesentries", b"table\xcf\xcftriesentries")
    path.write_bytes(harmed.replace(b"CREATE TABLE entries", b"CREATE TABEL entries"))
    assert path.read_bytes() != harmed != whole
    for readonly in (True, False):
        with (
            pytest.raises(BadLedger, match="damaged"),
            Ledger(f"sqlite:///{path}", readonly=readonly) as ledger,
        ):
            ledger.history()


def test_a_list_of_many_problems_stays_short():
    """Twenty sentences that each list all promises were too long to be read."""
    policy = {
        "columns": {"a": {"role": "quasi"}},
        "promises": [[]] * 50,
        "protect": {"search": "top-down", "suppress": 0},
    }
    with pytest.raises(BadPolicy) as refused:
        sf.Policy.from_dict(policy)
    assert str(refused.value).startswith("policy: 50 problems\n") and len(str(refused.value)) < 2000
    assert " more" in str(refused.value).splitlines()[-1] and len(refused.value.problems) == 50


def test_a_name_that_no_address_has_room_for(tmp_path):
    """The studio led to an address of 200,000 letters."""
    studio = open_studio(tmp_path)
    fields = {"to": "x" * 200_000, "into": "one", "chain": "main", "version": studio.policy.version}
    answer = StudioClient(studio).post("/release/rehearse", data=fields, headers=OURS)
    assert answer.status_code == 422 and "too long" in answer.text
