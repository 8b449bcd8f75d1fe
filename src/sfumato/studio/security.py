"""The gate of the studio: who may talk to it, and what a browser may do with its answers.

Four checks stand before every page. The `Host` names this computer, so that no other name can be made to
lead here (DNS rebinding). What a browser says of the sender (`Sec-Fetch-Site`, `Origin`) is the studio
itself, so that no other page can send anything here. A cookie, given once for the token that the terminal
shows, says that the browser was opened by whoever started the studio. And no request is larger than its page
allows.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from threading import Event, Lock
from typing import Any, ClassVar

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.studio.jobs import Jobs
from sfumato.studio.state import DataChoice, OpenedFolder, PolicyFile
from sfumato.studio.table_view import LookSettings
from sfumato.system.errors import UsageError

LARGEST_FORM = 1 << 20
"""So many bytes a form may have."""
LARGEST_UPLOAD = 1 << 31
"""So many bytes a dropped file may have; a larger one is chosen from the folder, where nothing is copied."""
UPLOAD_PATHS = frozenset({"/data/upload", "/trace/upload"})
OPEN_PATHS = frozenset({"/open"})
"""Paths that need no cookie: the one that gives it."""
PUBLIC_PATHS = ("/static/",)
"""Files of the program itself, which hold nothing of anybody."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
OWN_SENDERS = frozenset({"same-origin", "none"})
"""What browsers say of requests that a page of ours, or the user's own hand, has sent."""

NOT_OPENED = (
    "Open the address that the terminal shows. It works once; for another, stop the studio "
    "and start it again.\n"
)
TOO_LARGE = "Put a large file into the folder that the studio was opened on, and choose it there."
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass
class Gate:
    """The secrets of one run: a token that opens the studio once, and the cookie it is exchanged for."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    redeemed: Event = field(default_factory=Event, repr=False)
    """Whether the token was exchanged."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers keep those of all ports of a host together."""
        return f"sfumato_studio_{self.port}"

    @property
    def base(self) -> str:
        """The address of the studio, without any secret."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """The address that opens the studio, once."""
        return f"{self.base}/open?token={self.token}"

    @property
    def hosts(self) -> frozenset[str]:
        """The names by which this computer may be called."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    def exchange(self, token: str) -> bool:
        """Returns whether this is the token, and nobody has used it before; from then on it is used.

        Raises `TokenUsed` where it is the token, and somebody has.
        """
        with self._lock:
            right = hmac.compare_digest(token.encode(), self.token.encode())
            if right and self.redeemed.is_set():
                raise TokenUsed(
                    "the address of the studio was used a second time, and refused",
                    remedy="If your browser does not show the studio, somebody else has it open: end it with "
                    "Ctrl-C, and start it again.",
                )
            if right:
                self.redeemed.set()
            return right

    def knows(self, cookies: str) -> bool:
        """Returns whether the header `Cookie` holds the cookie of this run."""
        try:
            morsel = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return morsel is not None and hmac.compare_digest(morsel.value.encode(), self.session.encode())

    def set_cookie(self) -> str:
        """Returns the header that gives the cookie."""
        return f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"


class TokenUsed(UsageError):
    """Somebody knows the token, and is not the first."""


class RequestTooLarge(UsageError):
    """More was sent than the page takes."""


