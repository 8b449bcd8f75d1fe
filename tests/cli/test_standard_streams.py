"""Standard streams that are closed, full, or of another encoding: work is done, and what is told is true."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from quick_demo import write_quick_demo
from sfumato.releases.ledger.ledger import Ledger
from sfumato.studio.jobs import WorkOrder, perform
from sfumato.system.errors import SfumatoError
from sfumato.system.progress import as_shown, stop_request

pytestmark = pytest.mark.slow

CALL = [sys.executable, "-m", "sfumato"]
POLICY = """
columns:
  Größe: {role: quasi, taxonomy: {flat: true}}
promises:
  - k-anonymity: {k: 2}
protect: {search: top-down}  # whose plan names the column in JSON, too
"""


@pytest.fixture
def place(tmp_path):
    write_quick_demo(tmp_path, 300)
    return tmp_path


@pytest.fixture
def umlauts(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "data.csv").write_text("Größe\n" + "groß\nklein\n" * 4, encoding="utf-8")
    return ["protect", "data.csv", "-p", "policy.yaml", "-o", "safe.csv"]


def shell(words, redirected, place, **environment):
    """A call whose streams are redirected by a shell."""
    line = f"exec {' '.join(words)} {redirected}"
    return subprocess.run(["sh", "-c", line], cwd=place, capture_output=True, check=False, **environment)


@pytest.mark.parametrize(
    "redirected", ["</dev/null >&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", ">/dev/full 2>&1", "2>/dev/full"]
)
def test_a_release_is_made_whatever_becomes_of_what_it_says(redirected, place):
    words = [*CALL, "release", "hospital.csv", "-p", "policy.yaml", "--into", "out", "--to", "us"]
    ended = shell(words, redirected, place)
    told = (ended.stdout + ended.stderr).decode()
    assert ended.returncode == 0, told
    assert (place / "out" / "certificate.json").is_file()
    assert len(Ledger(f"sqlite:///{place}/ledger.db").history("main")) == 1
    assert "nothing was published" not in told and "bug" not in told and "Traceback" not in told
    if redirected == ">/dev/full":
        assert "cannot be written to stdout (No space left on device); what was to be published is" in told


def test_a_release_is_made_although_nobody_reads_what_it_says(place):
    words = [*CALL, "release", "hospital.csv", "-p", "policy.yaml", "--into", "out", "--to", "us"]
    with subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as call:
        call.stdout.close()
    assert call.returncode == 0
    assert (place / "out" / "certificate.json").is_file()


def test_results_that_cannot_be_written_are_no_success(umlauts, tmp_path):
    ended = shell([*CALL, *umlauts[:-2], "--dry-run", "--json"], ">/dev/full", tmp_path)
    assert ended.returncode == 3
    assert "nothing was published" in ended.stderr.decode()


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "latin-1", "cp1252", "utf-8"])
def test_letters_that_an_encoding_lacks_are_spelled_out(encoding, umlauts, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("LC_ALL", "C")
    ended = subprocess.run([*CALL, *umlauts], cwd=tmp_path, capture_output=True, check=False)
    told = ended.stdout.decode(encoding.split(":")[0])
    assert ended.returncode == 0, ended.stderr
    assert (r"Gr\xf6\xdfe" if "ascii" in encoding else "Größe") in told
    again = [*CALL, *umlauts, "--overwrite", "--json"]
    ended = subprocess.run(again, cwd=tmp_path, capture_output=True, check=False)
    assert "Größe" in json.dumps(json.loads(ended.stdout.decode(encoding.split(":")[0])), ensure_ascii=False)


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path):
    """Else what a library prints would end up in a ledger."""
    code = "from sfumato.cli.streams import open_streams\nopen_streams()\n"
    code += "open('told', 'w').write(str(open('x', 'w').fileno()))"
    (tmp_path / "ask.py").write_text(code, encoding="utf-8")
    assert shell([sys.executable, "ask.py"], "<&- >&- 2>&-", tmp_path).returncode == 0
    assert int((tmp_path / "told").read_text()) > 2


@pytest.mark.parametrize("error", [RuntimeError, MemoryError])
def test_an_error_after_publishing_does_not_say_that_nothing_was(error, monkeypatch):
    monkeypatch.setattr(stop_request, "published", True)
    assert "nothing was published" not in as_shown(error("x")).message
    monkeypatch.setattr(stop_request, "published", False)
    assert "nothing was published" in as_shown(error("x")).message


def _fail(**_):
    raise RuntimeError


def test_a_job_of_the_studio_does_not_speak_of_what_another_published(monkeypatch):
    monkeypatch.setattr(stop_request, "published", True)
    error = perform(WorkOrder(1, _fail, ()), lambda *_: None).error
    assert isinstance(error, SfumatoError) and "nothing was published" in error.message


def test_a_link_may_lead_to_the_folder_of_the_target(place):
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    words = ["release", "hospital.csv", "-p", "policy.yaml", "--into", Path("link") / "out", "--to", "us"]
    ended = subprocess.run([*CALL, *map(str, words)], cwd=place, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (place / "real" / "out" / "certificate.json").is_file()
