"""The server of a studio: on this computer alone, until it is stopped."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from sfumato.core.errors import WrongCall
from sfumato.studio.app import make_app
from sfumato.studio.connections import connections_of
from sfumato.studio.first_visit import first_visit
from sfumato.studio.folder import OpenedFolder
from sfumato.studio.jobs import Jobs, WorkerProcess
from sfumato.studio.policy_file import NAME, PolicyFile
from sfumato.studio.security import Gate
from sfumato.studio.studio import Studio
from sfumato.system.private_folder import PREFIX, private_folder, remove_abandoned
from sfumato.system.stop_request import stop_request, stopping

LOOPBACK = "127.0.0.1"


def run(
    folder: Path,
    *,
    port: int = 0,
    browser: bool = True,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
) -> None:
    """Serves a studio on a folder until it is stopped; `tell` is given the address that opens it.

    `port` 0 takes a free one. What was dropped into the browser is gone afterwards.
    """
    with private_folder() as private, _listening(port) as listener:
        worker = WorkerProcess(private)
        opened = OpenedFolder(folder, private)
        gate = Gate(listener.getsockname()[1])
        studio = Studio(opened, PolicyFile(opened.file(NAME)), Jobs(worker), gate, warn)
        server = uvicorn.Server(
            uvicorn.Config(
                make_app(studio),
                log_config=None,
                log_level="critical",  # a traceback may hold values; pages say what went wrong
                access_log=False,
                server_header=False,
                date_header=False,
                http=connections_of(gate),
                ws="none",
                timeout_keep_alive=20,
                timeout_graceful_shutdown=2,
                proxy_headers=False,
            )
        )
        try:
            worker.warm()
            with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how a studio ends, from its address on
                tell(gate.address)
                with contextlib.ExitStack() as stack:
                    if browser:
                        stack.enter_context(first_visit(gate, opened.path, private))
                    stack.enter_context(_ended_by_signals(server))
                    stop_request.heed()
                    server.run(sockets=[listener])
        finally:
            stop_request.asked = False  # it was heeded
            studio.jobs.close()
            remove_abandoned(opened.path, f".{PREFIX}")  # by the worker, which was ended amid its work


@contextlib.contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Ends the server in good order also by those signals that it knows nothing of."""

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in stopping()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
