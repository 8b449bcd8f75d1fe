"""Compilation at first use: whoever talks to the user may say that it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Compilation:
    """Says once in a process that functions are being compiled, which takes seconds and happens once."""

    tell: Callable[[str], None] | None = None
    told: bool = False

    def begins(self) -> None:
        """Called when a function is about to be compiled because no machine code of it is on disk."""
        if self.tell is not None and not self.told:
            self.told = True
            self.tell(
                "compiling for this machine, which happens once and takes seconds;"
                " `sfumato compile` does it beforehand"
            )


compilation = Compilation()
