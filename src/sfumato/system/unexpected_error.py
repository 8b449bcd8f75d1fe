"""Errors that nobody expected, as errors that may be shown: without a cell value."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from sfumato.core.errors import BadInput, NotEnoughMemory, SfumatoError
from sfumato.system.memory import is_out_of_memory
from sfumato.system.stop_request import stop_request


def as_shown(error: BaseException) -> SfumatoError:
    """Returns anything that went wrong as an error that may be shown."""
    if isinstance(error, SfumatoError):
        return error
    if is_out_of_memory(error):
        return NotEnoughMemory(
            f"the system has no more memory for this program; {what_became()}",
            remedy="Allow it more (`ulimit -v`, a container's limit), use a larger machine, or name a limit "
            "with --memory, within which rows wait on disk.",
        )
    return _from_system(error) if isinstance(error, OSError) else _bug(error)


def what_became() -> str:
    """What is to be said of publishing where something went wrong: it may have happened after that."""
    return "what was to be published is published" if stop_request.published else "nothing was published"


def _from_system(error: OSError) -> BadInput:
    where = Path(os.fsdecode(error.filename)).name if error.filename else ""
    return BadInput(error.strerror or "the system refused to read or write", where=where)


def _bug(error: BaseException) -> SfumatoError:
    """A bug without a cell value: the message of another library may hold some, its type does not."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f"{os.sep}sfumato{os.sep}" in f.filename]
    place = f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return SfumatoError(
        f"a bug: {type(error).__name__}{place}; {what_became()}",
        remedy="Please report it. SFUMATO_DEBUG=1 prints a traceback, which may hold values of your data.",
    )
