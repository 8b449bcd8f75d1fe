"""The page Trace: drop a leak, and see whose copy it can be."""

from __future__ import annotations

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.studio.page import (
    LEDGER,
    SameStep,
    SentForm,
    action,
    command,
    ledger_path,
    render,
    studio_of,
    to,
    yaml_part,
)
from sfumato.studio.security import Studio
from sfumato.studio.state import DataChoice, OpenedFolder, receive_file
from sfumato.studio.views import TraceView, trace_leak
from sfumato.system.errors import UsageError

STEP = "trace"


def show(request: Request) -> Response:
    """Shows the last leak and what it tells."""
    studio = studio_of(request)
    leak = _leak(studio)
    job = None if leak is None else studio.jobs.find(STEP, leak.stamp)
    return render(
        request,
        "trace.html",
        step=STEP,
        same=_same(leak, studio.policy.text or ""),
        begun=ledger_path(studio).exists(),
        leak=leak,
        job=job,
        view=None if job is None else job.value,
    )


async def upload(request: Request) -> Response:
    """Takes a leak, and begins to trace it."""
    studio = studio_of(request)
    leaks = await run_in_threadpool(_emptied, studio)
    await receive_file(request, leaks)
    await run_in_threadpool(_begin, studio)
    return to("/trace")


def forget(request: Request, form: SentForm) -> Response:
    """Wipes the leak."""
    del form
    _emptied(studio_of(request))
    return to("/trace")


def chart(request: Request) -> Response:
    """Sends a picture of what the leak tells."""
    studio = studio_of(request)
    leak = _leak(studio)
    job = None if leak is None else studio.jobs.find(STEP, leak.stamp)
    view = None if job is None else job.value
    for drawn in view.charts if isinstance(view, TraceView) else ():
        if drawn.name == request.path_params["name"]:
            return Response(drawn.picture, media_type="image/svg+xml")
    return Response(status_code=404)


def _begin(studio: Studio) -> None:
    leak = _leak(studio)
    if leak is None:
        raise UsageError("there is no leak to trace", remedy="Drop one.")
    if not ledger_path(studio).exists():
        raise UsageError("nothing was released from this folder yet", remedy="Release a table first.")
    ledger = f"sqlite:///{ledger_path(studio)}"
    studio.jobs.start(STEP, leak.stamp, "/trace", trace_leak, leak.path, ledger)


def _leaks(studio: Studio) -> OpenedFolder:
    """Returns the private folder for leaks, apart from the tables that can be chosen."""
    place: Path = studio.folder.place_for("leak.csv").parent / "leaks"
    place.mkdir(mode=0o700, exist_ok=True)
    return OpenedFolder(studio.folder.path, place)


def _leak(studio: Studio) -> DataChoice | None:
    return next((leak for leak in _leaks(studio).tables() if leak.dropped), None)


def _emptied(studio: Studio) -> OpenedFolder:
    """Returns the folder for leaks, without any."""
    leaks = _leaks(studio)
    for leak in leaks.tables():
        leaks.wipe(leak)
    return leaks


def _same(leak: DataChoice | None, policy: str) -> SameStep:
    name = "leak.csv" if leak is None else leak.name
    ledger = f"sqlite:///{LEDGER}"
    python = f"import sfumato as sf\n\nsf.trace({name!r}, ledger={ledger!r})"
    return SameStep(
        yaml_part(policy, "recipients"), python, command("sfumato", "trace", name, "--ledger", ledger)
    )


routes = [
    Route("/trace", show),
    Route("/trace/upload", upload, methods=["POST"]),
    Route("/trace/forget", action(forget), methods=["POST"]),
    Route("/trace/charts/{name:str}.svg", chart),
]
