"""The opened folder: the files that the studio may read and write, and no other."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, ClassVar

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from sfumato.policy.policy import Policy
from sfumato.policy.yaml import MOST_FILE_BYTES
from sfumato.system.disk import FolderLock, read_document, replace_file
from sfumato.system.errors import BadData, BadPolicy, LedgerConflict, SfumatoError, UsageError, short
from sfumato.system.json_object import read_json
from sfumato.system.presentation.cards import visible

TABLES = (
    *(".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".parquet", ".pq", ".xlsx", ".xls", ".ods"),
    *(".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt", ".arrow", ".feather", ".jsonl"),
)
"""Endings of the files that are offered as tables."""
LONGEST_NAME = 200
DROPPED, HERE = "dropped", "folder"


@dataclass(frozen=True)
class DataChoice:
    """A table that may be chosen: its key on pages, its name for people, and where it is."""

    key: str
    name: str
    path: Path

    @property
    def dropped(self) -> bool:
        """Whether it was dropped into the browser, and goes when the studio ends."""
        return self.key.startswith(f"{DROPPED}/")

    @property
    def stamp(self) -> str:
        """A text that differs where the file does, for results that belong to one state of it."""
        state = self.path.stat()
        return f"{self.key}:{state.st_size}:{state.st_mtime_ns}"


class OpenedFolder:
    """A folder on which the studio was opened, and the private one for what is dropped into the browser."""

    def __init__(self, path: Path, private: Path) -> None:
        if not path.is_dir():
            raise UsageError(
                "there is no such folder", where=str(path), remedy="Name a folder that is there."
            )
        self.path, self._private = path.resolve(), private

    def tables(self) -> tuple[DataChoice, ...]:
        """Returns the tables that are there, those dropped first."""
        return (*self._in(self._private, DROPPED), *self._in(self.path, HERE))

    def table(self, key: str) -> DataChoice:
        """Returns the table of this key; raises `UsageError` where none is offered under it."""
        for choice in self.tables():
            if choice.key == key:
                return choice
        raise UsageError("there is no such table here", remedy="Choose one of those that are listed.")

    def file(self, name: str) -> Path:
        """Returns the path of a file directly in the folder; raises `UsageError` for anything elsewhere.

        The name is one of a file, without a folder; a link may not lead out of the folder.
        """
        check_name(name)
        path = self.path / name
        if path.is_symlink() and path.resolve().parent != self.path:
            raise UsageError("this link leads out of the folder", remedy="Copy the file here.")
        return path

    def place_for(self, name: str) -> Path:
        """Returns where a dropped file is kept: in the private folder, under its own name made harmless."""
        plain = visible(name.replace("\\", "/").rpartition("/")[2]).strip() or "table.csv"
        check_name(plain)
        if not plain.lower().endswith(TABLES):
            remedy = f"Endings of tables: {', '.join(TABLES)}."
            raise UsageError("its name does not end like that of a table", where=short(plain), remedy=remedy)
        return self._private / plain

    def wipe(self, choice: DataChoice) -> None:
        """Removes a dropped file; one of the folder stays."""
        if choice.dropped:
            choice.path.unlink(missing_ok=True)

    def _in(self, folder: Path, word: str) -> Iterator[DataChoice]:
        for path in sorted(folder.iterdir()):
            inside = not path.is_symlink() or path.resolve().parent == folder.resolve()
            if (
                inside
                and path.is_file()
                and path.name.lower().endswith(TABLES)
                and not path.name.startswith(".")
            ):
                yield DataChoice(f"{word}/{path.name}", path.name, path)


def check_name(name: str) -> None:
    """Raises `UsageError` unless this is the plain name of a file."""
    wrong = (
        not name
        or len(name.encode(errors="replace")) > LONGEST_NAME
        or name in {".", ".."}
        or name.startswith(".")
        or any(mark in name for mark in ("/", "\\", "\0", ":"))
        or not name.isprintable()
    )
    if wrong:
        raise UsageError(
            "this is no name of a file in the folder",
            remedy=f"A plain name of at most {LONGEST_NAME} bytes, without a folder, no dot in front.",
        )


# The policy file of the opened folder, and its history: every state it ever had, so that nothing is lost.
#
# A change is written in two steps, each of which happens whole or not at all: first the new state into the
# history, then the policy file itself. Whoever is killed between them has the old policy and one state
# more.

NAME = "policy.yaml"
NOTHING = ""
"""The version of a policy that is not there."""
PATIENCE = 5.0
"""Seconds to wait for another studio that is writing."""


class PolicyConflict(SfumatoError):
    """The policy is no longer the one that a page was showing when something was changed on it."""

    exit_code: ClassVar[int] = LedgerConflict.exit_code


@dataclass(frozen=True)
class PolicyState:
    """One state of the policy: what was done, when, and from which state.

    `before` is the state that undoing leads to, `undone` the one that doing it again leads to. `python` and
    `cli` say what was done in these languages, where they can.
    """

    number: int
    did: str
    when: str
    text: str
    before: int | None = None
    undone: int | None = None
    python: str = ""
    cli: str = ""

    def is_sound(self, number: int) -> bool:
        """Whether this is the state of that number, of texts and numbers as the studio writes them."""
        texts = (self.did, self.when, self.text, self.python, self.cli)
        others = [text for text in (self.before, self.undone) if text is not None]
        return (
            self.number == number
            and all(type(n) is int for n in others)
            and all(type(t) is str for t in texts)
        )


@dataclass(frozen=True)
class _Content:
    """What a new state holds."""

    text: str
    did: str
    python: str = ""
    cli: str = ""

    @classmethod
    def of(cls, state: PolicyState) -> _Content:
        return cls(state.text, state.did, state.python, state.cli)


class PolicyFile:
    """A policy file that several may change; each change names the version that it was made on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._states = path.with_name(f".{path.name}.history")
        self._lock = threading.Lock()

    @property
    def text(self) -> str | None:
        """The text of the file; `None` where there is none."""
        try:
            return read_document(self.path, most=MOST_FILE_BYTES).decode("utf-8-sig")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise BadPolicy("the policy is no text in UTF-8", where=self.path.name) from None

    @property
    def version(self) -> str:
        """A fingerprint of the text, by which a change says what it was made on."""
        return version_of(self.text)

    def load(self) -> Policy | None:
        """Returns the policy; `None` where there is none. Raises `BadPolicy` where it is unusable."""
        return Policy.load(self.path) if self.path.exists() else None

    def expect(self, version: str) -> str | None:
        """Returns the text, if it still has this version; raises `PolicyConflict` where it has not."""
        text = self.text
        if version_of(text) != version:
            raise PolicyConflict(
                "the policy was changed meanwhile, by another page or program",
                where=self.path.name,
                remedy="Look at it as it is now, and make the change again if it is still wanted.",
            )
        return text

    def write(self, text: str, *, version: str, did: str, python: str = "", cli: str = "") -> None:
        """Replaces the policy, if it still has this version; raises `PolicyConflict` where it has not."""
        with self._writing(version) as current:
            if current is None or current.text != text:
                before = None if current is None else current.number
                self._add(_Content(text, did, python, cli), before=before)

    def undo(self, *, version: str) -> str:
        """Goes back by one change; returns what was undone."""
        with self._writing(version) as current:
            earlier = None if current is None or current.before is None else self._state(current.before)
            if current is None or earlier is None:
                raise UsageError("there is nothing to undo")
            self._add(_Content.of(earlier), before=earlier.before, undone=current.number)
            return current.did

    def redo(self, *, version: str) -> str:
        """Does again what was undone last; returns what that was."""
        with self._writing(version) as current:
            later = None if current is None or current.undone is None else self._state(current.undone)
            if later is None:
                raise UsageError("there is nothing to do again")
            self._add(_Content.of(later), before=later.before, undone=later.undone)
            return later.did

    def restore(self, number: int, *, version: str) -> None:
        """Goes back to any state of the history; undoing leads to the one before this."""
        with self._writing(version) as current:
            state = self._state(number)
            if state is None:
                raise UsageError("the history has no such state")
            before = None if current is None else current.number
            self._add(_Content(state.text, f"back to: {state.did}"), before=before)

    def current(self) -> PolicyState | None:
        """Returns the state that the file is in; `None` where the history does not know it."""
        text = self.text
        return None if text is None else self._known(text)

    def history(self, *, most: int | None = None) -> tuple[PolicyState, ...]:
        """Returns all states, or so many of them, the newest first."""
        newest = self._numbers()[::-1][:most]
        return tuple(filter(None, (self._state(number) for number in newest)))

    @contextmanager
    def _writing(self, version: str) -> Iterator[PolicyState | None]:
        """Holds everybody else off; yields the current state. One made elsewhere is put into the history."""
        with self._lock:
            self._states.mkdir(mode=0o700, exist_ok=True)
            lock = _lock_on(self._states)
            try:
                text = self.expect(version)
                if text is not None and self._known(text) is None:
                    self._keep(_Content(text, "changed outside the studio"), before=self._newest())
                yield None if text is None else self._known(text)
            finally:
                if lock is not None:
                    lock.release()

    def _add(self, content: _Content, *, before: int | None, undone: int | None = None) -> None:
        self._keep(content, before=before, undone=undone)
        mode = self.path.stat().st_mode & 0o777 if self.path.exists() else 0o644
        replace_file(self.path, content.text.encode(), mode=mode)

    def _keep(self, content: _Content, *, before: int | None, undone: int | None = None) -> None:
        numbers = self._numbers()
        number = numbers[-1] + 1 if numbers else 1
        when = datetime.now(UTC).isoformat(timespec="seconds")
        state = PolicyState(number, when=when, before=before, undone=undone, **asdict(content))
        words = json.dumps(asdict(state), ensure_ascii=False, indent=1).encode()
        replace_file(self._states / f"{number:06d}.json", words, mode=0o600)

    def _known(self, text: str) -> PolicyState | None:
        """Returns the newest state with this text."""
        states = (self._state(number) for number in reversed(self._numbers()))
        return next((state for state in states if state is not None and state.text == text), None)

    def _newest(self) -> int | None:
        numbers = self._numbers()
        return numbers[-1] if numbers else None

    def _numbers(self) -> list[int]:
        if not self._states.is_dir():
            return []
        names = (path.name for path in self._states.glob("[0-9]*.json"))
        return sorted(int(name[:-5]) for name in names if name[:-5].isascii() and name[:-5].isdigit())

    def _state(self, number: int) -> PolicyState | None:
        """Returns a state; `None` where somebody removed or damaged its file."""
        with suppress(OSError, SfumatoError, ValueError, TypeError):
            words = read_json(read_document(self._states / f"{number:06d}.json", most=4 * MOST_FILE_BYTES))
            state = PolicyState(**words)
            return state if state.is_sound(number) else None
        return None


