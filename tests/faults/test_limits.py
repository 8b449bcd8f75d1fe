"""Nothing that is handed in is read, held or told without a bound."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.streams import _exit_code
from sfumato.models.quasi_sensitive import knowledge
from sfumato.policy import yaml
from sfumato.policy.taxonomies.files import read_bytes
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.overrides import WeakerOverride
from sfumato.system import disk
from sfumato.system.errors import LONGEST_MESSAGE, BadData, BadInput, BadPolicy, NotEnoughMemory, UsageError
from sfumato.system.memory import address_space_left, is_out_of_memory
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with policies, and a table that fits them."""
    for file in (*(GOLDEN / "policies").iterdir(), GOLDEN / "people" / "hospital.csv"):
        shutil.copy(file, tmp_path / file.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


READERS = {
    "policy": sf.Policy.load,
    "hierarchy": read_bytes,
    "knowledge": knowledge.load,
    "override": WeakerOverride.read,
    "document": disk.read_document,
    "earlier plan": lambda path: sf.protect("hospital.csv", "ladders.yaml", reuse_plan=path),
    "imprint": lambda path: sf.protect("hospital.csv", "continuous.yaml", earlier=[path]),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.usefixtures("place")
def test_a_device_without_an_end(name):
    with pytest.raises(BadInput):
        READERS[name](Path("/dev/zero"))


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_that_nobody_writes_to(place, name, monkeypatch):
    monkeypatch.setattr(disk, "PIPE_PATIENCE", 0.1)
    os.mkfifo(place / "pipe")
    with pytest.raises(BadInput, match="nothing came out of the pipe"):
        READERS[name](place / "pipe")


def test_a_pipe_that_somebody_writes_to(place):
    os.mkfifo(place / "pipe.yaml")
    writer = subprocess.Popen(["sh", "-c", "sleep 0.3; cat ladders.yaml > pipe.yaml"])
    policy = sf.Policy.load(place / "pipe.yaml")
    assert writer.wait() == 0
    assert policy.digest == sf.Policy.load(place / "ladders.yaml").digest


def test_a_folder_is_no_document(place):
    with pytest.raises(IsADirectoryError):
        disk.read_document(place)


def test_a_list_of_too_many_entries_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(yaml, "MOST_NODES", 2000)
    composed = []
    monkeypatch.setattr(yaml._PlainData, "visit", lambda *_: composed.append(1))
    with pytest.raises(BadPolicy, match="a policy has at most") as refused:
        yaml.read("a: [" + "1, " * 300_000 + "]")
    assert "file" in refused.value.remedy and not composed


def test_messages_have_an_end(place):
    for text in ("columns: {" + "a" * 100_000 + ": {}}", "".join(f"k{i}: 1\n" for i in range(5000))):
        (place / "p.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(BadPolicy) as refused:
            sf.Policy.load(place / "p.yaml")
        assert len(str(refused.value)) < 3 * LONGEST_MESSAGE
        assert len(refused.value.problems) <= 1000
    assert "and 49" in str(refused.value)
    assert len(str(BadData("x" * 10**6, where="y" * 10**6, remedy="z" * 10**6))) < 3 * LONGEST_MESSAGE


@pytest.mark.usefixtures("place")
def test_an_option_that_is_endless_is_not_repeated(program):
    told = program.run(["release", "hospital.csv", "-p", "ladders.yaml", "--" + "x" * 100_000])
    assert told.returncode == 2 and len(told.stderr) < 2 * LONGEST_MESSAGE


def run(*words, before=None, seconds=120):
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        preexec_fn=before,
    )


SPARED = {
    "the policy": "terms_kept.yaml",
    "the data": "hospital.csv",
    "a file of the promise": "knowledge.csv",
    "the hierarchy": "job.csv",
}


@pytest.mark.parametrize("link", ["itself", "symbolic", "hard"])
@pytest.mark.parametrize("what", SPARED)
def test_an_output_never_replaces_what_it_is_made_from(place, what, link):
    file = place / SPARED[what]
    policy = "ladders.yaml" if what == "the hierarchy" else "terms_kept.yaml"
    before, target = file.read_bytes(), place / "out.csv"
    if link == "itself":
        target = file
    elif link == "symbolic":
        target.symlink_to(file)
    else:
        target.hardlink_to(file)
    with pytest.raises(UsageError, match="would replace"):
        protect_file("hospital.csv", policy, target, overwrite=True)
    assert file.read_bytes() == before


def test_no_output_replaces_a_ledger_or_a_key(program, place):
    Ledger(f"sqlite:///{place}/ledger.db").close()
    for name in ("ledger.db", "ledger.db.key"):
        (place / f"{name}.csv").symlink_to(place / name)
        before = (place / name).read_bytes()
        with pytest.raises(UsageError, match="would replace"):
            protect_file("hospital.csv", "ladders.yaml", place / f"{name}.csv", overwrite=True)
        told = program.run(["declare", "hospital.csv", "-o", name, "--overwrite"])
        assert told.returncode == 2 and "would replace" in told.stderr
        assert (place / name).read_bytes() == before


@pytest.mark.usefixtures("place")
def test_a_private_file_never_replaces_what_is_needed():
    shutil.copy("ladders.yaml", "safe.csv.reference.json")
    before = Path("safe.csv.reference.json").read_bytes()
    with pytest.raises(UsageError, match="would replace the policy"):
        protect_file("hospital.csv", "safe.csv.reference.json", "safe.csv")
    assert Path("safe.csv.reference.json").read_bytes() == before


@pytest.mark.parametrize("megabytes", [300, 1300, 1700])
def test_a_limit_of_address_space(place, megabytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))

    told = run("protect", "hospital.csv", "-p", "ladders.yaml", "-o", "safe.csv", before=limit)
    assert told.returncode in (0, 3), told.stderr[-500:]
    assert (place / "safe.csv").exists() == (told.returncode == 0)
    if told.returncode:
        assert "memory" in told.stderr or "address space" in told.stderr
    assert megabytes > 300 or told.returncode == 3


def test_a_program_that_a_library_ends():
    for status in (signal.SIGABRT, signal.SIGSEGV, 127 << 8):
        with pytest.raises(NotEnoughMemory):
            _exit_code(int(status))
    assert _exit_code(3 << 8) == 3 and _exit_code(int(signal.SIGKILL)) == 137
    assert address_space_left() > 0


def test_errors_that_mean_too_little_memory():
    try:
        try:
            raise MemoryError
        except MemoryError:
            raise ValueError("something else")  # noqa: B904  # as libraries do
    except ValueError as error:
        assert is_out_of_memory(error)
    assert is_out_of_memory(ImportError("x.so: failed to map segment from shared object"))
    assert not is_out_of_memory(ValueError("a cell")) and not is_out_of_memory(None)
    assert not is_out_of_memory(BadData("the cell says: out of memory"))


STAGE_AND_DIE = (
    "import os, signal, sys\n"
    "from pathlib import Path\n"
    "from sfumato.releases.files import kept_on_success\n"
    "path = Path(sys.argv[1])\n"
    "with kept_on_success(path.with_name(path.name + '.reference.json')) as stage:\n"
    "    stage('secret')\n"
    "    if sys.argv[2] == 'published':\n"
    "        path.write_text('safe')\n"
    "    os.kill(os.getpid(), signal.SIGKILL)\n"
)


@pytest.mark.parametrize("when", ["before", "published"])
def test_what_a_killed_process_staged_is_settled(tmp_path, when):
    from sfumato.releases.files import kept_on_success

    died = subprocess.run([sys.executable, "-c", STAGE_AND_DIE, tmp_path / "safe.csv", when], check=False)
    assert died.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".*.staged"))) == 1
    with kept_on_success(tmp_path / "other.csv.reference.json") as stage:
        stage("mine")
        assert len(list(tmp_path.glob(".*.staged"))) == 1
    kept = tmp_path / "safe.csv.reference.json"
    assert kept.exists() == (when == "published")
    assert not list(tmp_path.glob(".*.staged"))


