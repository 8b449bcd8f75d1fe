"""Uploads: a dropped file, streamed into the private folder as it comes."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from sfumato.core.errors import BadData, WrongCall
from sfumato.studio.folder import OpenedFolder

FIELD = b"file"
PATIENCE = 60.0
"""Seconds to wait for the next bytes of a file."""
MOST_HEADER_BYTES = 4096


class FileParts:
    """Writes the one file of a form to where it belongs; the parser calls it with what it finds."""

    def __init__(self, folder: OpenedFolder) -> None:
        self._folder = folder
        self._name, self._value, self._disposition = b"", b"", b""
        self._file: BinaryIO | None = None
        self.place: Path | None = None
        self._aside: Path | None = None

    def part_begins(self) -> None:
        self._name = self._value = self._disposition = b""

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += _few(self._name, data[start:end])

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += _few(self._value, data[start:end])

    def header_ends(self) -> None:
        if self._name.lower() == b"content-disposition":
            self._disposition = self._value
        self._name = self._value = b""

    def headers_end(self) -> None:
        _, options = parse_options_header(self._disposition)
        if options.get(b"name") != FIELD or b"filename" not in options:
            return
        if self.place is not None:
            raise WrongCall("more than one file was dropped", remedy="Drop one at a time.")
        self.place = self._folder.place_for(options[b"filename"].decode("utf-8", "replace"))
        self._aside = self.place.with_name(f".{secrets.token_hex(8)}.coming")
        handle = os.open(self._aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(handle, "wb")

    def part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])

    def part_ends(self) -> None:
        if self._file is not None and self._aside is not None and self.place is not None:
            self._file.close()
            self._file = None
            self._aside.replace(self.place)

    def abandon(self) -> None:
        """Removes what came of a file that did not come whole."""
        if self._file is not None:
            self._file.close()
        if self._aside is not None:
            self._aside.unlink(missing_ok=True)


def _few(held: bytes, more: bytes) -> bytes:
    if len(held) + len(more) > MOST_HEADER_BYTES:
        raise WrongCall("a header of the file is too long")
    return more


async def receive_file(request: Request, folder: OpenedFolder) -> Path:
    """Returns where the dropped file is now; what does not come whole is removed again.

    Raises `WrongCall` where there is no file in the request, or one whose name is none of a table.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise WrongCall("no file was sent", remedy="Choose a file, then send it.")
    parts = FileParts(folder)
    parser = MultipartParser(
        options[b"boundary"],
        {
            "on_part_begin": parts.part_begins,
            "on_header_field": parts.header_name,
            "on_header_value": parts.header_value,
            "on_header_end": parts.header_ends,
            "on_headers_finished": parts.headers_end,
            "on_part_data": parts.part_data,
            "on_part_end": parts.part_ends,
        },
    )
    try:
        async for block in _patiently(request.stream()):
            await asyncio.to_thread(parser.write, block)
        parser.finalize()
    except (FormParserError, ClientDisconnect, TimeoutError):
        raise BadData("the file did not come whole", remedy="Send it again.") from None
    finally:
        parts.abandon()
    if parts.place is None or not parts.place.exists():
        raise WrongCall("no file was sent", remedy="Choose a file, then send it.")
    return parts.place


async def _patiently(blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields what comes; raises `TimeoutError` where nothing comes for too long."""
    with suppress(StopAsyncIteration):
        while True:
            yield await asyncio.wait_for(anext(blocks), PATIENCE)
