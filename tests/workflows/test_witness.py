"""Who people are is written nowhere, not even for a moment; what a killed process leaves does not stay."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from sfumato.system.disk import PREFIX, private_folder
from sfumato.system.errors import BrokenPromise
from sfumato.workflows import judgement
from sfumato.workflows.protect_file import protect_file

CANARY = "canary-person-"
POLICY = {
    "columns": {
        "who": {"role": "identifier"},
        "name": {"role": "identifier"},
        "zip": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
    "person": "who",
}


def people(count=12):
    """Everybody has two rows and one disease."""
    who = [i // 2 for i in range(2 * count)]
    return pd.DataFrame(
        {
            "who": [f"{CANARY}{i:04}" for i in who],
            "name": [f"{CANARY}{i}" for i in who],
            "zip": [f"0{i % 2}" for i in who],
            "disease": ["flu" if i % 4 < 2 else "cold" for i in who],
        }
    )


class Watcher:
    """Sees every file that is opened for writing, and its bytes before it is removed or renamed."""

    def __init__(self):
        self.on = False
        self.opened, self.seen, self.modes = [], {}, {}

    def __call__(self, event, given):
        if not self.on:
            return
        if event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR) and not isinstance(given[0], int):
            self.opened.append(Path(os.fsdecode(given[0])))
        if event in ("os.remove", "os.rename", "os.link"):
            self.keep(given[0], given[1] if event == "os.remove" else -1)

    def keep(self, path, folder):
        self.on = False
        handle = os.open(path, os.O_RDONLY, dir_fd=None if folder == -1 else folder)
        with os.fdopen(handle, "rb") as file:
            self.modes[os.fsdecode(path)] = stat.S_IMODE(os.fstat(handle).st_mode)
            self.seen[os.fsdecode(path)] = file.read()
        self.on = True


@pytest.fixture(scope="module")
def audit_hook():
    watcher = Watcher()
    sys.addaudithook(watcher)
    return watcher


@pytest.fixture
def watched(audit_hook, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    (tmp_path / "target").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    audit_hook.opened, audit_hook.seen, audit_hook.modes = [], {}, {}
    audit_hook.on = True
    yield audit_hook
    audit_hook.on = False


def all_of(data):
    """Everything that can be read out of a file, also where it is compressed."""
    packed = data.startswith(b"PAR1")
    return data + (repr(pq.read_table(io.BytesIO(data)).to_pydict()).encode() if packed else b"")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_no_byte_tells_who_somebody_is(watched, tmp_path, ending):
    target = tmp_path / "target" / f"safe.{ending}"
    _, verdicts = protect_file(people(), POLICY, target)
    watched.on = False
    assert [v.measured for v in verdicts] == [6, 2], "people are counted, not rows"
    written = {**watched.seen, "safe": target.read_bytes()}
    witnesses = [name for name in written if "numbered" in name]
    assert witnesses
    assert {watched.modes[name] for name in witnesses} == {0o600}
    assert [name for name, data in written.items() if CANARY.encode() in all_of(data)] == []
    elsewhere = [path for path in watched.opened if tmp_path not in path.parents]
    assert [path for path in elsewhere if "__pycache__" not in path.parts] == []
    assert not [path for path in watched.opened if "numbered" in path.name and "target" in path.parts]
    assert [path.name for path in (tmp_path / "target").iterdir()] == [target.name]
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, MemoryError, BrokenPromise])
@pytest.mark.usefixtures("watched")
def test_nothing_stays_when_the_judge_fails(tmp_path, monkeypatch, error):
    def judge(_, __, *, form, memory, progress):  # noqa: ARG001
        (numbered,) = (tmp_path / "temporary").rglob("numbered.csv")
        assert memory.limit is None
        assert stat.S_IMODE(numbered.parent.stat().st_mode) == 0o700
        names, *rows = numbered.read_text(encoding="utf-8").splitlines()
        assert names.startswith("zip,disease,")
        assert len(rows) == 12
        raise error("no")

    monkeypatch.setattr(judgement, "recheck", judge)
    with pytest.raises(error):
        protect_file(people(), POLICY, tmp_path / "target" / "safe.csv")
    assert list((tmp_path / "target").iterdir()) == []
    assert list((tmp_path / "temporary").iterdir()) == []


KILLED = """
import os, signal
from sfumato.system.disk import private_folder
with private_folder() as folder:
    (folder / "witness.csv").write_text("who")
    print(folder, flush=True)
    if input() == "die":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_leaves_is_removed_and_what_others_use_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    strange = tmp_path / "sfumato-strange"
    strange.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(strange)
    start = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", KILLED], env=environment, **start) for _ in range(2)]
    dead, alive = ((process, Path(process.stdout.readline().strip())) for process in running)
    dead[0].communicate("die\n")
    assert (dead[1] / "witness.csv").exists()
    with private_folder() as mine:
        assert not dead[1].exists()
        assert (alive[1] / "witness.csv").exists()
        with private_folder() as another:
            assert mine.exists()
            assert another != mine
    alive[0].communicate("leave\n")
    assert alive[0].returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{PREFIX}link", strange.name]
