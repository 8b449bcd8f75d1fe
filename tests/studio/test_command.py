"""`sfumato studio`: what it prints, what it refuses, and that nothing of it stays."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager, suppress

import pytest

from sfumato.cli.main import run
from sfumato.studio.security import MOST_CONNECTIONS
from studio.served import PATIENCE, served
from studio.stage import table

pytestmark = pytest.mark.slow


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


def entered(studio):
    """Whoever opens the address, with the cookie."""
    with urllib.request.urlopen(studio.address) as answer:
        return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_every_signal_that_ends_it_leaves_nothing(tmp_path, name):
    """Sent to all its processes, as a terminal does, right after a file was dropped."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    with served(home, environment={**os.environ, "TMPDIR": str(temporary)}) as studio:
        form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="raw.csv"\r\n\r\n'
        form += table().encode() + b"\r\n--b--\r\n"
        headers = {"origin": studio.base, "content-type": "multipart/form-data; boundary=b"}
        headers |= entered(studio)
        urllib.request.urlopen(urllib.request.Request(f"{studio.base}/data/upload", form, headers)).close()
        assert list(temporary.glob("*/raw.csv"))
        os.killpg(studio.process.pid, getattr(signal, name))
        assert studio.process.wait(PATIENCE) == 0
        said = studio.process.stderr.read()
    assert "is wiped" in said and "interrupted" not in said and "Traceback" not in said
    assert list(temporary.glob("sfumato-*")) == [] and list(home.iterdir()) == []


def test_a_terminal_that_is_closed_ends_it(tmp_path):
    """Nobody reads what it says then."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = [sys.executable, "-m", "sfumato", "studio", str(tmp_path), "--no-browser"]
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, words, {**os.environ, "TMPDIR": str(temporary)})
    said = b""
    while b"token=" not in said:
        said += os.read(terminal, 4096)
    assert list(temporary.glob("sfumato-private-*"))
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert list(temporary.glob("sfumato-*")) == []


AT_ONCE = """
import signal, sys
from pathlib import Path
from sfumato.studio.app import run
from sfumato.system.progress import stop_request

stop_request.watch()
run(Path(sys.argv[1]), browser=False, warn=print,
    tell=lambda address: signal.raise_signal(int(sys.argv[2])))
print("closed")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_whoever_stops_it_as_soon_as_the_address_is_told_ends_it_as_well(tmp_path, number):
    words = [sys.executable, "-c", AT_ONCE, str(tmp_path), str(int(number))]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "closed\n", "")


BEGUN = (b"", b"GET /declare HT", b"GET /declare HTTP/1.1\r\nHost: x\r\n", b"POST /open HTTP/1.1\r\n")


@contextmanager
def connections(studio, many):
    with ExitStack() as stack:
        address = ("127.0.0.1", studio.port)
        yield [stack.enter_context(socket.create_connection(address, PATIENCE)) for _ in range(many)]


def has_ended(connection):
    """Waits for the end of a connection, whatever is answered before."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return True


def test_connections_of_strangers_never_lock_the_owner_out(tmp_path):
    """They send nothing, half a header, half a body, or ask for much and read nothing."""
    with served(tmp_path) as studio, connections(studio, 1) as (ours,):
        host = f"Host: 127.0.0.1:{studio.port}\r\n".encode()
        asked = b"GET /history HTTP/1.1\r\n" + host + f"Cookie: {entered(studio)['cookie']}\r\n\r\n".encode()
        ours.sendall(asked)
        assert ours.recv(1 << 16).startswith(b"HTTP/1.1 200")
        greedy = (b"GET /static/htmx.min.js HTTP/1.1\r\n" + host + b"\r\n") * 200
        half = b"POST /open HTTP/1.1\r\nOrigin: null\r\nContent-Length: 99\r\n" + host + b"\r\ntok"
        for begun in (*BEGUN, greedy, half):
            with connections(studio, MOST_CONNECTIONS + 6) as held:
                for one in held:
                    with suppress(ConnectionError):  # it has given way already
                        one.sendall(begun)
                with connections(studio, 1) as (another,):
                    another.sendall(asked)
                    assert another.recv(1 << 16).startswith(b"HTTP/1.1 200"), begun
                assert all(has_ended(one) for one in held[:6])
        ours.setblocking(False)
        while True:  # what is left of the first answer
            try:
                assert ours.recv(1 << 16)
            except BlockingIOError:
                break
        ours.settimeout(PATIENCE)
        ours.sendall(asked)
        assert ours.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_a_header_that_does_not_come_ends_its_connection(tmp_path):
    whole = b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
    with served(tmp_path) as studio, connections(studio, 1 + len(BEGUN)) as held:
        for one, begun in zip(held, (*BEGUN, whole), strict=True):
            one.sendall(begun)
        assert held[-1].recv(1 << 16).startswith(b"HTTP/1.1 400")
        held[-1].sendall(b"GET")  # the beginning of another request ends no limit
        assert all(has_ended(one) for one in held)


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
