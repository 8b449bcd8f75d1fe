"""Which attacks there are: built-in ones, found by being in their folders, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TypeVar

from sfumato.attacks.attack import Attack
from sfumato.core.errors import WrongCall
from sfumato.system import plugins

GROUP = "sfumato.attacks"
"""The entry-point group through which other packages add attacks: name = "module:Class"."""

PACKAGES = ("sfumato.attacks.table", "sfumato.attacks.chain", "sfumato.attacks.worlds")
"""Where the built-in attacks are; each registers itself when its module is imported."""

A = TypeVar("A", bound=Callable[[], Attack])

_built_in: dict[str, Callable[[], Attack]] = {}
_loaded: set[str] = set()


def register(name: str) -> Callable[[A], A]:
    """Offer a built-in attack: a class that can be made without arguments."""

    def offer(attack: A) -> A:
        _built_in[name] = attack
        return attack

    return offer


def known() -> tuple[str, ...]:
    """The names of all attacks, in order.

    >>> {"linkage", "correspondence"} <= set(known())
    True
    """
    names = built_in()
    return tuple(sorted((*names, *plugins.names(GROUP, taken=names))))


def built_in() -> tuple[str, ...]:
    """The names of the built-in attacks, all loaded."""
    for package in PACKAGES:
        if package not in _loaded:
            for module in iter_modules(import_module(package).__path__):
                import_module(f"{package}.{module.name}")
            _loaded.add(package)
    return tuple(sorted(_built_in))


def make(name: str) -> Attack:
    """The attack of this name, with no knowledge beyond the published table.

    Raises `WrongCall` where there is none, or where the package that offers it cannot be used.

    >>> make("linkage").seeks
    'which record is theirs'
    """
    ours = _find(name)
    offered = plugins.find(GROUP, name, taken=() if ours is None else (name,))
    if ours is None and offered is None:
        raise WrongCall(
            f"there is no attack {name!r}",
            remedy=f"Known attacks: {', '.join(known())}; and, on the command line, term-removal."
            " The attack is named first, then the file.",
        )
    attack: Attack = offered() if ours is None else ours()
    return attack


def make_all() -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """Every attack that can be made, and the names of those of other packages that cannot.

    What bears the name of a built-in attack does not keep that one from being made.
    """
    names = built_in()
    made = [_built_in[name]() for name in names]
    failed = [offer.name for offer in plugins.offers(GROUP) if offer.name in names]
    for name in plugins.names(GROUP, taken=names):
        try:
            made.append(make(name))
        except Exception:  # whatever the code of another package raises
            failed.append(name)
    return tuple(sorted(made, key=lambda attack: attack.name)), tuple(failed)


def _find(name: str) -> Callable[[], Attack] | None:
    """The built-in attack of this name; a module that bears the name is looked at before all others."""
    stem = name.replace("-", "_")
    if name not in _built_in and stem.isidentifier():
        for place in (f"{package}.{stem}" for package in PACKAGES):
            if find_spec(place) is not None:
                import_module(place)
    if name not in _built_in:
        built_in()
    return _built_in.get(name)
