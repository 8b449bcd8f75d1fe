"""The searches by name: those built in, more through the entry-point group `sfumato.searches`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from sfumato.declare.searches import known, offered
from sfumato.protect.search import Search
from sfumato.terms.errors import WrongCall

HOMES = {
    "top-down": "sfumato.protect.top_down:top_down",
    "lattice": "sfumato.protect.lattice:lattice",
    "mondrian": "sfumato.protect.mondrian:mondrian",
    "optimum": "sfumato.protect.optimum:search",
}


def find(name: str) -> Search:
    """The search with this name; its module is loaded now.

    >>> find("sideways")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    sfumato.terms.errors.WrongCall: there is no search of this name. Pick one of top-down, lattice, ...
    """
    search = offered(name)
    if search is None and name in HOMES:
        module, _, function = HOMES[name].partition(":")
        search = getattr(import_module(module), function)
    if search is None:
        raise WrongCall("there is no search of this name.", remedy=f"Pick one of {', '.join(known())}.")
    return cast(Search, search)