def test_what_waits_for_a_recovery_stays_staged(tmp_path):
    from sfumato.releases.files import settle_abandoned, settle_recovered

    staged = tmp_path / ".Q1.reference.json.0123abcd.staged"
    staged.write_text("secret", encoding="utf-8")
    (tmp_path / ".staged-0123").mkdir()
    settle_abandoned(tmp_path)
    assert staged.exists()
    settle_recovered(tmp_path / "Q2.reference.json", published=True)
    assert staged.exists()
    settle_recovered(tmp_path / "Q1.reference.json", published=True)
    assert (tmp_path / "Q1.reference.json").read_text(encoding="utf-8") == "secret" and not staged.exists()
    staged.write_text("secret", encoding="utf-8")
    settle_recovered(tmp_path / "Q1.reference.json", published=False)
    assert not staged.exists()


@pytest.mark.usefixtures("place")
def test_deep_json_is_refused_quickly():
    Path("deep.json").write_text("[" * 10**6, encoding="utf-8")
    begun = time.process_time()
    with pytest.raises(BadData):
        sf.protect("hospital.csv", "ladders.yaml", reuse_plan="deep.json")
    assert time.process_time() - begun < 10
    assert json.loads("[]") == []


@pytest.mark.usefixtures("place")
def test_the_longest_cell_is_settled_by_an_option_or_the_policy(program):
    def tried(*words):
        return program.run(["protect", "long.csv", *words, "--dry-run"])

    rows = "zip,note\n" + f"1,{'x' * 1_100_000}\n1,y\n"
    Path("long.csv").write_text(rows, encoding="utf-8")
    words = "columns: {zip: {role: quasi}, note: {role: insensitive}}\npromises: [{k-anonymity: {k: 2}}]\n"
    Path("p.yaml").write_text(words, encoding="utf-8")
    Path("q.yaml").write_text(words + "source: {longest-cell: 2000000}\n", encoding="utf-8")
    refused = tried("-p", "p.yaml")
    assert refused.returncode == 3 and "line 2" in refused.stderr and "--longest-cell" in refused.stderr
    for more in (("-p", "p.yaml", "--longest-cell", "2000000"), ("-p", "q.yaml")):
        assert tried(*more).returncode == 0
    assert tried("-p", "p.yaml", "--longest-cell", "-1").returncode == 2
    policy = sf.Policy.load("q.yaml")
    assert sf.Policy.from_dict(policy.to_dict()).source == policy.source
    assert policy.digest == sf.Policy.load("p.yaml").digest
