"""Whatever the bytes: every parser reads them or says no in our words, within bounds of time."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato as sf
from faults.conftest import report
from faults.damage import damaged
from sfumato.core.errors import BadData, SfumatoError
from sfumato.core.imprint import Imprint
from sfumato.core.json_object import read_json
from sfumato.engine import open_source
from sfumato.policy.reference import Reference
from sfumato.policy.taxonomies.file import parse, read_bytes
from sfumato.promises.quasi_sensitive import knowledge_file
from sfumato.releases import certificate, manifest
from sfumato.releases.ledger.keys import Key, public_key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.weaker_override import read_override
from sfumato.system.disk import read_document

GOLDEN = Path(__file__).parent.parent / "golden" / "v0_1"
PATIENCE = 10.0
"""Seconds for one input, on a busy machine."""


def read_table(path):
    source = open_source(path)
    source.survey()
    source.digest()


def examine(path):
    found = certificate.examine(path)
    return str(found.card()), found.as_dict()


def trace(path):
    return sf.trace(path, ledger=f"sqlite:///{path.parent}/ledger.db").as_dict()


def verify(path):
    with Ledger(f"sqlite:///{path}", key=path.with_name("ledger.db.key"), readonly=True) as ledger:
        return ledger.verify().as_dict()


PARSERS = {
    "policy": ("policies/versions.yaml", sf.Policy.load),
    "policy with knowledge": ("policies/terms_kept.yaml", sf.Policy.load),
    "hierarchy": ("policies/job.csv", lambda path: parse(read_bytes(path), name=path.name)),
    "knowledge": ("policies/knowledge.csv", knowledge_file.load),
    "reference": ("published/terms_kept.csv.reference.json", Reference.load),
    "certificate": ("released/Q1/certificate.json", examine),
    "manifest": ("released/Q1/manifest.json", manifest.read),
    "override": ("ledger/override.json", read_override),
    "imprint": ("imprints/Q2.json", lambda path: Imprint.from_json(path.read_bytes())),
    "public key": ("ledger/ledger.db.key.pub", public_key),
    "key": ("ledger/ledger.db.key", Key.load),
    "csv": ("people/hospital.csv", read_table),
    "records": ("leaks/record.json", read_table),
    "leak": ("leaks/university.csv", trace),
    "leaked record": ("leaks/record.json", trace),
    "ledger": ("ledger/ledger.db", verify),
}


@pytest.fixture
def place(tmp_path):
    for folder in ("policies", "ledger"):
        for file in (GOLDEN / folder).iterdir():
            shutil.copy(file, tmp_path / file.name)
    return tmp_path


@pytest.mark.parametrize("name", PARSERS)
def test_every_parser_reads_or_refuses(place, times, name):
    seed, read = PARSERS[name]
    content, chance = (GOLDEN / seed).read_bytes(), random.Random(name)
    path = place / Path(seed).name
    told = {"read": 0, "refused": 0}
    for number in range(times(60, 6000)):
        path.write_bytes(damaged(content, chance))
        path.chmod(0o600)
        begun = time.monotonic()
        try:
            read(path)
            told["read"] += 1
        except SfumatoError as error:
            told["refused"] += 1
            assert len(str(error)) < 2000, (name, number)
        except Exception as error:  # the test says which input it was
            raise AssertionError(f"{name}, input {number}: {type(error).__name__}") from error
        assert time.monotonic() - begun < PATIENCE, (name, number)
    assert told["refused"]
    report(f"damaged inputs: {name}", told)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "NaN",
        "[1e400]",
        '"\\ud800"',
        '{"a": 1, "a": 2}',
        '{"a": -Infinity}',
        "",
        "\ufeff",
        "9" * 5000,
    ],
    ids=["deep", "nan", "huge", "half a character", "twice", "infinity", "empty", "mark", "digits"],
)
def test_documents_that_are_none(text):
    with pytest.raises(ValueError):
        read_json(text)
    with pytest.raises(ValueError):
        read_json(text.encode("utf-8", "surrogatepass"))


def test_a_document_without_an_end(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_bytes(b" " * 100)
    assert read_document(path, most=100) == b" " * 100
    with pytest.raises(BadData, match="more than 99 bytes"):
        read_document(path, most=99)


def run(place, *words):
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *words], cwd=place, capture_output=True, check=False, timeout=120
    )


ENDLESS = {
    "certificate": ("certificate", "verify", "/dev/zero"),
    "policy": ("protect", "hospital.csv", "-p", "/dev/zero"),
    "override": ("release", "hospital.csv", "-p", "versions.yaml", "--into", "x", "--override", "/dev/zero"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_files_without_an_end(place, name):
    shutil.copy(GOLDEN / "people" / "hospital.csv", place / "hospital.csv")
    told = run(place, *ENDLESS[name])
    assert told.returncode in (2, 3), told.stderr[-300:]


def test_names_that_are_not_utf8(place):
    (place / "out").mkdir()
    for words in (
        ("protect", b"\xff\xfe.csv", "-p", "versions.yaml"),
        ("protect", "hospital.csv", "-p", b"\xff.yaml"),
        ("certificate", "verify", b"\xff.json"),
        ("release", "hospital.csv", "-p", "versions.yaml", "--into", b"out/\xff"),
        ("trace", b"\xff.csv"),
    ):
        told = run(place, *words)
        assert told.returncode in (0, 2, 3), (words, told.stderr[-300:])
