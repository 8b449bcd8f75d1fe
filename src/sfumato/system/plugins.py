"""Parts that are found and not listed: those of other packages by entry point, built-in ones by their files.

A part is loaded when it is needed. One that cannot be loaded, or that takes a name which is taken, is left
aside; whoever asks for it by name is told which distribution it came from and what is wrong with it.
"""

from __future__ import annotations

import ast
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
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
                raise self.refusal(
                    f"cannot be loaded: what it imports from {module} is not there in this version",
                    remedy="Let it import from sfumato.extend: the names that other packages use now live"
                    " there.",
                ) from problem
            raise self.refusal(f"cannot be loaded: {type(problem).__name__}") from problem

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
    """Returns what every installed distribution offers to us: the system is searched once.

    What merely lies in the working folder is not installed: Python looks there first in a session or a
    notebook, and whoever can write there would add promises and searches.
    """
    from importlib.metadata import EntryPoints, distributions  # noqa: PLC0415  # slow to import, seldom needed

    found_first: dict[str, list[EntryPoint]] = {}
    for each in distributions(path=[folder for folder in sys.path if folder]):
        if points := [point for point in each.entry_points if point.group.startswith(f"{PACKAGE}.")]:
            found_first.setdefault(each.name, points)
    return EntryPoints(chain.from_iterable(found_first.values()))


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


# Built-in parts: each says what it is in a decorator, which is read from its file without importing it.

DEFINITION = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
AFTER_DECORATOR = re.compile(r"^(?=@|def |class )", re.MULTILINE)


@dataclass(frozen=True)
class Declared:
    """A function or class that is built in, and what its decorator says of it.

    `words` are the positional arguments of the decorator, `options` those with names; an option that is
    neither a literal nor a call of something the reader knows is left out: it is there once the part is
    loaded.
    """

    module: str
    attribute: str
    words: tuple[Any, ...]
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.words[0])

    @property
    def place(self) -> int:
        """Where it stands among its like when they are listed."""
        return int(self.options.get("place", LAST))

    def load(self) -> Any:  # whatever stands below the decorator
        """The part itself; its module is imported now."""
        return getattr(import_module(self.module), self.attribute)


def declared(
    package: str, decorator: str, calls: Mapping[str, Callable[..., Any]] | None = None
) -> list[Declared]:
    """Returns what stands below this decorator in the files of a package, or in a single module of ours.

    Nothing is imported, so that a policy is read, or a page of help shown, without what the parts need. The
    order is that of `options["place"]`, then of the files by name. Arguments are literals, or calls of the
    functions that `calls` has by name.

    >>> [part.name for part in declared("sfumato.search", "built_in_search")][:2]
    ['top-down', 'lattice']
    """
    parts: list[Declared] = []
    for module, text in _declaring_files(package):
        start = text.find(f"\n@{decorator}(")
        while start >= 0:
            after, definition = AFTER_DECORATOR.search(text, start + 2), DEFINITION.search(text, start)
            end = len(text) if after is None else after.start()
            call = ast.parse(text[start + 2 : end].strip(), mode="eval").body
            words, options = _arguments(cast("ast.Call", call), calls or {})
            parts.append(Declared(module, definition[1] if definition else "", words, options))
            start = text.find(f"\n@{decorator}(", end - 1)
    return sorted(parts, key=lambda part: part.place)


DECLARES = "\n@built_in_"
"""How the decorators of built-in parts begin, at the start of a line."""
LAST = 1_000
"""The place of a part that does not say where it stands among its like."""


@cache
def _declaring_files(package: str) -> tuple[tuple[str, str], ...]:
    """Returns the modules of a package, or a module, with the text of those in which parts are declared."""
    spec = find_spec(package)
    if spec is None:
        return ()
    if spec.submodule_search_locations is None:
        paths = {package: Path(str(spec.origin))}
    else:
        paths = {
            f"{package}.{path.stem}": path
            for folder in spec.submodule_search_locations
            for path in sorted(Path(folder).glob("*.py"))
        }
    texts = {module: path.read_text(encoding="utf-8") for module, path in paths.items()}
    return tuple((module, text) for module, text in texts.items() if DECLARES in text)


def _arguments(
    call: ast.Call, calls: Mapping[str, Callable[..., Any]]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a call in source text, without those that cannot be told from it."""
    options = {}
    for keyword in call.keywords:
        try:
            options[str(keyword.arg)] = _told(keyword.value, calls)
        except ValueError:
            continue
    return tuple(_told(word, calls) for word in call.args), options


def _told(value: ast.expr, calls: Mapping[str, Callable[..., Any]]) -> Any:
    """Returns a value in source text; raises `ValueError` where only running it would tell."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in calls:
        words, options = _arguments(value, calls)
        return calls[value.func.id](*words, **options)
    return ast.literal_eval(value)


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

    A library that is loaded already stays, unless asked for otherwise: then it is hidden from other threads,
    too, which else import what they like. For libraries that try such an import and do without.
    """
    hiding = _Hiding(frozenset(names), threading.get_ident())
    loaded = {name: sys.modules[name] for name in names if although_loaded and name in sys.modules}
    sys.meta_path.insert(0, hiding)
    sys.modules.update(dict.fromkeys(loaded))  # type: ignore[arg-type]  # None says that there is no such module
    try:
        yield
    finally:
        sys.meta_path.remove(hiding)
        sys.modules.update(loaded)


@dataclass(frozen=True, eq=False)
class _Hiding:
    """Refuses imports of some libraries by one thread."""

    names: frozenset[str]
    thread: int

    def find_spec(self, name: str, *_: object) -> None:
        if name in self.names and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


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
