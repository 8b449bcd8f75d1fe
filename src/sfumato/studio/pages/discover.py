"""The page Discover: which columns single people out, and what each is thought to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.draft.doctor import Diagnosis
from sfumato.policy.policy import ROLES
from sfumato.policy.presets import PRESETS, preset
from sfumato.studio.jobs import BackgroundJob
from sfumato.studio.page import SameStep, SentForm, action, command, python_call, render, studio_of, to
from sfumato.studio.security import Studio
from sfumato.studio.state import DROPPED, DataChoice, receive_file
from sfumato.studio.table_view import LookSettings, TableView, look_at
from sfumato.system.errors import UsageError
from sfumato.system.progress import Progress
from sfumato.workflows.declare import DraftEvidence, declare

STEP = "discover"
PROPOSED = "proposal"
"""The kind of the job that proposes a policy."""


def begin(studio: Studio) -> BackgroundJob | None:
    """Starts to look at the chosen table, unless that was done already."""
    data = studio.data
    if data is None:
        return None
    key = _key(studio, data)
    job = studio.jobs.find(STEP, key)
    if job is not None and (job.open or job.value is not None):
        return job
    return studio.jobs.start(STEP, key, "/discover", look_at, data.path, studio.look)


def show(request: Request) -> Response:
    """Shows the tables that can be chosen and what was found in the chosen one."""
    studio = studio_of(request)
    data = studio.data
    job = None if data is None else studio.jobs.find(STEP, _key(studio, data))
    proposal = None if data is None else studio.jobs.find(PROPOSED, data.stamp)
    view = job.value if job is not None and isinstance(job.value, TableView) else None
    return render(
        request,
        "discover.html",
        step=STEP,
        same=_same(data, studio.look, view),
        job=job,
        proposal=proposal,
        view=view,
        look=studio.look,
        roles=ROLES,
        presets=PRESETS,
    )


def look(request: Request, form: SentForm) -> Response:
    """Looks at the chosen table with other settings."""
    studio = studio_of(request)
    studio.look = LookSettings(
        form.whole("k", least=2, most=10**6),
        form.whole("share", least=1, most=100),
        form.whole("size", least=1, most=8),
        form.text("header", "") == "yes",
    )
    begin(studio)
    return to("/discover")


def propose(request: Request, form: SentForm) -> Response:
    """Begins to write a policy from the data; if so asked, tried before anybody sees it."""
    studio = studio_of(request)
    data = studio.data
    if data is None:
        raise UsageError("no table is chosen", remedy="Drop one, or choose one of the folder.")
    name, version = form.text("preset"), form.version
    preset(name)

    def write(value: object) -> object:
        if isinstance(value, ProposedPolicy):
            studio.policy.write(value.text, version=version, did=f"policy proposed from the data, {name}")
        return value

    header, tried = studio.look.header, form.text("tried", "") == "yes"
    studio.jobs.start(PROPOSED, data.stamp, "/discover", proposed, data.path, name, header, tried, then=write)
    return to("/discover")


@dataclass(frozen=True)
class ProposedPolicy:
    """A policy that was made from the data, as a file, and what there is to be said of it."""

    text: str
    warnings: tuple[str, ...]


def proposed(path: Path, rule: str, header: bool, tried: bool, *, progress: Progress) -> ProposedPolicy:
    """Returns a policy made from the data and, if so asked, tried on them."""
    if not tried:
        draft = DraftEvidence.of(path, header=header, progress=progress).draft(rule)
        return ProposedPolicy(draft.to_yaml(), ())
    diagnoses: list[Diagnosis] = []
    policy = declare(path, preset=rule, header=header, warn=diagnoses.append, progress=progress)
    return ProposedPolicy(policy.to_yaml(), tuple(str(diagnosis) for diagnosis in diagnoses))


def chart(request: Request) -> Response:
    """Sends a picture."""
    studio = studio_of(request)
    data = studio.data
    job = None if data is None else studio.jobs.find(STEP, _key(studio, data))
    view = None if job is None else job.value
    for drawn in view.charts if isinstance(view, TableView) else ():
        if drawn.name == request.path_params["name"]:
            return Response(drawn.picture, media_type="image/svg+xml")
    return Response(status_code=404)


def _key(studio: Studio, data: DataChoice) -> str:
    return f"{data.stamp}:{studio.look}"


def _same(data: DataChoice | None, settings: LookSettings, view: TableView | None) -> SameStep:
    if data is None:
        return SameStep(cli=command("sfumato", "studio"))
    header = {"header": True} if settings.header else {}
    call = python_call(
        "scan",
        "sf.discover",
        [data.name],
        k=settings.k,
        fraction=f"{settings.share}/100",
        max_size=settings.size,
        **header,
    )
    words = ["sfumato", "discover", data.name, "--k", str(settings.k), "--fraction", f"{settings.share}/100"]
    words += ["--max-size", str(settings.size), *(["--header"] if settings.header else [])]
    return SameStep("" if view is None else view.draft, f"import sfumato as sf\n\n{call}", command(*words))


# The table that is looked at: choose one of the folder, or drop one into the browser.


def choose(request: Request, form: SentForm) -> Response:
    """Looks at another table, and begins to discover it."""
    studio = studio_of(request)
    studio.choose(form.text("table"))
    begin(studio)
    return to("/discover")


def forget(request: Request, form: SentForm) -> Response:
    """Wipes a dropped table."""
    studio = studio_of(request)
    studio.folder.wipe(studio.folder.table(form.text("table")))
    return to("/discover")


async def upload(request: Request) -> Response:
    """Takes a dropped table, and begins to discover it."""
    studio = studio_of(request)
    place = await receive_file(request, studio.folder)

    def chosen() -> None:
        studio.choose(f"{DROPPED}/{place.name}")
        begin(studio)

    await run_in_threadpool(chosen)
    return to("/discover")


routes = [
    Route("/discover", show),
    Route("/discover/look", action(look), methods=["POST"]),
    Route("/discover/propose", action(propose), methods=["POST"]),
    Route("/discover/charts/{name:str}.svg", chart),
    Route("/data/choose", action(choose), methods=["POST"]),
    Route("/data/forget", action(forget), methods=["POST"]),
    Route("/data/upload", upload, methods=["POST"]),
]
