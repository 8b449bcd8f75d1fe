"""`sfumato studio`: what it prints, what it refuses, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from sfumato.cli.main import run
from sfumato.studio.server import MOST_CONNECTIONS
from studio.served import PATIENCE, served
from studio.stage import table


def test_the_address_opens_once_and_nothing_stays(tmp_path):
    """Killed, it leaves a private folder, which the next start removes."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    (home / "people.csv").write_text(table(), encoding="utf-8")
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with served(home, environment=environment) as studio:
        with urllib.request.urlopen(studio.address) as answer:
            cookie = answer.headers["set-cookie"].partition(";")[0]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(studio.address)
        asked = urllib.request.Request(f"{studio.base}/discover", headers={"cookie": cookie})
        with urllib.request.urlopen(asked) as answer:
            assert b"people.csv" in answer.read()
        left = list(temporary.glob("sfumato-private-*"))
        assert len(left) == 1 and left[0].stat().st_mode & 0o777 == 0o700
        studio.process.send_signal(signal.SIGKILL)
        studio.process.wait(PATIENCE)
    assert left[0].exists()
    with served(home, environment=environment):
        assert not left[0].exists()
    assert list(temporary.glob("sfumato-private-*")) == []
    assert sorted(path.name for path in home.iterdir()) == ["people.csv"]


def test_ctrl_c_is_how_it_ends(tmp_path):
    for number in (signal.SIGINT, signal.SIGTERM):
        with served(tmp_path) as studio:
            studio.process.send_signal(number)
            assert studio.process.wait(PATIENCE) == 0
            said = studio.process.stderr.read()
        assert "is wiped" in said and "interrupted" not in said and "Traceback" not in said


AT_ONCE = """
import signal, sys
from pathlib import Path
from sfumato.studio.server import run
from sfumato.system.stop_request import stop_request

stop_request.watch()
run(Path(sys.argv[1]), browser=False, tell=lambda address: signal.raise_signal(int(sys.argv[2])))
print("closed")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_stops_it_as_soon_as_the_address_is_told_ends_it_as_well(tmp_path, number):
    words = [sys.executable, "-c", AT_ONCE, str(tmp_path), str(int(number))]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "closed\n", "")


def test_so_many_connections_and_no_more(tmp_path):
    with served(tmp_path) as studio:
        held = [socket.create_connection(("127.0.0.1", studio.port)) for _ in range(MOST_CONNECTIONS + 6)]
        refused = 0
        try:
            for one in held:
                one.sendall(f"GET /open HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\n\r\n".encode())
            refused = sum(b" 503 " in one.recv(200) for one in held)
        finally:
            for one in held:
                one.close()
        assert refused > 0
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{studio.base}/declare")


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path, capsys):
    assert run(["studio", str(tmp_path / "nowhere"), "--no-browser"]) == 2
    assert "no such folder" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["studio", str(tmp_path), "--no-browser", "--port", str(port)]) == 2
    assert f"port {port} cannot be used" in capsys.readouterr().err


def test_without_its_libraries_the_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['starlette'] = None; sys.argv = ['sfumato', 'studio', '.'];"
        "from sfumato.cli.main import main; main()"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert asked.returncode == 2 and "pip install 'sfumato[studio]'" in asked.stderr
