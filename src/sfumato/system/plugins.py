"""Parts that other packages add, found by entry point.

A part is loaded when it is needed. One that cannot be loaded, or that takes a name which is taken, is left
aside; whoever asks for it by name is told which distribution it came from and what is wrong with it.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from sfumato.system.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


PACKAGE = "sfumato"


@dataclass(frozen=True)
class Offer:
    """One part of another package, not loaded yet."""

    point: EntryPoint

    @property
    def name(self) -> str:
        return self.point.name

    @property
    def distribution(self) -> str:
        return self.point.dist.name if self.point.dist is not None else "an unknown distribution"

    def load(self) -> Any:  # whatever the package put there: who asked for it checks what it is
        """The part; raises `UsageError` if its package cannot be imported, whatever it raises itself."""
        try:
            return self.point.load()
        except Exception as problem:
            module = (problem.name or "") if isinstance(problem, ImportError) else ""
            if module == PACKAGE or module.startswith(f"{PACKAGE}."):
                raise self._written_for_another_version(module) from problem
            raise self.refusal(f"cannot be loaded: {type(problem).__name__}") from problem

    def _written_for_another_version(self, module: str) -> UsageError:
        return self.refusal(
            f"cannot be loaded: what it imports from {module} is not there in this version",
            remedy="Let it import from sfumato.extend: the names that other packages use now live there.",
        )

    def refusal(self, reason: str, *, remedy: str = "Mend that distribution, or uninstall it.") -> UsageError:
        """Why this part is not used."""
        return UsageError(
            f"{self.name} of the distribution {self.distribution} {reason}.",
            where=self.point.group,
            remedy=remedy,
        )


@cache
def offers(group: str) -> tuple[Offer, ...]:
    """What other packages offer under this entry-point group, by name."""
    offered = [Offer(point) for point in all_entry_points().select(group=group)]
    return tuple(sorted(offered, key=lambda offer: (offer.name, offer.distribution)))


@cache
def all_entry_points() -> EntryPoints:
    """Returns what every installed distribution offers to anybody: the system is searched once."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to import, seldom needed

    return cast("EntryPoints", entry_points())  # before Python 3.12 another class, which selects alike


def names(group: str, *, taken: Collection[str]) -> tuple[str, ...]:
    """The names under which other packages offer something, without those that are taken."""
    return tuple(dict.fromkeys(offer.name for offer in offers(group) if offer.name not in taken))


def find(group: str, name: str, *, taken: Collection[str]) -> Any:  # as `load`
    """The part of this name, loaded; `None` if nobody offers it, or if it is built in and only that.

    Raises `UsageError` where it cannot be loaded, or where a name is offered twice: nothing replaces a part
    in silence.
    """
    offered = [offer for offer in offers(group) if offer.name == name]
    if not offered:
        return None
    if name in taken:
        raise offered[0].refusal("would replace a built-in part")
    if len(offered) > 1:
        raise offered[1].refusal(f"bears the same name as one of {offered[0].distribution}")
    return offered[0].load()


# What libraries log or print: not shown where nobody asked for it, since it may quote cells.

STDERR = 2
_printing = threading.Lock()
_saved: list[int] = []
_inside = 0


def silence_library_logs() -> None:
    """Keeps what libraries log off the terminal, unless SFUMATO_DEBUG is set.

    Only of a program that has set up no logging: Python's last resort would print it.
    """
    if logging.lastResort is not None:
        logging.lastResort.addFilter(_is_asked_for)


def _is_asked_for(logged: logging.LogRecord) -> bool:
    del logged
    return bool(os.environ.get("SFUMATO_DEBUG"))


@contextmanager
def without_library_prints() -> Iterator[None]:
    """Keeps off stderr what a library prints by itself, unless SFUMATO_DEBUG is set.

    One that is written in Rust prints why it gives up before anybody can handle it. Nothing else of this
    process gets to stderr in the meantime, from any thread.
    """
    if os.environ.get("SFUMATO_DEBUG"):
        yield
        return
    _hide()
    try:
        yield
    finally:
        _show_again()


def _hide() -> None:
    """Leads stderr nowhere, where it is open and nobody did so before."""
    global _inside  # noqa: PLW0603  # stderr is one for the process
    with _printing:
        _inside += 1
        if _inside > 1:
            return
        try:
            _saved.append(os.dup(STDERR))
        except OSError:  # it is closed
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STDERR)
        os.close(nowhere)


def _show_again() -> None:
    """Leads stderr where it led, once nobody needs it hidden."""
    global _inside  # noqa: PLW0603  # stderr is one for the process
    with _printing:
        _inside -= 1
        if not _inside and _saved:
            saved = _saved.pop()
            os.dup2(saved, STDERR)
            os.close(saved)


# Libraries that another one would load only because they are installed.


@contextmanager
def hidden_libraries(*names: str, although_loaded: bool = False) -> Iterator[None]:
    """Meanwhile an import of one of these fails as if it were not installed; later imports find it.

    A library that is loaded already stays, unless asked for otherwise: others may use it at the same time.
    For libraries that try such an import and do without.
    """
    hidden = {name: sys.modules.get(name) for name in names if although_loaded or name not in sys.modules}
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None says that there is no such module
    try:
        yield
    finally:
        for name, loaded in hidden.items():
            if sys.modules.get(name, name) is None:
                del sys.modules[name]
            if loaded is not None:
                sys.modules[name] = loaded


# Compilation at first use: whoever talks to the user may say that it happens.


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
