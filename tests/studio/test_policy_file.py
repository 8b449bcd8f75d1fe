"""The policy and its history: undo, conflicts, and whole whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.studio import state as module
from sfumato.studio.state import NOTHING, PolicyConflict, PolicyFile
from sfumato.system.errors import UsageError
from studio.stage import POLICY, StudioClient, post

pytestmark = pytest.mark.slow

SOAK = os.environ.get("SFUMATO_HYPOTHESIS") == "soak"
ROUNDS, CASES = (200, 500) if SOAK else (3, 12)


def test_changes_are_undone_and_done_again(tmp_path):
    file = PolicyFile(tmp_path / "policy.yaml")
    for text in ("one", "two", "three"):
        file.write(text, version=file.version, did=f"wrote {text}")
    assert file.undo(version=file.version) == "wrote three" and file.text == "two"
    assert file.undo(version=file.version) == "wrote two" and file.text == "one"
    with pytest.raises(UsageError, match="nothing to undo"):
        file.undo(version=file.version)
    assert file.redo(version=file.version) == "wrote two" and file.text == "two"
    assert file.redo(version=file.version) == "wrote three" and file.text == "three"
    with pytest.raises(UsageError, match="nothing to do again"):
        file.redo(version=file.version)
    assert [state.text for state in file.history()] == ["three", "two", "one", "two", "three", "two", "one"]


@settings(max_examples=CASES)
@given(st.lists(st.one_of(st.integers(0, 3), st.sampled_from(["undo", "redo"])), max_size=14))
def test_undo_and_redo_are_those_of_an_editor(tmp_path_factory, steps):
    """The model: a list of texts before, and one of texts after, which a new text clears."""
    file = PolicyFile(tmp_path_factory.mktemp("history") / "policy.yaml")
    file.write("start", version=NOTHING, did="start")
    before, now, after = [], "start", []
    for number, step in enumerate(steps):
        text = f"{step} {number}"
        if step == "undo" and before:
            after.append(now)
            now = before.pop()
            file.undo(version=file.version)
        elif step == "redo" and after:
            before.append(now)
            now = after.pop()
            file.redo(version=file.version)
        elif isinstance(step, int):
            before.append(now)
            now, after = text, []
            file.write(text, version=file.version, did=text)
        else:
            with pytest.raises(UsageError):
                (file.undo if step == "undo" else file.redo)(version=file.version)
        assert file.text == now
    assert {"start", now, *before, *after} <= {state.text for state in file.history()}


def test_a_change_on_an_old_version_is_a_conflict_and_nothing_is_lost(tmp_path):
    file = PolicyFile(tmp_path / "policy.yaml")
    file.write("one", version=NOTHING, did="one")
    seen = file.version
    file.write("two", version=seen, did="two")
    for change in (file.undo, file.redo, lambda version: file.write("three", version=version, did="three")):
        with pytest.raises(PolicyConflict):
            change(version=seen)
    assert file.text == "two"


def test_what_another_program_wrote_is_in_the_history(tmp_path):
    file = PolicyFile(tmp_path / "policy.yaml")
    file.write("one", version=NOTHING, did="one")
    file.path.write_text("by hand", encoding="utf-8")
    assert file.current() is None
    file.write("two", version=file.version, did="two")
    assert file.undo(version=file.version) == "two" and file.text == "by hand"
    assert file.undo(version=file.version) == "changed outside the studio" and file.text == "one"


def test_two_tabs_meet_and_both_changes_can_be_had(studio):
    first, second = StudioClient(studio), StudioClient(studio)
    seen = studio.policy.version
    assert post(first, "/declare/confirm", seen, column=["sex"]).status_code == 303
    late = post(second, "/declare/promise", seen, position="0", **{"p-k": "7"})
    assert late.status_code == 409 and "changed meanwhile" in late.text and 'value="7"' in late.text
    assert next(iter(studio.policy.load().promises)).parameters() == {"k": 3}
    again = post(second, "/declare/promise", studio.policy.version, position="0", **{"p-k": "7"})
    assert again.status_code == 303
    policy = studio.policy.load()
    assert next(iter(policy.promises)).parameters() == {"k": 7} and not policy.confirm


def test_a_tab_and_the_command_line_meet(studio):
    seen = studio.policy.version
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "policy", "confirm", str(studio.policy.path), "sex"], check=False
    )
    assert done.returncode == 0
    assert post(StudioClient(studio), "/declare/preset", seen, preset="ema").status_code == 409
    assert not sf.Policy.load(studio.policy.path).confirm


def test_two_studios_on_one_folder_wait_for_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    one, other = (PolicyFile(tmp_path / "policy.yaml") for _ in range(2))
    one.write("one", version=NOTHING, did="one")
    with one._writing(one.version), pytest.raises(PolicyConflict, match="another program"):
        other.write("two", version=other.version, did="two")
    other.write("two", version=other.version, did="two")
    assert one.text == "two"


def test_a_failure_at_any_step_leaves_policy_and_history_whole(tmp_path, monkeypatch):
    """Every call that touches the disk fails once, the first, the second, and so on."""
    folder = tmp_path / "all"
    calls = ("open", "fsync", "replace")
    finished = 0
    for turn in range(16):
        home = folder / str(turn)
        home.mkdir(parents=True)
        file = PolicyFile(home / "policy.yaml")
        file.write("one", version=NOTHING, did="one")
        count = 0

        def failing(real, turn=turn):
            def call(*args, **named):
                nonlocal count
                count += 1
                if count == turn + 1:
                    raise OSError(28, "No space left on device")
                return real(*args, **named)

            return call

        with monkeypatch.context() as patched:
            for name in calls[:2]:
                patched.setattr(module.os, name, failing(getattr(os, name)))
            patched.setattr(Path, "replace", failing(Path.replace))
            try:
                file.write("two", version=file.version, did="two")
                finished += count <= turn
            except OSError:
                pass
        assert file.text in {"one", "two"} and file.current() is not None
        assert not list(home.rglob("*.new"))
        file.write("three", version=file.version, did="three")
        assert file.text == "three" and "one" in {state.text for state in file.history()}
    assert finished > 0


WRITER = """
import sys
from pathlib import Path
from sfumato.studio.state import PolicyFile
file = PolicyFile(Path(sys.argv[1]))
text = sys.argv[2]
print("ready", flush=True)
number = 0
while True:
    number += 1
    file.write(f"{text}# {number}\\n", version=file.version, did=f"{number}")
    if number % 3 == 0:
        file.undo(version=file.version)
