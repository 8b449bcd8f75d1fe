"""The web application of a studio: all routes behind one gate."""

from __future__ import annotations

from importlib import resources
from types import ModuleType
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sfumato.core.errors import SfumatoError
from sfumato.studio.page import SentForm, action, fragment, on_error, render, studio_of, templates, to
from sfumato.studio.pages import attack, data, declare, discover, hierarchies, protect, release, trace
from sfumato.studio.security import GateMiddleware, TokenUsed
from sfumato.studio.studio import Studio

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
        *data.routes,
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
