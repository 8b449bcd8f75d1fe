"""Output files: written aside, judged from their bytes, then renamed; or not written at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from sfumato.policy.reference import SUFFIX
from sfumato.releases.staging import uninterrupted
from sfumato.system.address import SCHEMES
from sfumato.system.disk import NO_LINK, private_folder, read_start, to_disk, write_to_disk
from sfumato.system.errors import Unfinished, UsageError
from sfumato.system.progress import stop_request

Judgement = TypeVar("Judgement")


NEVER_REPLACED = {b"SQLite format 3\0": "a ledger, or another database", b"-----BEGIN ": "a key"}
"""How files begin that no output replaces, whoever allows it, and what they are."""


def check_target(
    path: Path,
    *,
    source: Path | None = None,
    needed: Mapping[Path, str] = MappingProxyType({}),
    overwrite: bool = False,
) -> None:
    """Raises for a path that could not be written to later, or where something is that is needed.

    The data, which is the `source`, and the files `needed`, with what they are, are recognised by whatever
    name, link or hard link; ledgers and keys by how they begin.
    """
    if source is not None and _is_same(path, source):
        raise UsageError("the output would replace the data it is made from", remedy="Name another file.")
    check_not_needed(path, needed)
    if os.fsencode(path.name) != path.name.encode("utf-8", "replace"):
        raise UsageError("the name of the output is not written in UTF-8", remedy="Name another file.")
    if path.is_dir():
        raise UsageError("the output is a folder", remedy="Name a file, such as safe.csv or safe.parquet.")
    if not path.parent.is_dir():
        raise UsageError("the folder of the output does not exist", remedy="Make it first.")
    if os.path.lexists(path) and not overwrite:
        raise UsageError(
            "the output exists already", remedy="Name another file, or allow it with --overwrite."
        )


def check_not_needed(path: Path, needed: Mapping[Path, str]) -> None:
    """Raises where writing to a path would replace one of these files, a ledger or a key."""
    for file, what in needed.items():
        if _is_same(path, file):
            raise UsageError(f"the output would replace {what}", remedy="Name another file.")
    if path.is_file():
        start = read_start(path, 16)
        for begin, what in NEVER_REPLACED.items():
            if start.startswith(begin):
                raise UsageError(f"the output would replace {what}", remedy="Name another file.")


def _is_same(path: Path, file: Path) -> bool:
    try:
        return path.samefile(file)
    except OSError:  # one of them is not there
        return path.absolute() == file.absolute()


def publish(
    path: Path,
    write: Callable[[Path], object],
    judge: Callable[[Path], Judgement],
    *,
    describe: Callable[[Path], Mapping[Path, bytes]] | None = None,
    overwrite: bool = False,
) -> Judgement:
    """Lets `write` fill a file, or a folder of parts, beside `path`, and `judge` read it; then renames it.

    Returns what `judge` returned. Whatever goes wrong, `path` is what it was before and the file beside it is
    gone; after a kill it is gone when something is next published there. Readers see the old file or the new
    one, never half of either. `describe` returns further files, in the same folder, of what was written: they
    get their names just before, so that a file that was described is never there alone.
    """
    check_target(path, overwrite=overwrite)
    stop_request.published = False
    with private_folder(path.parent, hidden=True) as folder:
        staged = folder / path.name
        write(staged)
        judgement = judge(staged)
        to_disk(staged)
        described = _staged_beside(folder, {} if describe is None else describe(staged))
        for file in described:
            check_target(file, overwrite=overwrite)
        stop_request.raise_if_asked()
        with uninterrupted():
            named = list[Path]()
            try:
                for file, source in (*described.items(), (path, staged)):
                    _rename(source, file, overwrite=overwrite)
                    named.append(file)
            except BaseException:
                for file in () if overwrite else named:
                    file.unlink(missing_ok=True)
                raise
            stop_request.published = True
            to_disk(path.parent)
        return judgement


def write_new(path: Path, content: bytes) -> None:
    """Writes a small file that is not there yet: whole, or not at all."""
    check_target(path)
    with private_folder(path.parent, hidden=True) as folder:
        staged = folder / path.name
        write_to_disk(staged, content)
        _rename_unless_there(staged, path)
        to_disk(path.parent)


def _staged_beside(folder: Path, contents: Mapping[Path, bytes]) -> dict[Path, Path]:
    """Writes files that describe another into the staging folder; returns where each is to go."""
    staged = {}
    for number, (file, content) in enumerate(contents.items()):
        staged[file] = folder / f"described-{number}"
        write_to_disk(staged[file], content)
    return staged


def _rename(staged: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        staged.replace(path)
    else:
        _rename_unless_there(staged, path)


def _rename_unless_there(staged: Path, path: Path) -> None:
    """Renames a file by a link, which fails where a rename would replace what somebody wrote meanwhile."""
    try:
        os.link(staged, path)
    except FileExistsError:
        raise UsageError("the output exists already", remedy="Somebody wrote it meanwhile.") from None
    except OSError:  # a file system without links
        check_target(path)
        staged.replace(path)


# Private files of the owner of the data beside what is published: both appear, or neither.

try:
    import fcntl
except ImportError:  # no such locks on this system: nothing can be known to be left over
    fcntl = None  # type: ignore[assignment]

StageText = Callable[[str], None]
"""Takes the text that is to be kept."""

STAGED = re.compile(rf"\.(?P<name>.+{re.escape(SUFFIX)})\.[0-9a-f]{{8}}\.staged")
"""The name under which a file waits until what it belongs to is published."""


def discard(text: str) -> None:
    """Keeps nothing, for where nothing is published."""


@contextmanager
def kept_on_success(path: Path) -> Iterator[StageText]:
    """Yields what stages a text before something is published; on success it becomes `path`, else it is gone.

    A file of that name is replaced, or removed where nothing was staged. Only its owner can read it. If
    publishing is `Unfinished`, the text is kept: the release is in the ledger, and only has to be shown. What
    a process that was killed had staged in the same folder is settled first.
    """
    settle_abandoned(path.parent)
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}.staged")
    handles: list[int] = []

    def stage(text: str) -> None:
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o600)
        locked = fcntl is not None
        if locked:
            handles.append(handle)
            with suppress(OSError):  # a file system without locks: nobody removes it there either
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with os.fdopen(handle, "w", encoding="utf-8", closefd=not locked) as file:
            file.write(text)
            file.flush()
            os.fsync(handle)

    try:
        try:
            yield stage
        except Unfinished:
            _put_in_place(staged, path)
            raise
        except BaseException:
            with suppress(OSError):
                staged.unlink(missing_ok=True)
            raise
        _put_in_place(staged, path)
    finally:
        for handle in handles:
            os.close(handle)


def settle_abandoned(folder: Path) -> None:
    """Settles what killed processes left staged in a folder.

    What belongs to something that was published since becomes visible. What belongs to a release that may
    still be recovered waits for that. The rest is removed.
    """
    for staged, name in _abandoned(folder):
        published = folder / name.removesuffix(SUFFIX)
        if _published_since(published, staged):
            staged.replace(folder / name)
        elif not name.startswith(tuple(f"{scheme}-" for scheme in SCHEMES)) and not any(
            folder.glob(".staged-*")
        ):
            staged.unlink()


def settle_recovered(path: Path, *, published: bool) -> None:
    """Puts in place, or removes, what was staged for `path` by a process that a recovery stood in for."""
    for staged, name in _abandoned(path.parent):
        if name == path.name and published:
            staged.replace(path)
        elif name == path.name:
            staged.unlink()


def _abandoned(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yields staged files of ours that no process holds, with the name that each was to get."""
    if fcntl is None:
        return
    for staged in sorted(folder.glob(f".*{SUFFIX}.*.staged")):
        named = STAGED.fullmatch(staged.name)
        with suppress(OSError):  # in use, somebody else's, or gone meanwhile
            handle = os.open(staged, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if named is not None and os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield staged, named["name"]
            finally:
                os.close(handle)


def _published_since(published: Path, staged: Path) -> bool:
    """Whether something was published there after the text had been staged: that is written later."""
    try:
        return published.stat().st_mtime_ns >= staged.stat().st_mtime_ns
    except OSError:
        return False


def _put_in_place(staged: Path, path: Path) -> None:
    if staged.exists():
        staged.replace(path)
        to_disk(path.parent)
    else:
        path.unlink(missing_ok=True)
