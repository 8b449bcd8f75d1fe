"""Output files: written aside, judged from their bytes, then renamed; or not written at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from sfumato.core.errors import WrongCall
from sfumato.releases.steps import uninterrupted
from sfumato.system.disk import read_start, to_disk, write_to_disk
from sfumato.system.private_folder import private_folder
from sfumato.system.stop_request import stop_request

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
        raise WrongCall("the output would replace the data it is made from", remedy="Name another file.")
    check_not_needed(path, needed)
    if os.fsencode(path.name) != path.name.encode("utf-8", "replace"):
        raise WrongCall("the name of the output is not written in UTF-8", remedy="Name another file.")
    if path.is_dir():
        raise WrongCall("the output is a folder", remedy="Name a file, such as safe.csv or safe.parquet.")
    if not path.parent.is_dir():
        raise WrongCall("the folder of the output does not exist", remedy="Make it first.")
    if os.path.lexists(path) and not overwrite:
        raise WrongCall(
            "the output exists already", remedy="Name another file, or allow it with --overwrite."
        )


def check_not_needed(path: Path, needed: Mapping[Path, str]) -> None:
    """Raises where writing to a path would replace one of these files, a ledger or a key."""
    for file, what in needed.items():
        if _is_same(path, file):
            raise WrongCall(f"the output would replace {what}", remedy="Name another file.")
    if path.is_file():
        start = read_start(path, 16)
        for begin, what in NEVER_REPLACED.items():
            if start.startswith(begin):
                raise WrongCall(f"the output would replace {what}", remedy="Name another file.")


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return path.absolute() == other.absolute()


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
        stop_request.heed()
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
        raise WrongCall("the output exists already", remedy="Somebody wrote it meanwhile.") from None
    except OSError:  # a file system without links
        check_target(path)
        staged.replace(path)
