"""A published file is all there, or not there at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from sfumato.releases import files as output_file
from sfumato.releases.files import check_target, publish
from sfumato.system.disk import private_folder
from sfumato.system.errors import BrokenPromise, UsageError


def write(path):
    path.write_text("zip\n021**\n", encoding="utf-8")


def refuse(_):
    raise BrokenPromise("no")


def test_the_file_appears_with_what_the_judge_saw(tmp_path):
    target = tmp_path / "safe.csv"
    seen = publish(target, write, lambda staged: staged.read_text(encoding="utf-8"))
    assert seen == target.read_text(encoding="utf-8") == "zip\n021**\n"
    assert [p.name for p in tmp_path.iterdir()] == ["safe.csv"]


def test_a_refused_file_never_appears(tmp_path):
    with pytest.raises(BrokenPromise):
        publish(tmp_path / "safe.csv", write, refuse)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_file_leaves_the_earlier_one(tmp_path):
    target = tmp_path / "safe.csv"
    target.write_text("earlier", encoding="utf-8")
    with pytest.raises(BrokenPromise):
        publish(target, write, refuse, overwrite=True)
    assert target.read_text(encoding="utf-8") == "earlier"
    publish(target, write, str, overwrite=True)
    assert target.read_text(encoding="utf-8") == "zip\n021**\n"


@pytest.mark.parametrize("step", ["write", "judge", "disk", "rename"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, MemoryError])
def test_nothing_is_left_whatever_fails(tmp_path, monkeypatch, step, error):
    def fail(*_):
        raise error

    if step == "disk":
        monkeypatch.setattr(output_file, "to_disk", fail)
    if step == "rename":
        monkeypatch.setattr(output_file, "_rename_unless_there", fail)
    with pytest.raises(error):
        publish(tmp_path / "safe.csv", fail if step == "write" else write, fail if step == "judge" else str)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_gone_at_the_next_run(tmp_path):
    """Its folder is not held any more; one that is held stays."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom sfumato.releases.files import publish\n"
        "def die(staged):\n    staged.write_text('canary')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "publish(Path(sys.argv[1]), die, str)\n"
    )
    died = subprocess.run([sys.executable, "-c", code, str(tmp_path / "safe.csv")], check=False)
    assert died.returncode == -signal.SIGKILL
    assert [p.read_text(encoding="utf-8") for p in tmp_path.rglob("safe.csv")] == ["canary"]
    with private_folder(tmp_path, hidden=True) as held:
        publish(tmp_path / "safe.csv", write, str)
        assert sorted(tmp_path.iterdir()) == sorted([held, tmp_path / "safe.csv"])


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)  # root may write everywhere
    with pytest.raises(UsageError, match="cannot be written to"):
        publish(tmp_path / "safe.csv", write, str)


def test_somebody_else_may_have_been_faster(tmp_path):
    target = tmp_path / "safe.csv"

    def judge(_):
        target.write_text("theirs", encoding="utf-8")

    with pytest.raises(UsageError):
        publish(target, write, judge)
    assert target.read_text(encoding="utf-8") == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["safe.csv"]


def test_a_dangling_link_counts_as_there(tmp_path):
    target = tmp_path / "safe.csv"
    target.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError):
        publish(target, write, str)
    assert target.is_symlink()


@pytest.mark.parametrize("name", ["", "absent/safe.csv"])
def test_a_folder_is_no_file(tmp_path, name):
    with pytest.raises(UsageError):
        check_target(tmp_path / name)


def test_the_source_is_never_replaced(tmp_path):
    raw = tmp_path / "raw.csv"
    raw.write_text("zip\n", encoding="utf-8")
    with pytest.raises(UsageError):
        check_target(tmp_path / "." / "raw.csv", source=raw, overwrite=True)
