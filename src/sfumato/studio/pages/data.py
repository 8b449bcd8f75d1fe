"""The table that is looked at: choose one of the folder, or drop one into the browser."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.studio.page import SentForm, action, studio_of, to
from sfumato.studio.pages.discover import begin
from sfumato.studio.state import DROPPED, receive_file


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
    Route("/data/choose", action(choose), methods=["POST"]),
    Route("/data/forget", action(forget), methods=["POST"]),
    Route("/data/upload", upload, methods=["POST"]),
]
