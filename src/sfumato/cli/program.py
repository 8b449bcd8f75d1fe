"""The start of the program: a signal that comes while it is still being loaded ends it as any later one."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """The entry point."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    from sfumato.cli.main import main as run  # noqa: PLC0415  # heavy: what takes the time that is covered here

    run()


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Ends the program at once: nothing is begun yet, and an exception would be printed from anywhere."""
    del number, frame
    os.write(2, b"interrupted; nothing was published\n")
    os._exit(130)
