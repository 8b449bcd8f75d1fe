"""The target is on another disk than the ledger, the data and the temporary folder: no half copy."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

import pytest

from faults.made_up import check_all, release
from quick_demo import write_quick_demo
from sfumato.cli.main import run
from sfumato.releases.issue import recover
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import SfumatoError, Unfinished

IN_MEMORY = Path("/dev/shm")
"""A file system of its own on Linux; elsewhere the same one is used, and the same must be true."""


@pytest.fixture
def elsewhere(tmp_path):
    parent = IN_MEMORY if IN_MEMORY.is_dir() else tmp_path
    folder = Path(tempfile.mkdtemp(prefix="sfumato-elsewhere-", dir=parent))
    yield folder
    shutil.rmtree(folder)


def test_a_release_to_another_disk(tmp_path, elsewhere):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger(url) as ledger:
        release(ledger, elsewhere / "one")
    assert check_all(url, None, elsewhere) == 1


def test_a_file_on_another_disk(tmp_path, elsewhere):
    write_quick_demo(tmp_path, 200)
    words = [
        "protect",
        tmp_path / "hospital.csv",
        "-p",
        tmp_path / "policy.yaml",
        "-o",
        elsewhere / "safe.csv",
    ]
    assert run([*map(str, words), "--spill", str(tmp_path)]) == 0
    assert [path.name for path in elsewhere.iterdir()] == ["safe.csv"]


def test_a_rename_across_disks_is_not_a_copy(tmp_path, monkeypatch):
    """Should the system refuse the last rename, the release counts, waits, and is put in place later."""
    (tmp_path / "out").mkdir()
    url = f"sqlite:///{tmp_path}/ledger.db"

    def refuse(*_):
        raise OSError(errno.EXDEV, "cross-device link")

    with Ledger(url) as ledger, monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refuse)
        patched.setattr("os.rename", refuse)
        with pytest.raises(SfumatoError) as told:
            release(ledger, tmp_path / "out" / "one")
        assert isinstance(told.value, Unfinished)
        assert not (tmp_path / "out" / "one").exists()
        assert [one.outcome for one in recover(ledger)] == ["blocked"]
    assert check_all(url, None, tmp_path / "out") == 1
