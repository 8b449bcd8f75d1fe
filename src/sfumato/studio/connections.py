"""Connections of the studio: none waits for good, and strangers give way to whoever comes next."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from starlette.datastructures import Headers
from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.studio.security import Gate

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
        strangers = [one for one in self.connections if isinstance(one, StudioConnection) and not one._owners]
        if len(self.connections) >= MOST_CONNECTIONS and strangers:
            min(strangers, key=lambda one: one._began).end()
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
