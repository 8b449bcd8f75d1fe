"""No cell value in any message, log or document of a call that fails; no trace of a call that is stopped."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from quick_demo import write_quick_demo
from sfumato.system.errors import SfumatoError
from sfumato.workflows import judgement, protect_file
from sfumato.workflows.protect import protect

pytestmark = pytest.mark.slow

CANARY = "canary7421"
HEADER = "name,zip,disease\n"
ROWS = "".join(f"N{i},01{i % 2},flu\n" for i in range(6))
STRANGER = HEADER + ROWS + f"x,{CANARY},flu\n"
TREE = {"role": "quasi", "taxonomy": {"tree": {"0": ["010", "011"]}}}
NAME, DISEASE = {"role": "identifier"}, {"role": "sensitive"}

FAILURES = {
    "value the tree lacks": (STRANGER, {"zip": TREE}, {}),
    "no date": (STRANGER, {"zip": {"role": "quasi", "taxonomy": {"date": ["year"]}}}, {}),
    "no number": (
        STRANGER,
        {"zip": {"role": "quasi", "taxonomy": {"intervals": [10], "from": 0, "to": 100}}},
        {},
    ),
    "ragged row": (HEADER + ROWS + f"{CANARY},010,flu,{CANARY}\n", {}, {}),
    "short row": (HEADER + ROWS + f"{CANARY}\n", {}, {}),
    "open quote": (HEADER + ROWS + f'"{CANARY},010,flu\n', {}, {}),
    "no header": (f"{CANARY},010,flu\n" + ROWS, {}, {}),
    "empty cell": (HEADER + ROWS + f"{CANARY},,flu\n", {}, {"missing": "refuse"}),
    "infeasible": (HEADER + f"{CANARY},{CANARY},{CANARY}\n", {}, {"promises": [{"k-anonymity": {"k": 9}}]}),
    "l too large": (
        HEADER + f"{CANARY},{CANARY},{CANARY}\n" * 9,
        {},
        {"promises": [{"l-diversity": {"of": "disease", "l": 5}}]},
    ),
    "hierarchy lacks": (STRANGER, {"zip": {"role": "quasi", "taxonomy": {"file": "z.csv"}}}, {}),
}  # fmt: skip


def prepare(folder, case):
    table, columns, changes = FAILURES[case]
    policy = {
        "columns": {"name": NAME, "zip": {"role": "quasi"}, "disease": DISEASE, **columns},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"disease": True},
        **changes,
    }
    (folder / "data.csv").write_text(table, encoding="utf-8")
    (folder / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
    (folder / "z.csv").write_text("010;*\n011;*\n", encoding="utf-8")
    return folder / "data.csv", folder / "policy.yaml"


@pytest.mark.parametrize("case", FAILURES)
def test_messages_hold_no_cell_value(sfumato, tmp_path, caplog, case):
    caplog.set_level(logging.DEBUG)
    data, policy = prepare(tmp_path, case)
    before = sorted(tmp_path.iterdir())
    for more in ([], ["--json"]):
        said = sfumato("protect", data, "-p", policy, "-o", tmp_path / "safe.csv", *more)
        assert said.code in (1, 3)
        assert CANARY not in said.out + said.err + caplog.text
        assert said.err.strip()
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(SfumatoError) as caught:
        protect(data, policy)
    assert CANARY not in str(caught.value) + repr(caught.value)


def test_values_only_on_request_and_only_on_stderr(sfumato, tmp_path):
    data, policy = prepare(tmp_path, "value the tree lacks")
    said = sfumato("protect", data, "-p", policy, "-o", tmp_path / "s.csv", "--show-values", "--json")
    assert CANARY in said.err
    assert CANARY not in said.out


@pytest.mark.parametrize("error", [ValueError, KeyError, RuntimeError])
def test_a_bug_is_exit_70_without_its_message(sfumato, clinic, monkeypatch, error):
    folder = clinic()

    def fail(*_, **__):
        raise error(CANARY)

    monkeypatch.setattr(protect_file, "plan_table", fail)
    call = ("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "safe.csv", "--json")
    said = sfumato(*call)
    assert said.code == said.document["error"]["exit_code"] == 70
    assert error.__name__ in said.err
    assert CANARY not in said.out + said.err
    monkeypatch.setenv("SFUMATO_DEBUG", "1")
    shown = sfumato(*call)
    assert CANARY in shown.err
    assert "may hold values" in shown.err
    assert CANARY not in shown.out


def test_an_interruption_is_exit_130(sfumato, clinic, monkeypatch):
    folder = clinic()

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(judgement, "recheck", stop)
    before = sorted(folder.iterdir())
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "safe.csv")
    assert said.code == 130
    assert "nothing was published" in said.err
    assert sorted(folder.iterdir()) == before


def test_a_file_that_the_second_judge_rejects_is_not_published(sfumato, clinic, monkeypatch):
    from dataclasses import replace

    folder = clinic()
    honest = judgement.recheck
    for word in (False, None):
        monkeypatch.setattr(
            judgement, "recheck", lambda p, q, w=word, **_: tuple(replace(v, holds=w) for v in honest(p, q))
        )
        call = ("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "safe.csv")
        assert sfumato(*call).code == 1
        assert not (folder / "safe.csv").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_program_leaves_nothing(tmp_path, number):
    write_quick_demo(tmp_path, 300)
    before = sorted(tmp_path.iterdir())
    program = subprocess.Popen(
        [sys.executable, "-c", SLOW, "protect", tmp_path / "hospital.csv", "-p", tmp_path / "policy.yaml",
         "-o", tmp_path / "safe.csv"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while sorted(tmp_path.iterdir()) == before and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(program.pid, number)
    out, err = program.communicate(timeout=300)
    assert (program.returncode, out) == (130, "")
    assert "nothing was published" in err
    assert sorted(tmp_path.iterdir()) == before


SLOW = """
import signal, time  # a shell that runs the tests in the background makes them ignore interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
from sfumato.workflows import judgement
from sfumato.cli.main import main
judgement.recheck = lambda *_, **__: time.sleep(600)
main()
"""


def test_the_installed_program_keeps_its_streams_apart(hospital):
    call = [
        sys.executable,
        "-m",
        "sfumato",
        "protect",
        hospital / "hospital.csv",
        "-p",
        hospital / "policy.yaml",
    ]
    done = subprocess.run([*call, "--dry-run", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rows"] == 1500
    assert done.stderr == ""


def test_progress_is_for_terminals_only(hospital):
    """With a terminal on stderr there is a bar, and stdout still is one document."""
    ours, theirs = pty.openpty()
    call = [sys.executable, "-m", "sfumato", "protect", hospital / "hospital.csv"]
    call += ["-p", hospital / "policy.yaml", "--dry-run", "--json"]
    plain = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=theirs, text=True, env=plain) as program:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the end of a terminal; read at once, for it holds little
            while part := os.read(ours, 65536):
                shown += part
        out, _ = program.communicate(timeout=300)
    os.close(ours)
    assert json.loads(out)["rows"] == 1500
    assert b"lattice" in shown
    assert b"\x1b[3" not in shown


def test_a_closed_pipe_is_no_error():
    call = f"{sys.executable} -m sfumato policy schema | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert done.stderr == ""
