"""The page Declare: what each column is, and what is promised."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.studio.page import render, studio_of, to

STEP = "declare"


def show(request: Request) -> Response:
    """Shows the policy."""
    text = studio_of(request).policy.text
    return to("/discover") if text is None else render(request, "declare.html", step=STEP, text=text)


routes = [Route("/declare", show)]
