"""What the doctor says of a policy while it is put to use."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from sfumato.cli.terminal import talk
from sfumato.core.errors import SfumatoError
from sfumato.core.progress import Progress, silent


def warn(policy: Path, data: Any = None, *, progress: Progress = silent) -> None:
    """On stderr, first of all: what is allowed and probably not meant. Errors are left to the verb itself."""
    from sfumato.journey.declare import warnings as warnings_

    with contextlib.suppress(SfumatoError, OSError):
        for diagnosis in warnings_(policy, data, progress=progress):
            talk(str(diagnosis))
