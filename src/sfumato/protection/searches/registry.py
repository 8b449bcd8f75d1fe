"""The searches by name: those built in, more through the entry-point group `sfumato.searches`."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from sfumato.core.errors import WrongCall
from sfumato.policy.searches import known, offered
from sfumato.protection.searches.search import Search

HOMES = {
    "top-down": "sfumato.protection.searches.top_down:top_down",
    "lattice": "sfumato.protection.searches.lattice:lattice",
    "mondrian": "sfumato.protection.searches.mondrian:mondrian",
    "optimum": "sfumato.protection.searches.optimum:search",
    "local": "sfumato.protection.searches.local:local",
    "best": "sfumato.protection.searches.best:best",
}


def find(name: str) -> Search:
    """Returns the search with this name; loads its module now.

    >>> find("sideways")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    sfumato.core.errors.WrongCall: there is no search of this name. Pick one of top-down, lattice, ...
    """
    search = offered(name)
    if search is not None:
        return cast(Search, search)  # another package's: its ability was checked, its signature is its word
    if name not in HOMES:
        raise WrongCall("there is no search of this name.", remedy=f"Pick one of {', '.join(known())}.")
    module, _, function = HOMES[name].partition(":")
    built_in: Search = getattr(import_module(module), function)  # by name, so that one search loads alone
    return built_in
