"""The server of a studio: on this computer alone, until it is stopped."""

from __future__ import annotations

import contextlib
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn

from sfumato.core.errors import WrongCall
from sfumato.studio.app import make_app
from sfumato.studio.folder import OpenedFolder
from sfumato.studio.jobs import Jobs, WorkerProcess
from sfumato.studio.policy_file import NAME, PolicyFile
from sfumato.studio.security import Gate
from sfumato.studio.studio import Studio
from sfumato.system.private_folder import private_folder
from sfumato.system.stop_request import stop_request

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 64
"""Whoever opens more at a time is told to wait."""


def run(folder: Path, *, port: int = 0, browser: bool = True, tell: Callable[[str], None]) -> None:
    """Serves a studio on a folder until it is stopped; `tell` is given the address that opens it.

    `port` 0 takes a free one. What was dropped into the browser is gone afterwards.
    """
    with private_folder() as private, _listening(port) as listener:
        worker = WorkerProcess()
        opened = OpenedFolder(folder, private)
        studio = Studio(opened, PolicyFile(opened.file(NAME)), Jobs(worker), Gate(listener.getsockname()[1]))
        server = uvicorn.Server(
            uvicorn.Config(
                make_app(studio),
                log_config=None,
                log_level="critical",  # a traceback may hold values; pages say what went wrong
                access_log=False,
                server_header=False,
                date_header=False,
                ws="none",
                limit_concurrency=MOST_CONNECTIONS,
                timeout_keep_alive=20,
                timeout_graceful_shutdown=2,
                proxy_headers=False,
            )
        )
        try:
            worker.warm()
            with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how a studio ends, from its address on
                tell(studio.gate.address)
                if browser:
                    threading.Thread(target=webbrowser.open, args=(studio.gate.address,), daemon=True).start()
                stop_request.heed()
                server.run(sockets=[listener])
        finally:
            stop_request.asked = False  # it was heeded
            studio.jobs.close()


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
            listener.listen()  # a browser that is faster than the server waits
        except OSError as error:
            raise WrongCall(
                f"port {port} cannot be used: {(error.strerror or 'unknown reason').lower()}",
                remedy="Name another with --port, or none: a free one is taken.",
            ) from None
        yield listener
