"""The web application of a studio: all routes behind one gate."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources
from pathlib import Path
from types import FrameType, ModuleType
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sfumato.studio.jobs import Jobs, WorkerProcess
from sfumato.studio.page import SentForm, action, fragment, on_error, render, studio_of, templates, to
from sfumato.studio.pages import attack, declare, discover, hierarchies, protect, release, trace
from sfumato.studio.security import Gate, GateMiddleware, Studio, TokenUsed, connections_of
from sfumato.studio.state import NAME, OpenedFolder, PolicyFile
from sfumato.system.disk import PREFIX, private_folder, remove_abandoned
from sfumato.system.errors import SfumatoError, UsageError
from sfumato.system.progress import stop_request, stopping

PAGES: tuple[ModuleType, ...] = (discover, declare, protect, attack, release, trace)
"""The pages, in the order of the verbs; each has `STEP` and `routes`."""
MOST_STATES = 100
"""So many states of the policy are listed; older ones stay in their files."""
PARTS = frozenset({"findings", "beside"})
"""Parts of pages that are loaded again when a job has ended."""


def make_app(studio: Studio) -> Starlette:
    """Returns the application of a studio."""
    static = str(resources.files("sfumato.studio") / "static")
    routes: list[Route | Mount] = [
        Route("/", home),
        Route("/open", enter, methods=["GET", "POST"]),
        Route("/undo", action(undo), methods=["POST"]),
        Route("/redo", action(redo), methods=["POST"]),
        Route("/history", history),
        Route("/history/{number:int}", action(restore), methods=["POST"]),
        Route("/jobs/{number:int}", job_progress),
        Route("/jobs/{number:int}/stop", action(stop_job), methods=["POST"]),
        *hierarchies.routes,
        *(route for page in PAGES for route in page.routes),
        Mount("/static", StaticFiles(directory=static)),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(GateMiddleware, gate=studio.gate)],
        exception_handlers={
            SfumatoError: on_error,
            OSError: on_error,
            HTTPException: not_here,
            Exception: on_error,
        },
    )
    app.state.studio = studio
    app.state.steps = tuple(page.STEP for page in PAGES)
    return app


def home(request: Request) -> Response:
    """Leads to the first page, or to the next where a policy is there."""
    return to("/declare" if studio_of(request).policy.path.exists() else "/discover")


async def enter(request: Request) -> Response:
    """Takes the token, from the address or from the page that the browser was opened on."""
    sent = request.url.query
    if request.method == "POST":
        sent = (await request.body()).decode("ascii", "replace")
    return await run_in_threadpool(_entered, request, dict(parse_qsl(sent)).get("token", ""))


def _entered(request: Request, token: str) -> Response:
    """Exchanges the token for the cookie, and goes on by itself; the terminal is told of a second try.

    The page is one of ours, so that a browser sends the cookie with what follows, whoever led it here.
    """
    studio = studio_of(request)
    gate = studio.gate
    if gate.knows(request.headers.get("cookie", "")):
        return to("/")
    try:
        right = gate.exchange(token)
    except TokenUsed as used:
        studio.warn(f"{used.message}. {used.remedy}")
        right = False
    if not right:
        return PlainTextResponse("This address was used before, or is not that of this studio.\n", 403)
    page = templates().get_template("entered.html").render()
    return HTMLResponse(page, headers={"set-cookie": gate.set_cookie()})


def undo(request: Request, form: SentForm) -> Response:
    """Goes back by one change of the policy."""
    studio_of(request).policy.undo(version=form.version)
    return to("/declare")


def redo(request: Request, form: SentForm) -> Response:
    """Does again what was undone."""
    studio_of(request).policy.redo(version=form.version)
    return to("/declare")


def history(request: Request) -> Response:
    """Lists the states of the policy, the newest first."""
    states = studio_of(request).policy.history(most=MOST_STATES)
    return render(request, "history.html", step="declare", states=states)


def restore(request: Request, form: SentForm) -> Response:
    """Goes back to a state of the history."""
    studio_of(request).policy.restore(request.path_params["number"], version=form.version)
    return to("/declare")


def job_progress(request: Request) -> Response:
    """Says how far a job is; htmx asks again until it has ended, and then loads the page again.

    Where a form may be half filled in, the page names the part that alone is loaded again.
    """
    part = request.query_params.get("part", "")
    part = part if part in PARTS else ""
    job = studio_of(request).jobs.job(request.path_params["number"])
    if job is not None and job.open:
        return fragment("job.html", job=job, part=part)
    return fragment("job_done.html", part=part) if part else Response(headers={"hx-refresh": "true"})


def stop_job(request: Request, form: SentForm) -> Response:
    """Stops a job."""
    del form
    jobs = studio_of(request).jobs
    job = jobs.job(request.path_params["number"])
    if job is not None:
        jobs.stop(job.number)
    return to(job.path if job is not None else "/")


async def not_here(request: Request, error: Exception) -> Response:
    """Answers a request for a page that is not there."""
    del request
    status = error.status_code if isinstance(error, HTTPException) else 404
    return PlainTextResponse(
        "There is no such page.\n" if status == 404 else "This cannot be asked here.\n", status
    )


# The first visit: a browser is handed the token by a file, since anybody can read how it was called.

PATIENCE = 60.0
"""Seconds for which the file waits for the browser."""


@contextmanager
def first_visit(gate: Gate, folder: Path, private: Path) -> Iterator[None]:
    """Opens the browser on a page that sends the token, and removes it once that has come, or did not."""
    with ExitStack() as stack:
        page = _place(folder, private, stack) / "open.html"
        handle = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(templates().get_template("first_visit.html").render(gate=gate))
        threading.Thread(target=_show, args=(gate, page), daemon=True).start()
        yield


def _place(folder: Path, private: Path, stack: ExitStack) -> Path:
    """Returns a private folder whose files a browser can read.

    On Linux, many browsers see their user's own folders and no temporary ones (snap); not every file system
    keeps others out of a folder.
    """
    if sys.platform == "linux":
        try:
            hidden = stack.enter_context(private_folder(folder, hidden=True))
        except UsageError:  # nothing can be written there
            return private
        if not hidden.stat().st_mode & 0o077:
            return hidden
    return private


def _show(gate: Gate, page: Path) -> None:
    try:
        if webbrowser.open(page.resolve().as_uri()):
            gate.redeemed.wait(PATIENCE)
    finally:
        page.unlink(missing_ok=True)


# The server of a studio: on this computer alone, until it is stopped.

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
                    stop_request.raise_if_asked()
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
            raise UsageError(
                f"port {port} cannot be used: {(error.strerror or 'unknown reason').lower()}",
                remedy="Name another with --port, or none: a free one is taken.",
            ) from None
        yield listener