def version_of(text: str | None) -> str:
    """Returns the fingerprint of a policy's text."""
    return NOTHING if text is None else hashlib.sha256(text.encode()).hexdigest()[:32]


def _lock_on(folder: Path) -> FolderLock | None:
    """Returns the lock of a folder, where the system has such locks; raises where another holds it."""
    if os.name != "posix":
        return None
    lock = FolderLock.wait(folder, PATIENCE)
    if lock is None:
        raise PolicyConflict("another program is changing this policy", remedy="Try again in a moment.")
    return lock


# Uploads: a dropped file, streamed into the private folder as it comes.

FIELD = b"file"
UPLOAD_PATIENCE = 60.0
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
            raise UsageError("more than one file was dropped", remedy="Drop one at a time.")
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


def _few(header: bytes, more: bytes) -> bytes:
    if len(header) + len(more) > MOST_HEADER_BYTES:
        raise UsageError("a header of the file is too long")
    return more


async def receive_file(request: Request, folder: OpenedFolder) -> Path:
    """Returns where the dropped file is now; what does not come whole is removed again.

    Raises `UsageError` where there is no file in the request, or one whose name is none of a table.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise UsageError("no file was sent", remedy="Choose a file, then send it.")
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
        raise UsageError("no file was sent", remedy="Choose a file, then send it.")
    return parts.place


async def _patiently(blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields what comes; raises `TimeoutError` where nothing comes for too long."""
    with suppress(StopAsyncIteration):
        while True:
            yield await asyncio.wait_for(anext(blocks), UPLOAD_PATIENCE)
