"""A real PostgreSQL on a Unix socket in a folder of its own, and a wire to it that can be cut."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

PORT = 5432


def program(name):
    """A program of the server, which Debian keeps out of the PATH."""
    places = [shutil.which(name), *sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)]
    found = next((place for place in places if place), None)
    assert found, f"{name} is missing: `make test` installs PostgreSQL"
    return str(found)


class Cluster:
    """Made with initdb, started and stopped with pg_ctl; as root everything runs as the user postgres."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-"))
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            os.chown(self.folder, pwd.getpwnam(self.user).pw_uid, -1)
        self.folder.chmod(0o755)
        self._run("initdb", "-D", self.data, "-U", "sfumato", "--auth=trust", "--no-sync")
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def data(self):
        return self.folder / "data"

    def start(self):
        settings = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        self._run("pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", settings, "start")

    def stop(self, mode="immediate"):
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def _run(self, name, *arguments):
        command = [program(name), *map(str, arguments)]
        done = subprocess.run(
            command, user=self.user, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", check=False
        )
        assert done.returncode == 0, done.stderr.decode()

    def database(self, name):
        """A new, empty database; its URL."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def url(self, name, *, user="sfumato", folder=None):
        return f"postgresql://{user}@/{name}?host={folder or self.folder}"

    def sql(self, *statements, name="postgres"):
        import psycopg

        with psycopg.connect(f"host={self.folder} dbname={name} user=sfumato", autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)


class Wire:
    """A socket that passes everything on to the server, until somebody commits: the answer never arrives."""

    def __init__(self, cluster, folder, *, word=b"COMMIT"):
        self.folder, self.word, self.cuts = Path(folder), word, 0
        self.server = str(cluster.folder / f".s.PGSQL.{PORT}")
        self.armed, self.threads = False, []

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.folder / f".s.PGSQL.{PORT}"))
        self.listening.listen()
        self._start(self._serve)
        return self

    def __exit__(self, *_):
        hang_up(self.listening)
        self.listening.close()
        for thread in self.threads:
            thread.join(5)

    def _start(self, work, *arguments):
        self.threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self.threads[-1].start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.server)
                cut = threading.Event()
                self._start(self._pass, client, server, cut)
                self._start(self._back, server, client, cut)

    def _pass(self, client, server, cut):
        with client, contextlib.suppress(OSError):
            while content := client.recv(65536):
                if self.armed and self.word in content:
                    self.armed = False
                    self.cuts += 1
                    cut.set()
                server.sendall(content)
        hang_up(server)

    def _back(self, server, client, cut):
        with server, contextlib.suppress(OSError):
            while content := server.recv(65536):
                if cut.is_set():
                    break
                client.sendall(content)
        hang_up(client)


def hang_up(*sockets):
    """Closing alone would wait for whoever is reading."""
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