"""


def test_killed_at_any_moment_the_policy_is_whole(tmp_path):
    path = tmp_path / "policy.yaml"
    for number in range(ROUNDS):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), POLICY], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.02 + 0.013 * (number % 7))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        file = PolicyFile(path)
        if file.text is not None:
            assert len(sf.Policy.load(path).columns) == 5
            states = file.history()
            assert all(state.text.startswith(POLICY) for state in states)
            assert len(states) == len(list(tmp_path.glob(".policy.yaml.history/[0-9]*.json")))
            assert file.text in {state.text for state in states}


def test_a_damaged_history_costs_its_state_and_nothing_else(tmp_path):
    file = PolicyFile(tmp_path / "policy.yaml")
    for text in ("one", "two", "three"):
        file.write(text, version=file.version, did=text)
    (tmp_path / ".policy.yaml.history" / "000002.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="nothing to undo"):
        file.undo(version=file.version)
    file.restore(1, version=file.version)
    assert file.text == "one" and file.undo(version=file.version) == "back to: one" and file.text == "three"


def test_the_history_is_for_its_owner_alone(tmp_path):
    file = PolicyFile(tmp_path / "policy.yaml")
    file.write("one", version=NOTHING, did="one")
    folder = tmp_path / ".policy.yaml.history"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert next(folder.iterdir()).stat().st_mode & 0o777 == 0o600
