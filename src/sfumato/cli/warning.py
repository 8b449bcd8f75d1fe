"""What the doctor says of a policy while it is put to use."""
# ruff: noqa: PLC0415  # heavy imports wait until the verb runs

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from sfumato.cli.terminal import talk
from sfumato.terms.errors import SfumatoError
from sfumato.terms.progress import Progress, silent


def warn(policy: Path, data: Any = None, *, progress: Progress = silent) -> None:
    """On stderr, first of all: what is allowed and probably not meant. Errors are left to the verb itself."""
    from sfumato import journey

    with contextlib.suppress(SfumatoError, OSError):
        for ailment in journey.warnings(policy, data, progress=progress):
            talk(str(ailment))
