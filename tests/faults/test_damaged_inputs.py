"""Whatever the bytes: every parser reads them or says no in our words, within bounds of time."""

from __future__ import annotations

import random
import shutil
import time

import pytest

from faults.conftest import report
from faults.damage import damaged
from faults.parsers import PARSERS, lay_out
from faults.written_files import GOLDEN
from sfumato.system.disk import read_document
from sfumato.system.errors import BadData, SfumatoError
from sfumato.system.json_object import read_json

pytestmark = pytest.mark.slow

PATIENCE = 10.0
"""Seconds of the processor for one input."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    place = tmp_path_factory.mktemp("whole")
    lay_out(place)
    return place


@pytest.fixture
def place(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "place")


@pytest.mark.parametrize("name", PARSERS)
def test_every_parser_reads_or_refuses(place, times, name):
    parser = PARSERS[name]
    path, chance = place / parser.file, random.Random(name)
    content = path.read_bytes()
    parser.read(path)
    told = {"read": 0, "refused": 0}
    for number in range(times(5 * parser.turns, 6000)):
        path.write_bytes(damaged(content, chance))
        path.chmod(0o600)
        begun = time.process_time()
        try:
            parser.read(path)
            told["read"] += 1
        except SfumatoError as error:
            told["refused"] += 1
            assert len(str(error)) < 2000, (name, number)
        except Exception as error:  # the test says which input it was
            raise AssertionError(f"{name}, input {number}: {type(error).__name__}") from error
        assert time.process_time() - begun < PATIENCE, (name, number)
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


ENDLESS = {
    "certificate": ("certificate", "verify", "/dev/zero"),
    "policy": ("protect", "hospital.csv", "-p", "/dev/zero"),
    "override": ("release", "hospital.csv", "-p", "versions.yaml", "--into", "x", "--override", "/dev/zero"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_files_without_an_end(program, place, monkeypatch, name):
    shutil.copy(GOLDEN / "people" / "hospital.csv", place / "hospital.csv")
    monkeypatch.chdir(place)
    told = program.run(ENDLESS[name])
    assert told.returncode in (2, 3), told.stderr[-300:]


def test_names_that_are_not_utf8(program, place, monkeypatch):
    (place / "out").mkdir()
    monkeypatch.chdir(place)
    for words in (
        ("protect", b"\xff\xfe.csv", "-p", "versions.yaml"),
        ("protect", "hospital.csv", "-p", b"\xff.yaml"),
        ("certificate", "verify", b"\xff.json"),
        ("release", "hospital.csv", "-p", "versions.yaml", "--into", b"out/\xff"),
        ("trace", b"\xff.csv"),
    ):
        told = program.run(words)
        assert told.returncode in (0, 2, 3), (words, told.stderr[-300:])