class GateMiddleware:
    """Lets through what comes from this computer's own browser, and tells browsers what answers may do."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page opens a socket
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, with_headers(send))
            return
        await self._app(scope, bounded_receive(receive, _most(scope["path"])), with_headers(send))

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """Returns the answer to a request that must not get through; `None` where it may."""
        headers, path = Headers(scope=scope), scope["path"]
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._gate.hosts:
            return PlainTextResponse("This name does not lead to the studio.\n", 400)
        sender = headers.get("sec-fetch-site", "none")
        if path not in OPEN_PATHS and sender not in OWN_SENDERS:
            return PlainTextResponse("Another page asked for this.\n", 403)
        handed = path in OPEN_PATHS and headers.getlist("origin") == ["null"]  # by the page that is a file
        if scope["method"] not in SAFE_METHODS and not handed and not self._own_origin(headers):
            return PlainTextResponse("Another page sent this.\n", 403)
        public = path in OPEN_PATHS or path.startswith(PUBLIC_PATHS)
        if not public and not self._gate.knows("; ".join(headers.getlist("cookie"))):
            return PlainTextResponse(NOT_OPENED, 403)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length[:20]) > _most(path):
            return PlainTextResponse(f"At most {_most(path) >> 20} MB may be sent here. {TOO_LARGE}\n", 413)
        return None

    def _own_origin(self, headers: Headers) -> bool:
        """Returns whether a request that changes something says that a page of this studio sent it.

        Pages that send no `Referer`, as ours, send forms with the origin `null`, as pages without an origin
        do, too: then the browser has to say that the sender is of the same origin.
        """
        origin = headers.getlist("origin")
        if origin == ["null"]:
            return headers.getlist("sec-fetch-site") == ["same-origin"]
        return origin == [f"http://{headers['host'].lower()}"]


def _most(path: str) -> int:
    """Returns how many bytes may be sent to a path."""
    return LARGEST_UPLOAD if path in UPLOAD_PATHS else LARGEST_FORM


def with_headers(send: Send) -> Send:
    """Returns a sender that adds what browsers have to know of every answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending


def bounded_receive(receive: Receive, most: int) -> Receive:
    """Returns a receiver that raises `RequestTooLarge` once more than `most` bytes came."""
    came = 0

    async def receiving() -> Message:
        nonlocal came
        message = await receive()
        came += len(message.get("body", b""))
        if came > most:
            raise RequestTooLarge(f"more than {most >> 20} MB were sent", remedy=TOO_LARGE)
        return message

    return receiving


# A studio: one folder, its policy, the table that is looked at, and the work that goes on.


@dataclass
class Studio:
    """Everything that pages share; the chosen table is that of all tabs, since there is one policy."""

    folder: OpenedFolder
    policy: PolicyFile
    jobs: Jobs
    gate: Gate
    warn: Callable[[str], None] = field(repr=False)
    """Says something in the terminal."""
    look: LookSettings = field(default_factory=LookSettings)
    """What the page Discover asks of the table."""
    _chosen: str | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def data(self) -> DataChoice | None:
        """The table that is looked at; where none was chosen and there is one alone, that one."""
        tables = self.folder.tables()
        with self._lock:
            for choice in tables:
                if choice.key == self._chosen:
                    return choice
        return tables[0] if len(tables) == 1 else None

    def choose(self, key: str) -> DataChoice:
        """Looks at another table from now on."""
        choice = self.folder.table(key)
        with self._lock:
            self._chosen = choice.key
        return choice


# Connections of the studio: none waits for good, and strangers give way to whoever comes next.

MOST_CONNECTIONS = 64
"""So many are open at a time."""
HEADER_SECONDS = 10.0
"""So long the header of a request may take, from its connection or its first byte on."""


class StudioConnection(H11Protocol):
    """A connection that ends where the header of a request does not come in time.

    Where too many are open, the oldest ends over which nobody has shown the cookie of the studio: all come
    from this computer, so that the cookie alone tells its owner from others.
    """

    gate: ClassVar[Gate]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._limit: asyncio.TimerHandle | None = None
        self._began = self.loop.time()
        self._owners = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as above it
        strangers = [
            connection
            for connection in self.connections
            if isinstance(connection, StudioConnection) and not connection._owners
        ]
        if len(self.connections) >= MOST_CONNECTIONS and strangers:
            min(strangers, key=lambda connection: connection._began).end()
        super().connection_made(transport)
        self._limit_header()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.headers and not self._owners:
            cookies = Headers(raw=self.headers).getlist("cookie")
            self._owners = self.gate.knows("; ".join(cookies))
        self._limit_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lift_limit()
        super().connection_lost(exc)

    def end(self) -> None:
        """Ends at once, whatever was still to be sent: who does not read it would hold the connection."""
        self.connections.discard(self)
        self.transport.abort()

    def _limit_header(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._lift_limit()
        elif self._limit is None:
            self._limit = self.loop.call_later(HEADER_SECONDS, self.end)

    def _lift_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


def connections_of(gate: Gate) -> type[StudioConnection]:
    """Returns the connections of a studio with this gate."""
    return type("ConnectionOfThisStudio", (StudioConnection,), {"gate": gate})
